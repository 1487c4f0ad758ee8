"""`warmbase diff` shows how each difference from today's plan is applied, and what that costs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from warmbase.changes.change import Change, changes
from warmbase.changes.cost import ImpactCost, impact_cost
from warmbase.changes.plan_comparison import OF_NODES
from warmbase.changes.recorded_launch import changes_since_launch, recorded_spec, security_of_file
from warmbase.cli.change_parts import CHANGES, change_parts, impact_rows, trino_impact_rows
from warmbase.cli.options import chosen_name, cluster_option, output_option
from warmbase.cli.page import Paragraph, Part, Row
from warmbase.cli.terminal import echo
from warmbase.configurations.bootstrap import Action, actions
from warmbase.configurations.launch import Launch, launch_of, planned_spec
from warmbase.configurations.properties.property import Applied
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.engines.trino.changes import trino_changes, trino_impact
from warmbase.engines.trino.rendering import TrinoLaunch, trino_launch_of
from warmbase.engines.trino.rendering import actions as trino_actions
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import launch_records, recorded_launch
from warmbase.environments.reader import read_environment
from warmbase.facts.prices import price_table
from warmbase.facts.releases import releases
from warmbase.linter.reader import read_subject
from warmbase.reports.json_text import json_text

LAUNCH: Final = "launch"
LIVE: Final = "live"
TITLES: Final = {
    Applied.LIVE: "Live: neither HBase nor Trino restarts",
    Applied.ROLLING_RESTART: "Rolling restart",
    Applied.NEW_CLUSTER: "New cluster: cannot be changed on a running cluster",
}
UNCHANGED_NODES: Final = (
    "A running cluster keeps the type and the volumes of its nodes: `warmbase reconfigure {arguments}` computes all"
    " other settings for the nodes that run, and launches no new cluster."
)


@click.command()
@click.argument("environment", metavar="ENV")
@click.option(
    "--against",
    required=True,
    metavar="launch|live|FILE",
    help="Compare the plan with the launch record (launch), with the running cluster (live), or with a file: an earlier"
    " output of `warmbase render`, or anything that `warmbase lint --file` reads.",
)
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    default="core",
    show_default=True,
    help="The group that a file without instance groups is for.",
)
@cluster_option
@output_option
def diff(environment: str, against: str, group: str, cluster: str | None, output: str) -> None:
    """Show how each change is applied, and what it costs.

    A change is applied live, by a rolling restart, or by a new cluster. Its cost is estimated in time, cached data and
    dollars. Differences in order, blanks or spelling of the same value are ignored. `--against live` also compares
    dashboards, alarms, the root bucket and the protection of cluster and stacks, and asks CloudFormation which
    resources were edited by hand. The exit code is 0 whether or not there are differences. For the difference in
    price, nodes and latency, use `warmbase plan` with --set, --against or a second environment.

    \b
    Example:
      warmbase diff prod --against live
      warmbase render prod --format run-job-flow > before.json
      warmbase diff prod --against before.json
    """
    read = read_environment(environment)
    name = chosen_name(read, cluster)
    difference = (_trino_difference if name in read.analytics else _hbase_difference)(read, name, against, group)
    if output == "json":
        document = {
            "source": read.source,
            "against": difference.before.source,
            "changes": difference.changes,
            "cost": difference.cost,
        }
        echo(json_text(document if against != LIVE else {**document, "around": difference.around}))
    else:
        arguments = f"{read.name} --cluster {name}" if cluster else read.name
        CHANGES.show([*_page(read, difference, arguments), *_around(difference.around)])


Around = Mapping[str, Sequence[str]]
"""The differences outside the cluster, by what was compared: a dashboard, the alarms, the bucket, a stack."""


class Difference(Struct, frozen=True, kw_only=True):
    """The changes from a cluster to today's plan for nodes of those roles, their cost, and what differs around it."""

    before: ClusterSpec
    roles: tuple[str, ...]
    changes: tuple[Change, ...]
    cost: ImpactCost
    impact: tuple[Row, ...]
    around: Around


