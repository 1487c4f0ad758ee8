"""warmbase diff: what changing a cluster to today's plan would take, and cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill, wrap
from typing import Final

import click

from cli.amounts import printable
from cli.document import json_text
from cli.options import chosen_cluster, cluster_option, output_option
from configurations.impact.change import Change, changes
from configurations.impact.cost import ImpactCost, impact_cost
from configurations.impact.launched import changes_since_launch, launched_subject
from configurations.launch import Launch, launch_of
from configurations.lint.planned import planned_subject
from configurations.lint.reader import read_subject
from configurations.lint.subject import Subject
from configurations.properties.property import Applied
from environments.launch_record import LaunchRecord, launch_records, record_directory
from environments.reader import read_environment
from facts.prices import price_table
from facts.releases import releases
from sizing.problem import InvalidInput, Problem
from sizing.units import format_duration, format_size, format_usd

__all__ = ["diff"]

WIDTH: Final = 80
SHORT: Final = 70
NOTHING: Final = "not stated"
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
    compared as well. Ends with 0, whatever differs.

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


def _compared_with(against: str, launch: Launch) -> tuple[Subject, tuple[Change, ...], Around]:
    """The cluster or the file; differences that it does not state itself; and what stands around it."""
    if against == LAUNCH:
        record = _record(launch)
        return launched_subject(record), tuple(changes_since_launch(record, launch)), {}
    if against == LIVE:
        from operations.aws import Aws  # noqa: PLC0415 - boto3 is loaded only where AWS is asked
        from operations.drift import live  # noqa: PLC0415 - see above

        found = live(Aws(os.environ | {"AWS_REGION": launch.environment.region}), launch)
        return found.subject, (), {each.subject: each.differences for each in found.around}
    return read_subject(Path(against), None), (), {}


def _record(launch: Launch) -> LaunchRecord:
    """Raises InvalidInput where the cluster has none."""
    environment, colour = launch.environment, launch.plan.cluster
    found = launch_records(environment).get(colour)
    if found is None:
        where, name = str(record_directory(environment, colour)), Path(environment.source).stem
        why = f"nothing says what cluster {colour} was launched with"
        fix = f"if it runs, write it down: warmbase pin {name}"
        raise InvalidInput([Problem(where=where, what="no launch record", why=why, fix=fix)])
    return found


def _around(around: Around) -> Iterable[str]:
    """Bootstrap actions are settled by the launch. CloudFormation compares templates, and not what is there."""
    for subject, differences in around.items():
        if not differences:
            continue
        impact = "nothing restarts. A deployment changes what is rendered otherwise by now; an edit by hand stays"
        if subject == "bootstrap actions":
            impact = "a running cluster keeps what it was launched with"
        title = fill(f"{subject.capitalize()}: {impact}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        yield "\n".join([title, *(line for each in differences for line in _wrapped(each))])


def _page(
    launch: Launch, before: Subject, found: Sequence[Change], cost: ImpactCost, roles: Iterable[str]
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
            yield "\n".join([TITLES[applied], *(line for change in listed for line in _change_lines(change))])
    if found:
        yield "\n".join(["What applying all of it costs", *_cost_lines(cost, launch)])


def _counted(found: Sequence[Change]) -> str:
    if not found:
        return "no difference"
    return f"{len(found)} difference{'s' * (len(found) > 1)}"


def _change_lines(change: Change) -> Iterable[str]:
    groups = "" if len(change.groups) > 1 else f" ({change.groups[0]})"
    marked = ", an override" if change.overridden else ""
    yield f"  {change.classification} {change.key}{groups}{marked}"
    yield from _wrapped(f"{_value(change.before)} -> {_value(change.after)}")
    restarts = f"; restarts {change.restarts}" if change.restarts else ""
    if change.applied is Applied.LIVE and change.classification == "hbase-site":
        restarts = "; by update_all_config, once hbase-site.xml on each node says so: EMR's own way restarts HBase"
    emptied = "; the cache is lost" if change.empties_cache else ""
    yield from _wrapped(f"{change.why}{restarts}{emptied}")


def _wrapped(text: str) -> list[str]:
    return wrap(printable(text), WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _value(text: str | None) -> str:
    """Long lists break behind their commas."""
    if text is None:
        return NOTHING
    return text if len(text) <= SHORT else text.replace(",", ", ")


def _cost_lines(cost: ImpactCost, launch: Launch) -> Iterable[str]:
    if cost.applied is Applied.NEW_CLUSTER:
        beside = f"{format_duration(cost.warm_up_seconds)} until it is warm (estimate)"
        yield from _entry("time", f"{beside}: a replica beside the old one, promoted when that has ended")
        yield from _entry("never", "two active clusters on one root: that corrupts the data")
    elif cost.restart_seconds:
        each = cost.restart_seconds / cost.region_servers
        said = f"{cost.region_servers} RegionServers, one after the other, {format_duration(each)} each"
        yield from _entry("time", f"{format_duration(cost.restart_seconds)}: {said} (estimate)")
    else:
        yield from _entry("time", "no RegionServer restarts")
    yield from _entry("cache", _cache(cost, launch))
    yield from _entry("dollars", _dollars(cost))


def _cache(cost: ImpactCost, launch: Launch) -> str:
    if cost.cache_lost_bytes == 0:
        return "kept"
    size = "all of it" if cost.cache_lost_bytes is None else format_size(cost.cache_lost_bytes)
    if not cost.warm_up_seconds:
        return f"{size} lost, with the nodes that go"
    cache = launch.plan.bucket_cache
    planned = format_size(cache.size_bytes * launch.plan.core.count) if cache else ""
    return f"{size} lost; the planned {planned} take {format_duration(cost.warm_up_seconds)} to prefetch (estimate)"


def _dollars(cost: ImpactCost) -> str:
    parts = [
        f"{format_usd(cost.get_usd)} of GETs" if cost.get_usd else "",
        f"{format_usd(cost.node_usd)} of nodes side by side" if cost.node_usd else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing"


def _entry(name: str, text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=f"  {name:<9}", subsequent_indent=" " * 11, break_on_hyphens=False)
