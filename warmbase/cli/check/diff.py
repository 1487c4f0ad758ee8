"""`warmbase diff` shows how each difference from today's plan is applied, and what that costs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from warmbase.changes.change import Change
from warmbase.changes.engine_facet import EngineLaunch, changes_of
from warmbase.changes.plan_comparison import OF_NODES
from warmbase.changes.recorded_launch import changes_since_launch, recorded_spec
from warmbase.cli.change_parts import CHANGES, change_parts
from warmbase.cli.options import chosen_name, cluster_option, output_option
from warmbase.cli.page import Paragraph, Part
from warmbase.cli.terminal import print_json
from warmbase.configurations.bootstrap import Action
from warmbase.configurations.properties.property import Applied
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.engines.engine import ENGINES, engine_of
from warmbase.environments.launch_record import recorded_launch
from warmbase.environments.reader import read_environment
from warmbase.linter.reader import read_subject

LAUNCH: Final = "launch"
LIVE: Final = "live"
TITLES: Final = {
    Applied.LIVE: f"Live: neither {' nor '.join(engine.title for engine in ENGINES.values())} restarts",
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
    facet = changes_of(engine_of(read, name))
    launch = facet.launch_of_file(read, name)
    before, further, around = _compared_with(against, launch, facet.actions(launch))
    # A file without groups states the classifications of a single group.
    roles = tuple(one.role for one in before.groups if one.role != "task") or (group,)
    pending = facet.differences(before, launch, roles, further)
    cost = facet.impact(pending, before, launch)
    if output == "json":
        document = {"source": read.source, "against": before.source, "changes": pending, "cost": cost}
        print_json(document if against != LIVE else {**document, "around": around})
        return
    count = f"{len(pending)} difference{'s' * (len(pending) > 1)}" if pending else "no difference"
    compared = f"{read.source} against {before.source}, {' and '.join(roles)} nodes"
    parts: list[Part] = [Paragraph(text=f"{compared}: {count}")]
    for applied in Applied:
        listed = [change for change in pending if change.applied is applied]
        parts += ["", TITLES[applied]] if listed else []
        for change in listed:
            parts += change_parts(change)
    if any(change.key in OF_NODES for change in pending):
        arguments = f"{read.name} --cluster {name}" if cluster else read.name
        parts += ["", Paragraph(text=UNCHANGED_NODES.format(arguments=arguments))]
    if pending:
        parts += ["", "Cost of applying all of it", *facet.impact_rows(cost, launch.plan)]
    CHANGES.show([*parts, *around_parts(around)])


def _compared_with(
    against: str, launch: EngineLaunch, planned: Sequence[Action]
) -> tuple[ClusterSpec, tuple[Change, ...], Mapping[str, Sequence[str]]]:
    """Return the spec to compare with, changes that the spec does not show, and differences outside the cluster.

    `planned` are the bootstrap actions of today's plan. The differences outside the cluster are listed by what was
    compared: a dashboard, the alarms, the bucket, a stack.
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


def around_parts(around: Mapping[str, Sequence[str]]) -> Iterator[Part]:
    """Yield a section for each thing outside the cluster that differs, headed by what a deployment does about it."""
    for subject, differences in around.items():
        if differences:
            yield from ("", Paragraph(text=_impact(subject), hanging=2))
            yield from (Paragraph(text=difference, indent=4) for difference in differences)


def _impact(subject: str) -> str:
    """Return the heading of differences outside the cluster: what a deployment does about them."""
    if subject == "bootstrap actions":
        return "Bootstrap actions: a running cluster keeps those it was launched with"
    if subject.startswith("warmbase-"):
        return f"Stack {subject}, edited by hand: a deployment keeps the edit until the template changes there"
    if subject == "protection":
        return "Protection: a deployment restores it"
    if subject == "alarms":
        return "Alarms: a deployment ends a silence and updates what the template changes; other edits by hand stay"
    return f"{subject.capitalize()}: a deployment updates what the template changes; edits by hand stay"
