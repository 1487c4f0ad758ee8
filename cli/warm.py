"""`warmbase warm` shows how warm the caches of a cluster are, waits until they are warm, and boosts their fill."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click

from changes.planned_cluster import deployable_cluster
from cli.change_lines import wrapped
from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from cli.page_entry import page_entry
from cli.raised_volumes import boost_warnings, volumes_text
from cli.terminal import echo
from cli.unit_text import DURATION, SHARE
from cli.warm_boost import boost_command
from configurations.launch import Launch
from environments.reader import read_environment
from operations.boost_state import BoostState
from operations.cluster_boost import read_boost
from operations.description import DescribedCluster
from operations.identity import environment_aws
from operations.plan_drift import read_running_cluster
from operations.warming import Servers, clock, read_progress, refuse_uncached, wait_until_warm
from reports.json_text import json_text, plain
from sizing.problem import InvalidInput, OperationFailed
from sizing.units import format_duration, format_percent, format_rate, format_size
from sizing.warming import Gate, Progress, slowest_seconds


@click.group()
def warm() -> None:
    """Show the fill of the caches, wait for it, or boost it.

    \b
    Example:
      warmbase warm status prod
      warmbase warm wait prod --timeout 3h
      warmbase warm boost prod --dry-run
    """


warm.add_command(boost_command)


@warm.command(name="status")
@environment_argument
@cluster_option
@output_option
def status_command(environment: str, cluster: str | None, output: str) -> None:
    """Show the share, rate and remaining time of each server's cache.

    The share is of the bytes that the plan expects in a warm cache. The remaining time follows the rate of the last ten
    minutes. While a boost raises the cache volumes, the page says so, and when the boost ends.

    \b
    Example:
      warmbase warm status prod
    """
    launch, running, read, boost = _running_cluster(environment, cluster)
    servers, boosted = read(Gate()), boost()
    if output == "json":
        document: dict[str, Any] = {"cluster": launch.plan.cluster, "id": running.id, "servers": plain(servers)}
        document["seconds"] = slowest_seconds(servers)
        document["boost"] = plain(boosted)
        echo(json_text(document))
        return
    echo("\n".join([*status_page(launch, running, servers), *_boost(boosted, environment)]))


@warm.command(name="wait")
@environment_argument
@cluster_option
@click.option(
    "--share", type=SHARE, metavar="SHARE", help="The share of the planned bytes to wait for.  [default: 98 %]"
)
@click.option("--hit-ratio", type=SHARE, metavar="SHARE", help="Wait for this hit ratio instead.")
@click.option("--timeout", type=DURATION, default="6 h", show_default=True, help="Give up after this time.")
def wait_command(
    environment: str, cluster: str | None, share: float | None, hit_ratio: float | None, timeout: float
) -> None:
    """Wait until every cache of a cluster is warm; for pipelines.

    By default a cache is warm once it holds 98 % of the bytes that the plan expects in it. With --hit-ratio it is warm
    once that share of its reads hits over two minutes, which needs at least 60 reads a minute on each server. Progress
    goes to stderr, a line each minute.

    \b
    Example:
      warmbase warm wait prod --timeout 3h
      warmbase warm wait prod --hit-ratio 0.95

    Exit codes: 1 the time is over; 3 a cache will not get warmer.
    """
    if share is not None and hit_ratio is not None:
        raise InvalidInput.of(
            where="warmbase warm wait",
            what="takes --share or --hit-ratio",
            why="these are two conditions, and the command waits for one",
            fix=f"warmbase warm wait {environment} --hit-ratio {hit_ratio:g}",
        )
    launch, _, read, _ = _running_cluster(environment, cluster)
    gate = Gate(share=Gate().share if share is None else share, hit_ratio=hit_ratio)
    last: list[Servers] = []

    def watch(servers: Servers) -> None:
        last[:] = [servers]
        echo(f"{clock()}  {summary(servers)}", err=True)

    if wait_until_warm(lambda: read(gate), timeout, watch):
        echo(f"{launch.plan.cluster} is warm: {summary(last[0])}")
        return
    raise OperationFailed.of(
        where=f"cluster {launch.plan.cluster}",
        what=f"is not warm after {format_duration(timeout)}",
        why=summary(last[0]),
        fix=f"see each cache: warmbase warm status {environment}; then run the same command again",
    )


def _running_cluster(
    environment: str, cluster: str | None
) -> tuple[Launch, DescribedCluster, Callable[[Gate], Servers], Callable[[], BoostState | None]]:
    """Return the plan of the running cluster, the cluster, and what reads the progress of its caches and its boost.

    Raises Refused where its servers have no cache on disk.
    """
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, cluster).name).launch
    refuse_uncached(launch)
    aws = environment_aws(read, os.environ)
    running = read_running_cluster(aws, launch).cluster
    return launch, running, partial(read_progress, aws, launch, running.id), partial(read_boost, aws, launch, running)


def _boost(state: BoostState | None, environment: str) -> Iterator[str]:
    """Yield the entry about raised volumes; nothing where none is raised."""
    if state is not None and state.raised:
        yield from page_entry("boost", volumes_text(state))
        for warning in boost_warnings(state, environment):
            yield from page_entry("", warning)


def summary(servers: Servers) -> str:
    """Return the number of warm caches, the least share, and the remaining time of the slowest, in one line."""
    warm_count = sum(server.verdict == "warm" for server in servers)
    parts = [f"{warm_count} of {len(servers)} caches warm"]
    if shares := [server.share for server in servers if server.share is not None]:
        parts.append(f"the least filled {format_percent(min(shares))}")
    if ratios := [server.hit_ratio for server in servers if server.hit_ratio is not None]:
        parts.append(f"worst hit ratio {format_percent(min(ratios))}")
    if (seconds := slowest_seconds(servers)) is not None:
        parts.append(f"{format_duration(seconds)} remaining at this rate (estimate)")
    return ", ".join(parts)


def status_page(launch: Launch, running: DescribedCluster, servers: Servers) -> Iterator[str]:
    """Yield the page: each server in a line, and the reason of a verdict below it."""
    yield f"{launch.plan.cluster}: {running.id}, {running.state}"
    yield f"  {'server':<19}{'share':>7}{'cached':>10}{'rate':>11}{'remaining':>10}{'hits':>7}"
    for server in servers:
        yield _line(server)
        if server.reason:
            yield from wrapped(server.reason)
    yield from page_entry("all", summary(servers))


def _line(server: Progress) -> str:
    cells = (
        (7, server.share, format_percent),
        (10, server.cached_bytes, format_size),
        (11, server.bytes_per_second or None, format_rate),
        (10, server.seconds, format_duration),
        (7, server.hit_ratio, format_percent),
    )
    figures = "".join(f"{'-' if value is None else text(value):>{width}}" for width, value, text in cells)
    return f"  {server.instance:<19}{figures}  {server.verdict}".rstrip()
