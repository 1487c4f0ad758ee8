"""`warmbase warm` shows how warm the caches of a cluster are, waits until they are warm, and boosts their fill.

`warmbase warm boost` raises the throughput of the cache volumes for a fill; schedules restore it afterwards.
`boost_warnings` says until when the volumes are raised, at what price, and whether a restoration is overdue.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypedDict, Unpack

import click
from msgspec import Struct

from warmbase.cli.operate.running import RunningCluster
from warmbase.cli.options import (
    DURATION,
    SHARE,
    cluster_option,
    dry_run_option,
    environment_argument,
    output_option,
    yes_option,
)
from warmbase.cli.page import Page, Paragraph, Part, Row
from warmbase.cli.size.plan_summary import LEVELS, limits_text
from warmbase.cli.terminal import echo, print_json
from warmbase.configurations.launch import Launch
from warmbase.ground.errors import InvalidInput, OperationFailed, Refused
from warmbase.ground.units import format_duration, format_percent, format_rate, format_size, format_usd
from warmbase.operations.aws.clients import only_reading
from warmbase.operations.aws.errors import Parts
from warmbase.operations.aws.progress import Stage
from warmbase.operations.cluster.boost import (
    BoostEnd,
    BoostState,
    CacheBoost,
    ClusterBoost,
    cluster_boost,
    moment,
    provision_text,
    read_boost,
)
from warmbase.operations.cluster.caches import Servers, clock, refuse_uncached, wait_until_warm
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import refuse_moved
from warmbase.reports.json_text import plain
from warmbase.sizing.recovery.boost import Boost, FillTime, ServerFill
from warmbase.sizing.recovery.warmth import Gate, missing_fraction, slowest_seconds


def volumes_text(state: BoostState) -> str:
    """Return what the cache volumes are provisioned with, and until when and at what price they are raised."""
    provisions = sorted({volume.provision for volume in state.volumes.values()})
    line = f"{len(state.volumes)} cache volumes with {' or '.join(map(provision_text, provisions)) or 'nothing'} each"
    if not state.raised:
        return line
    until = "" if state.announced_end is None else f" until {moment(state.announced_end)}"
    price = f"at an extra {format_usd(state.usd_per_hour)} an hour (estimate)"
    pending = sum(volume.provision != volume.final_provision for volume in state.raised.values())
    remark = f"; EC2 is still raising {pending} of them" if pending else ""
    return f"{line}; {len(state.raised)} raised{until}, {price}{remark}"


def boost_warnings(state: BoostState, environment: str) -> Iterator[str]:
    """Yield a warning about volumes that are raised beyond the announced end, and about those without a schedule."""
    command = f"To restore the throughput now: warmbase warm boost {environment} --end"
    if (overdue := state.overdue) and state.ends_at is not None:
        attempt = f"the next attempt to restore the throughput is at {moment(state.ends_at)}"
        yield f"OVERDUE: {_volumes(overdue)} still raised after that time; {attempt}. {command}"
    if state.unscheduled:
        problem = "raised without a schedule that restores the throughput"
        yield f"OVERDUE: {_volumes(state.unscheduled)} {problem}. {command}"


def _volumes(names: tuple[str, ...]) -> str:
    return f"{len(names)} volumes are" if len(names) > 1 else "1 volume is"


LEAST_SECONDS: Final = 900.0  # judgement: three times the margin that a schedule needs
MOST_SECONDS: Final = 24 * 3600.0  # judgement: a fill takes hours; for longer, plan volumes with more throughput
# judgement: reads delay a fill, and EC2 takes a while to act; an hour more costs less than a boost that ends too early.
RESERVE_SECONDS: Final = 3600.0
HOUR_SECONDS: Final = 3600.0


class BoostOptions(TypedDict):
    """The options of the command; `seconds` is the time of the boost."""

    cluster: str | None
    level: str | None
    seconds: float | None
    end: bool
    dry_run: bool
    yes: bool


@click.command(name="boost")
@environment_argument
@cluster_option
@click.option(
    "--level",
    type=click.Choice(["sustained", "burst"]),
    help="Use the rates that the nodes sustain, or their daily burst.  [default: the fastest that the plan names]",
)
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    metavar="TIME",
    help="How long the boost lasts, from now.  [default: the predicted fill plus an hour, in whole hours]",
)
@click.option("--end", is_flag=True, help="End the boost now, and restore the throughput.")
@dry_run_option
@yes_option
def boost_command(environment: str, **options: Unpack[BoostOptions]) -> None:
    """Raise the throughput of the cache volumes while they fill.

    Before it raises the first volume, warmbase creates one-time EventBridge schedules that restore the throughput of
    each volume, even if this machine is off by then. Run the same command again to continue an interrupted boost, or to
    extend a running one. A boost begins only if no volume was modified within the last 24 hours.

    \b
    Example:
      warmbase warm boost prod --dry-run
      warmbase warm boost prod --for 3h
      warmbase warm boost prod --end

    Exit codes: 3 more throughput would not help, or a volume cannot be raised now.
    """
    running = RunningCluster.read(environment, options["cluster"], refuse_uncached, only_reading)
    control = cluster_boost(running.aws, running.launch, running.cluster)
    control.refuse_undeployed()
    state = control.state()
    if options["end"]:
        proposed = _end(control, state)
    else:
        chosen = fill_boost(running.launch, options["level"], running.caches(Gate()))
        wanted = options["seconds"]
        planned = chosen.boost
        seconds = default_seconds(chosen.time.seconds) if wanted is None else wanted
        if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            raise InvalidInput.of(
                where="--for",
                what=f"is {format_duration(seconds)}",
                why="a boost lasts 15 minutes to 24 hours",
                fix="for longer, plan volumes with more throughput: warmbase plan",
            )
        boost = CacheBoost(control=control, provision=(planned.throughput_mib_s, planned.iops), seconds=seconds)
        boost.check(state)
        proposed = boost.stages(), list(_proposal(chosen, state, seconds))
    if proposed is None:
        echo(f"{running.launch.plan.cluster}: no cache volume is raised")
        return
    stages, rows = proposed
    Page().show([running.title, *_current(environment, running.cluster, state), *rows])

    def unmoved() -> Iterator[Stage]:
        refuse_moved(state.basis, control.state().basis)
        return stages

    if not options["dry_run"]:
        running.carry_out(
            "warm boost", "Restore them?" if options["end"] else "Raise them?", unmoved, yes=options["yes"]
        )


Proposed = tuple[Iterator[Stage], list[Row]]
"""The stages, and the rows that propose them."""


def _end(control: ClusterBoost, state: BoostState) -> Proposed | None:
    """Return the end of a boost; None if nothing is raised or scheduled."""
    if not state.raised and not state.ways_back:
        return None
    throughput_mib_s, iops = control.launch_provision
    provision = f"{throughput_mib_s:,} MiB/s and {iops:,} IOPS"
    text = f"restore {len(state.raised)} volumes to {provision}, and delete the schedules"
    return BoostEnd(control=control).stages(), [("proposed", text)]


class FillBoost(Struct, frozen=True, kw_only=True):
    """A boost for the rest of a fill: `fill` is what the emptiest cache still lacks, by the figures of `servers`."""

    boost: Boost
    fill: ServerFill
    servers: Servers

    @property
    def time(self) -> FillTime:
        """Return the time that the fill takes with the boost if nobody reads."""
        return self.fill.boosted(self.boost.throughput_mib_s, self.boost.level)

    @property
    def why(self) -> str:
        """Return the times of the fill with and without the boost, and how full the caches are."""
        now = self.fill.boosted(self.fill.volume.throughput_mib_s, "sustained")
        return (
            f"{self._contents} {format_duration(self.time.seconds)} instead of"
            f" {format_duration(now.seconds)}, {LEVELS[self.boost.level]} (estimates); then the limit is"
            f" {limits_text(self.time.limits)}"
        )

    @property
    def _contents(self) -> str:
        silent = sum(server.share is None for server in self.servers)
        if silent == len(self.servers):
            return "no cache has published figures; without reads, an empty one fills in"
        if silent:
            count = f"{silent} of {len(self.servers)}"
            return f"{count} caches have published no figures; without reads, an empty one fills in"
        share = format_percent(1 - missing_fraction(self.servers))
        return f"the emptiest cache holds {share} of the planned bytes; without reads, the rest takes"


def fill_boost(launch: Launch, level: str | None, servers: Servers) -> FillBoost:
    """Return the planned boost of this level, or the fastest, for what the caches lack.

    Raises Refused if the plan has none, or if every cache is warm.
    """
    boost, server, plan = chosen_boost(launch, level), launch.plan.warm_up.server, launch.plan
    if servers and all(one.verdict == "warm" for one in servers):
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="is warm already",
            why=f"each of its {len(servers)} caches holds what the plan expects, so a boost would save no time",
            fix=f"see each cache: warmbase warm status {plan.environment}",
        )
    assert server is not None  # noqa: S101 - a boost is planned only with it
    return FillBoost(boost=boost, fill=server.remaining(missing_fraction(servers)), servers=servers)


def chosen_boost(launch: Launch, level: str | None) -> Boost:
    """Return the planned boost of this level, or the fastest. Raises Refused if the plan has none."""
    plan, boosts = launch.plan, launch.plan.warm_up.boosts
    server = plan.warm_up.server
    for boost in reversed(boosts):
        if level in {None, boost.level}:
            return boost
    why = "no EBS volume holds the cache"
    if server is not None:
        limits = server.boosted(server.volume.throughput_mib_s, "sustained").limits
        why = f"more throughput would not shorten the fill: its limit is {limits_text(limits)}"
    raise Refused.of(
        where=f"cluster {plan.cluster} of {plan.environment}",
        what=f"would not fill noticeably faster{f' {LEVELS[level]}' if level else ''}",  # type: ignore[index]
        why=why,
        fix=f"use --level {boosts[-1].level}" if boosts else "see what limits it: warmbase plan",
    )


def default_seconds(fill_seconds: float) -> float:
    """Return how long a boost lasts by default: the fill with a reserve, in whole hours."""
    return math.ceil((fill_seconds + RESERVE_SECONDS) / HOUR_SECONDS) * HOUR_SECONDS


def _current(environment: str, cluster: DescribedCluster, state: BoostState) -> Iterator[Row]:
    yield "current", volumes_text(state)
    for warning in boost_warnings(state, environment):
        yield "", warning
    nodes = cluster.groups["core"].running
    if len(state.volumes) < nodes:
        yield "", f"only {len(state.volumes)} cache volumes were found on {nodes} core nodes"


def _proposal(chosen: FillBoost, state: BoostState, seconds: float) -> Iterator[Row]:
    boost = chosen.boost
    raised = f"{boost.throughput_mib_s:,} MiB/s and {boost.iops:,} IOPS for {format_duration(seconds)}"
    remark = f"{len(state.raised)} volumes are raised already: only their schedules change"
    extended = f"; {remark}" if state.raised else ""
    yield "proposed", f"{raised}{extended}"
    yield "why", chosen.why
    text = (
        "automatic: one-time EventBridge schedules restore each volume at the end, and try again 6 and 24 hours later,"
        " because EC2 refuses while it is still applying the increase"
    )
    yield "restore", text
    hours = seconds / HOUR_SECONDS
    yield (
        "cost",
        f"{format_usd(boost.usd_per_hour)} an hour, {format_usd(hours * boost.usd_per_hour)} in all (estimate)",
    )


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
    minutes. While a boost raises the cache volumes, the page says so, and when the boost ends. What cannot be read
    costs one line, which names the missing permission.

    \b
    Example:
      warmbase warm status prod

    Exit codes: 1 a part could not be read; the rest is shown.
    """
    running, parts = RunningCluster.read(environment, cluster, refuse_uncached, only_reading), Parts()
    servers = parts.read("caches", lambda: running.caches(Gate()), ())
    boosted = parts.read("boost", lambda: read_boost(running.aws, running.launch, running.cluster), None)
    if output == "json":
        name = running.launch.plan.cluster
        document: dict[str, Any] = {"cluster": name, "id": running.cluster.id, "servers": plain(servers)}
        document["seconds"] = slowest_seconds(servers)
        document["boost"] = plain(boosted)
        document["unread"] = parts.unread
        print_json(document)
    else:
        page = [running.title] if "caches" in parts.unread else status_page(running, servers)
        Page().show([*page, *_boost_rows(boosted, environment), *unread_rows(parts.unread)])
    if parts.unread:
        sys.exit(PARTIAL)


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
    running = RunningCluster.read(environment, cluster, refuse_uncached, only_reading)
    name = running.launch.plan.cluster
    gate = Gate(share=Gate().share if share is None else share, hit_ratio=hit_ratio)
    last: list[Servers] = []

    def watch(servers: Servers) -> None:
        last[:] = [servers]
        echo(f"{clock()}  {summary(servers)}", err=True)

    if wait_until_warm(lambda: running.caches(gate), timeout, watch):
        echo(f"{name} is warm: {summary(last[0])}")
        return
    raise OperationFailed.of(
        where=f"cluster {name}",
        what=f"is not warm after {format_duration(timeout)}",
        why=summary(last[0]),
        fix=f"see each cache: warmbase warm status {environment}; then run the same command again",
    )


