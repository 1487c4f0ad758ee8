"""warmbase diff: what changing a cluster to today's plan would take, and cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

import click

from changes.change import Change, changes
from changes.cost import ImpactCost, impact_cost
from changes.launched import changes_since_launch, recorded_spec
from cli.change_lines import WIDTH, change_lines, cost_lines, wrapped
from cli.options import chosen_cluster, cluster_option, output_option
from configurations.launch import Launch, launch_of
from configurations.properties.property import Applied
from emr.cluster_spec import ClusterSpec
from environments.launch_record import LaunchRecord, launch_records, record_directory
from environments.reader import read_environment
from facts.prices import price_table
from facts.releases import releases
from lint.planned import planned_subject
from lint.reader import read_subject
from reports.json_text import json_text
from sizing.problem import InvalidInput, Problem

__all__ = ["diff"]

LAUNCH: Final = "launch"
LIVE: Final = "live"
TITLES: Final = {
    Applied.LIVE: "Live: no daemon of HBase has to restart",
    Applied.ROLLING_RESTART: "Rolling restart",
    Applied.NEW_CLUSTER: "New cluster: it cannot be changed on a running one",
}


@click.command()
@click.argument("environment", metavar="ENV")
@click.option(
    "--against",
    required=True,
    metavar="launch|live|FILE",
    help="What the cluster was launched with; what runs now; or an earlier rendering: of --format run-job-flow, emr or"
    " hbase-site, or anything that lint --file reads.",
)
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    default="core",
    show_default=True,
    help="Whose settings a file is that has no instance groups.",
)
@cluster_option
@output_option
def diff(environment: str, against: str, group: str, cluster: str | None, output: str) -> None:
    """Say how each difference from what was launched or rendered is applied, and its cost.

    Live, by a rolling restart, or by a new cluster; in time, cached data and dollars, all of them estimates of the
    plan. Order, blanks and spelling are no differences. Against what runs, dashboards, alarms and the root bucket are
    compared as well, and CloudFormation is asked what of its resources was edited by hand. Ends with 0, whatever
    differs.

    \b
    Example:
      warmbase diff prod --against live
      warmbase render prod --format run-job-flow > before.json
      warmbase diff prod --against before.json
    """
    read = read_environment(environment)
    launch = launch_of(read, chosen_cluster(read, cluster))
    before, beside, around = _compared_with(against, launch)
    roles = [each.role for each in before.groups if each.role != "task"] or [group]
    found = changes(before, planned_subject(launch), roles, releases()[launch.plan.release], beside)
    cost = impact_cost(found, before, launch.plan, price_table(read.region))
    if output == "json":
        said = {"source": read.source, "against": before.source, "changes": found, "cost": cost}
        click.echo(json_text(said if against != LIVE else {**said, "around": around}))
    else:
        click.echo("\n\n".join([*_page(launch, before, found, cost, roles), *_around(around)]))


Around = Mapping[str, Sequence[str]]
"""By what is compared, each difference."""


def _compared_with(against: str, launch: Launch) -> tuple[ClusterSpec, tuple[Change, ...], Around]:
    """The cluster or the file; differences that it does not state itself; and what stands around it."""
    if against == LAUNCH:
        record = _record(launch)
        return recorded_spec(record), tuple(changes_since_launch(record, launch)), {}
    if against == LIVE:
        from operations.aws import Aws  # noqa: PLC0415 - boto3 is loaded only where AWS is asked
        from operations.plan_drift import cluster_drift  # noqa: PLC0415 - see above

        found = cluster_drift(Aws(os.environ | {"AWS_REGION": launch.environment.region}), launch)
        return found.running.subject, found.running.settled, {each.subject: each.differences for each in found.around}
    return read_subject(Path(against), None), (), {}


def _record(launch: Launch) -> LaunchRecord:
    """Raises InvalidInput where the cluster has none."""
    environment, cluster_name = launch.environment, launch.plan.cluster
    found = launch_records(environment).get(cluster_name)
    if found is None:
        where, name = str(record_directory(environment, cluster_name)), Path(environment.source).stem
        why = f"nothing says what cluster {cluster_name} was launched with"
        fix = f"if it runs, write it down: warmbase pin {name}"
        raise InvalidInput([Problem(where=where, what="no launch record", why=why, fix=fix)])
    return found


def _around(around: Around) -> Iterable[str]:
    """Bootstrap actions are settled by the launch. CloudFormation compares templates, and not what is there."""
    for subject, differences in around.items():
        if not differences:
            continue
        title = fill(_impact(subject), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        yield "\n".join([title, *(line for difference in differences for line in wrapped(difference))])


def _impact(subject: str) -> str:
    if subject == "bootstrap actions":
        return "Bootstrap actions: a running cluster keeps what it was launched with"
    if subject.startswith("warmbase-"):
        return f"Stack {subject}, edited by hand: a deployment leaves it so, until the template says otherwise"
    return f"{subject.capitalize()}: a deployment changes what is rendered otherwise by now; an edit by hand stays"


def _page(
    launch: Launch, before: ClusterSpec, found: Sequence[Change], cost: ImpactCost, roles: Iterable[str]
) -> Iterable[str]:
    compared = " and ".join(roles)
    yield fill(
        f"{launch.environment.source} against {before.source}, {compared} nodes: {_counted(found)}",
        WIDTH,
        break_on_hyphens=False,
    )
    for applied in Applied:
        listed = [change for change in found if change.applied is applied]
        if listed:
            yield "\n".join([TITLES[applied], *(line for change in listed for line in change_lines(change))])
    if found:
        yield "\n".join(["What applying all of it costs", *cost_lines(cost, launch)])


def _counted(found: Sequence[Change]) -> str:
    if not found:
        return "no difference"
    return f"{len(found)} difference{'s' * (len(found) > 1)}"