def _hbase_difference(environment: Environment, cluster: str, against: str, group: str) -> Difference:
    security = security_of_file(environment, launch_records(environment).get(cluster))
    launch = launch_of(environment, environment.clusters[cluster], security)
    before, further, around = _compared_with(against, launch, actions(launch))
    roles = _roles(before, group)
    pending = changes(before, planned_spec(launch), roles, releases()[launch.plan.release], further)
    cost = impact_cost(pending, before, launch.plan, price_table(environment.region))
    return Difference(
        before=before,
        roles=roles,
        changes=pending,
        cost=cost,
        impact=tuple(impact_rows(cost, launch)),
        around=around,
    )


def _trino_difference(environment: Environment, cluster: str, against: str, group: str) -> Difference:
    launch = trino_launch_of(environment, environment.analytics[cluster])
    before, further, around = _compared_with(against, launch, trino_actions(launch))
    roles = _roles(before, group)
    pending = trino_changes(before, launch, roles, further)
    cost = trino_impact(pending, before, launch)
    return Difference(
        before=before,
        roles=roles,
        changes=pending,
        cost=cost,
        impact=tuple(trino_impact_rows(cost)),
        around=around,
    )


def _roles(before: ClusterSpec, group: str) -> tuple[str, ...]:
    """Return the groups of the cluster, or the group that a file without groups is for."""
    return tuple(one.role for one in before.groups if one.role != "task") or (group,)


def _compared_with(
    against: str, launch: Launch | TrinoLaunch, planned: Sequence[Action]
) -> tuple[ClusterSpec, tuple[Change, ...], Around]:
    """Return the spec to compare with, changes that the spec does not show, and differences outside the cluster.

    `planned` are the bootstrap actions of today's plan.
    """
    if against == LAUNCH:
        record = recorded_launch(launch.environment, launch.plan.cluster)
        return recorded_spec(record), tuple(changes_since_launch(record, launch.environment, planned)), {}
    if against == LIVE:
        from warmbase.operations.aws.clients import environment_aws  # noqa: PLC0415 - boto3 is loaded only where AWS is asked
        from warmbase.operations.cluster.drift import cluster_drift  # noqa: PLC0415 - see above

        drift = cluster_drift(environment_aws(launch.environment, os.environ), launch)
        around = {compared.subject: compared.differences for compared in drift.around}
        return drift.running.subject, drift.running.immutable, around
    return read_subject(Path(against), None), (), {}


def _around(around: Around) -> Iterator[Part]:
    """Yield a section for each thing outside the cluster that differs, headed by what a deployment does about it."""
    for subject, differences in around.items():
        if differences:
            yield from ("", Paragraph(text=_impact(subject), hanging=2))
            yield from (Paragraph(text=difference, indent=4) for difference in differences)


def _impact(subject: str) -> str:
    if subject == "bootstrap actions":
        return "Bootstrap actions: a running cluster keeps those it was launched with"
    if subject.startswith("warmbase-"):
        return f"Stack {subject}, edited by hand: a deployment keeps the edit until the template changes there"
    if subject == "protection":
        return "Protection: a deployment restores it"
    if subject == "alarms":
        return "Alarms: a deployment ends a silence and updates what the template changes; other edits by hand stay"
    return f"{subject.capitalize()}: a deployment updates what the template changes; edits by hand stay"


def _page(environment: Environment, difference: Difference, arguments: str) -> Iterator[Part]:
    """Yield the sections of the page; `arguments` name the cluster to a command."""
    before, pending = difference.before, difference.changes
    count = f"{len(pending)} difference{'s' * (len(pending) > 1)}" if pending else "no difference"
    compared = f"{environment.source} against {before.source}, {' and '.join(difference.roles)} nodes"
    yield Paragraph(text=f"{compared}: {count}")
    for applied in Applied:
        listed = [change for change in pending if change.applied is applied]
        if listed:
            yield from ("", TITLES[applied])
        for change in listed:
            yield from change_parts(change)
    if any(change.key in OF_NODES for change in pending):
        yield from ("", Paragraph(text=UNCHANGED_NODES.format(arguments=arguments)))
    if pending:
        yield from ("", "Cost of applying all of it")
        yield from difference.impact