def _boost_rows(state: BoostState | None, environment: str) -> Iterator[Row]:
    """Yield the entry about raised volumes; nothing where none is raised."""
    if state is not None and state.raised:
        yield "boost", volumes_text(state)
        for warning in boost_warnings(state, environment):
            yield "", warning


PARTIAL: Final = 1
"""The exit code of a page that lacks a part."""


def unread_rows(unread: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row for each part that could not be read: its name, and why."""
    for part, why in unread.items():
        yield part, f"unknown: {why}"


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


def status_page(running: RunningCluster, servers: Servers) -> Iterator[Part]:
    """Yield the page: each server in a line, and the reason of a verdict below it."""
    yield running.title
    yield f"  {'server':<19}{'share':>7}{'cached':>10}{'rate':>11}{'remaining':>10}{'hits':>7}"
    for server in servers:
        cells = (
            (7, server.share, format_percent),
            (10, server.cached_bytes, format_size),
            (11, server.bytes_per_second or None, format_rate),
            (10, server.seconds, format_duration),
            (7, server.hit_ratio, format_percent),
        )
        figures = "".join(f"{'-' if value is None else text(value):>{width}}" for width, value, text in cells)
        line = f"  {server.instance:<19}{figures}  {server.verdict}".rstrip()
        yield line
        if server.reason:
            yield Paragraph(text=server.reason, indent=4)
    yield "all", summary(servers)
