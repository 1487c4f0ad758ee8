"""`warmbase status` shows an environment on one screen."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Final

import click

from warmbase.cli.operate.warm import PARTIAL, boost_warnings, unread_rows, volumes_text
from warmbase.cli.options import environment_argument, output_option
from warmbase.cli.page import Page, Part, Row
from warmbase.cli.terminal import echo
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.facts import today
from warmbase.facts.releases import newest_release, release_of
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import format_duration, format_percent, format_usd
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.cluster.alarms import topic_faults
from warmbase.operations.cluster.claims import NOBODY
from warmbase.operations.cluster.state import Caches, ClusterState, EnvironmentState, state
from warmbase.reports.json_text import json_text, plain

LAYOUT: Final = Page(label=11, cut=True)
WATCH_SECONDS: Final = 30.0
# judgement: a quarter to plan, launch and warm a cluster on a newer release
SUPPORT_WARNING: Final = timedelta(days=90)
UNKNOWN: Final = "unknown: no node has published cache metrics in the last minutes"


@click.command()
@environment_argument
@click.option("--watch", is_flag=True, help=f"Refresh every {WATCH_SECONDS:.0f} seconds until Ctrl-C.")
@output_option
def status(environment: str, output: str, *, watch: bool) -> None:
    """Show nodes, caches, drift, alarms and cost.

    Every cluster of the environment is shown. Hit ratios cover the last ten minutes: over all requests, and of the
    worst server. What cannot be read costs one line, which names the missing permission.

    \b
    Example:
      warmbase status prod
      warmbase status prod --watch

    Exit codes: 1 a part could not be read; the rest is shown.
    """
    read = read_environment(environment)
    while watch:
        try:
            text, _ = _text(read, output)
        except OperationFailed as failure:
            # The next turn reads the credentials and asks AWS again.
            text = json_text(failure.document()) if output == "json" else str(failure)
        click.clear()
        echo(text)
        time.sleep(WATCH_SECONDS)
    text, is_whole = _text(read, output)
    echo(text)
    if not is_whole:
        sys.exit(PARTIAL)


def _text(environment: Environment, output: str) -> tuple[str, bool]:
    """Return what is printed, and whether every part could be read."""
    current = state(environment_aws(environment, os.environ), environment)
    text = json_text(_document(current)) if output == "json" else LAYOUT.text(_page(current))
    return text, current.is_whole


def _document(current: EnvironmentState) -> dict[str, Any]:
    """Return the state as JSON has it, each cluster's name also under `colour`, the key's deprecated spelling."""
    document: dict[str, Any] = plain(current)
    for cluster, entry in zip(document["clusters"], current.clusters, strict=True):
        until = _support_until(entry)
        cluster["colour"] = cluster["name"]
        cluster["standard_support_until"] = until and until.isoformat()
        cluster["past_standard_support"] = until and until < today()
    return document


def _page(state: EnvironmentState) -> Iterator[Part]:
    yield f"{state.environment}, {state.at}"
    if "claim" not in state.unread:
        yield "claim", _claim(state)
    yield from unread_rows(state.unread)
    for launch in state.failed_launches:
        ways = f"`warmbase deploy {state.environment}` and `warmbase destroy {state.environment}` ask, and then end it"
        yield "failed", f"{launch.text}. {ways}"
    for cluster in state.clusters:
        yield ""
        yield from _cluster(cluster, state.environment)
    yield f"\nNext: `warmbase explore {state.environment}` shows the plan for other values in a browser."


def _claim(state: EnvironmentState) -> str:
    claim = state.claim
    if claim is None:
        return state.claim_why
    if claim.cluster == NOBODY:
        return f"free: released at {claim.claimed_at}"
    return f"{claim.cluster}, {claim.state or 'unknown to EMR'}, since {claim.claimed_at}"


def _cluster(state: ClusterState, environment: str) -> Iterator[Part]:
    cluster = state.cluster
    if state.why:
        yield f"{state.name}, {state.role}: {state.why}"
        yield from unread_rows(state.unread)
        return
    known = f"{cluster.id}, {cluster.state}, {cluster.release}" if cluster else "unknown"
    yield f"{state.name}, {state.role}: {known}"
    yield "launched", _launch_line(state)
    yield from _support(state)
    if cluster is not None:
        nodes = (
            f"{role} {group.running} of {group.count} {group.instance_type}, {group.state}"
            for role, group in cluster.groups.items()
        )
        yield "nodes", "; ".join(nodes)
    if state.caches is not None:
        yield from _caches(state.caches)
    if state.boost is not None and state.boost.raised:
        yield "boost", volumes_text(state.boost)
        for warning in boost_warnings(state.boost, environment):
            yield "", warning
    if state.differences is not None:
        yield "drift", f"{state.differences} differences from today's plan" if state.differences else "none"
    if "alarms" not in state.unread:
        yield "alarms", ", ".join(state.alarms) or "none"
    if state.silenced:
        yield "silenced", f"{'; '.join(state.silenced)}. `warmbase deploy` ends what warmbase silenced"
    if faults := topic_faults(state.topics or ()):
        yield "mails", "; ".join(faults)
    if state.unfinished:
        advice = "If the command no longer runs, run it again to finish its work"
        yield "unfinished", f"{'; '.join(state.unfinished)}. {advice}"
    if state.unprotected:
        yield "missing", f"{', '.join(state.unprotected)}. `warmbase deploy` restores it"
    yield from unread_rows(state.unread)
    if state.usd_per_month is not None:
        yield "cost", f"{format_usd(state.usd_per_month)} a month, as planned (estimate)"


def _support(state: ClusterState) -> Iterator[Row]:
    """Yield a line where standard support has ended, or ends so soon that somebody has to plan an upgrade."""
    until = _support_until(state)
    if until is None or until - today() > SUPPORT_WARNING:
        return
    ends = f"ended on or before {until}" if until < today() else f"ends on or before {until}"
    fix = f"launch a new cluster on {newest_release().label}"
    yield "support", f"standard support of the release {ends}: {fix}"


def _support_until(state: ClusterState) -> date | None:
    """Return the last day of standard support of the release that runs; None where nothing runs, or it is unknown."""
    release = release_of(state.cluster.release).release if state.cluster else None
    return release.support_until if release else None


def _launch_line(state: ClusterState) -> str:
    if not state.recorded:
        return "no launch record: run `warmbase pin`, or a deployment could replace the cluster"
    return str(state.launched_at)


def _caches(caches: Caches) -> Iterator[Row]:
    published = len(caches.servers)
    if not published:
        yield "caches", UNKNOWN
        return
    if caches.hit_ratio is None:
        yield "hit ratio", "no reads in the last minutes"
    else:
        worst = caches.worst
        worst_server = (
            f"; worst {format_percent(worst.hit_ratio)}, {worst.instance}"
            if worst and worst.hit_ratio is not None
            else ""
        )
        yield "hit ratio", f"{format_percent(caches.hit_ratio)} of all requests{worst_server}"
        yield "", f"servers below 90 %: {caches.below_90}, below 80 %: {caches.below_80}"
    yield "fill", _fill(caches)
    if published < caches.expected_servers:
        yield "", f"{published} of {caches.expected_servers} RegionServers have published metrics"


def _fill(caches: Caches) -> str:
    if caches.fill is None:
        return UNKNOWN
    share = f"{format_percent(caches.fill)} of the planned fill"
    if caches.warm:
        return f"{share}: warm"
    if caches.warm_in_seconds is None:
        return f"{share}: no growth in the last half hour"
    return f"{share}: warming, {format_duration(caches.warm_in_seconds)} remaining at this rate (estimate)"
