"""warmbase status: an environment on one screen."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from textwrap import wrap
from typing import Final

import click

from cli.options import environment_argument, output_option
from environments.reader import read_environment
from operations.aws import Aws
from operations.claims import NOBODY
from operations.state import Caches, ClusterState, EnvironmentState, state
from reports.json_text import json_text
from sizing.units import format_duration, format_percent, format_usd

__all__ = ["status"]

WIDTH: Final = 80
LABEL: Final = 11
WATCH_SECONDS: Final = 30.0
UNKNOWN: Final = "not known: no node has published figures of its cache in the last minutes"


@click.command()
@environment_argument
@click.option("--watch", is_flag=True, help=f"Again every {WATCH_SECONDS:.0f} seconds, until Ctrl-C.")
@output_option
def status(environment: str, output: str, *, watch: bool) -> None:
    """Show each cluster of an environment: nodes, caches, claim, drift, alarms and cost.

    Hit ratios are of the last ten minutes: of all requests, and of the server that does worst.

    \b
    Example:
      warmbase status prod
      warmbase status prod --watch
    """
    read = read_environment(environment)
    aws = Aws(os.environ | {"AWS_REGION": read.region})
    while True:
        found = state(aws, read)
        if watch:
            click.clear()
        click.echo(json_text(found) if output == "json" else "\n".join(_page(found)))
        if not watch:
            return
        time.sleep(WATCH_SECONDS)


def _page(found: EnvironmentState) -> Iterator[str]:
    yield f"{found.environment}, {found.at}"
    yield from _entry("claim", _claim(found))
    for cluster in found.clusters:
        yield ""
        yield from _cluster(cluster)


def _claim(found: EnvironmentState) -> str:
    claim = found.claim
    if claim is None:
        return found.claim_why
    if claim.cluster == NOBODY:
        return f"free, as somebody said at {claim.claimed_at}"
    return f"{claim.cluster}, {claim.state or 'which EMR no longer knows'}, since {claim.claimed_at}"


def _cluster(found: ClusterState) -> Iterator[str]:
    cluster = found.cluster
    if cluster is None or found.why:
        yield f"{found.colour}, {found.role}: {found.why}"
        return
    yield f"{found.colour}, {found.role}: {cluster.id}, {cluster.state}, {cluster.release}"
    yield from _entry("launched", _launch_line(found))
    nodes = (
        f"{role} {group.running} of {group.count} {group.instance_type}, {group.state}"
        for role, group in cluster.groups.items()
    )
    yield from _entry("nodes", "; ".join(nodes))
    if found.caches is not None:
        yield from _caches(found.caches)
    yield from _entry("drift", f"{found.differences} differences from today's plan" if found.differences else "none")
    yield from _entry("alarms", ", ".join(found.alarms) or "none")
    if found.usd_per_month is not None:
        yield from _entry("cost", f"{format_usd(found.usd_per_month)} a month, as planned (estimate)")


def _launch_line(found: ClusterState) -> str:
    if not found.recorded:
        return "not written down: warmbase pin does that, before a deployment could replace the cluster"
    return str(found.launched_at)


def _caches(found: Caches) -> Iterator[str]:
    published = len(found.servers)
    if not published:
        yield from _entry("caches", UNKNOWN)
        return
    if found.hit_ratio is None:
        yield from _entry("hit ratio", "nothing was read in the last minutes")
    else:
        worst = found.worst
        said = (
            f"; worst {format_percent(worst.hit_ratio)}, {worst.instance}"
            if worst and worst.hit_ratio is not None
            else ""
        )
        yield from _entry("hit ratio", f"{format_percent(found.hit_ratio)} of all requests{said}")
        yield from _entry("", f"servers under 90 %: {found.below_90}, under 80 %: {found.below_80}")
    yield from _entry("fill", _fill(found))
    if published < found.expected_servers:
        yield from _entry("", f"{published} of {found.expected_servers} RegionServers have published figures")


def _fill(found: Caches) -> str:
    if found.fill is None:
        return UNKNOWN
    share = f"{format_percent(found.fill)} of what the plan fills"
    if found.warm:
        return f"{share}: warm"
    if found.warm_in_seconds is None:
        return f"{share}: it has not grown in the last half hour"
    return f"{share}: warming, {format_duration(found.warm_in_seconds)} to go at this pace (estimate)"


def _entry(name: str, text: str) -> list[str]:
    indent = " " * (LABEL + 2)
    return wrap(text, WIDTH, initial_indent=f"  {name:<{LABEL}}", subsequent_indent=indent, break_on_hyphens=False)
