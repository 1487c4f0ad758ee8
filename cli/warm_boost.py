"""`warmbase warm boost` raises the throughput of the cache volumes for a fill; schedules restore it afterwards."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Final, TypedDict, Unpack

import click
from msgspec import Struct

from changes.planned_cluster import deployable_cluster
from cli.boost_text import LEVELS, limits_text
from cli.options import chosen_cluster, cluster_option, confirm, dry_run_option, environment_argument, yes_option
from cli.page_entry import page_entry
from cli.progress import TerminalProgress
from cli.raised_volumes import boost_warnings, volumes_text
from cli.terminal import echo
from cli.unit_text import DURATION
from configurations.launch import Launch
from environments.reader import read_environment
from operations.basis import refuse_moved
from operations.boost_state import BoostState
from operations.boosting import BoostEnd, CacheBoost
from operations.cluster_boost import ClusterBoost, cluster_boost
from operations.description import DescribedCluster
from operations.identity import environment_aws
from operations.lock import environment_lock
from operations.plan_drift import read_running_cluster
from operations.progress import Stage, carry_out
from operations.warming import Servers, read_progress, refuse_uncached
from sizing.boost import Boost, FillTime, ServerFill
from sizing.problem import InvalidInput, Refused
from sizing.units import format_duration, format_percent, format_usd
from sizing.warming import Gate, missing_fraction

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
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, options["cluster"]).name).launch
    refuse_uncached(launch)
    aws = environment_aws(read, os.environ)
    running = read_running_cluster(aws, launch).cluster
    control = cluster_boost(aws, launch, running)
    control.refuse_undeployed()
    state = control.state()
    if options["end"]:
        proposed = _end(control, state)
    else:
        chosen = fill_boost(launch, options["level"], read_progress(aws, launch, running.id, Gate()))
        proposed = _boost(control, state, chosen, options["seconds"])
    if proposed is None:
        echo(f"{launch.plan.cluster}: no cache volume is raised")
        return
    stages, lines = proposed
    echo(
        "\n".join(
            [f"{launch.plan.cluster}: {running.id}, {running.state}", *_current(environment, running, state), *lines]
        )
    )
    if options["dry_run"]:
        return
    if not options["yes"]:
        confirm("Restore them?" if options["end"] else "Raise them?")
    with environment_lock(aws, read, "warm boost"):
        refuse_moved(state.basis, control.state().basis)
        carry_out(stages, TerminalProgress())


Proposed = tuple[Iterator[Stage], list[str]]
"""The stages, and the lines that propose them."""


def _end(control: ClusterBoost, state: BoostState) -> Proposed | None:
    """Return the end of a boost; None if nothing is raised or scheduled."""
    if not state.raised and not state.ways_back:
        return None
    throughput_mib_s, iops = control.launch_provision
    provision = f"{throughput_mib_s:,} MiB/s and {iops:,} IOPS"
    text = f"restore {len(state.raised)} volumes to {provision}, and delete the schedules"
    return BoostEnd(control=control).stages(), page_entry("proposed", text)


def _boost(control: ClusterBoost, state: BoostState, chosen: FillBoost, wanted: float | None) -> Proposed:
    """Return the boost. Raises Refused where a volume cannot be raised."""
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
    return boost.stages(), list(_proposal(chosen, state, seconds))


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


def _current(environment: str, cluster: DescribedCluster, state: BoostState) -> Iterator[str]:
    yield from page_entry("current", volumes_text(state))
    for warning in boost_warnings(state, environment):
        yield from page_entry("", warning)
    nodes = cluster.groups["core"].running
    if len(state.volumes) < nodes:
        yield from page_entry("", f"only {len(state.volumes)} cache volumes were found on {nodes} core nodes")


def _proposal(chosen: FillBoost, state: BoostState, seconds: float) -> Iterator[str]:
    boost = chosen.boost
    raised = f"{boost.throughput_mib_s:,} MiB/s and {boost.iops:,} IOPS for {format_duration(seconds)}"
    remark = f"{len(state.raised)} volumes are raised already: only their schedules change"
    extended = f"; {remark}" if state.raised else ""
    yield from page_entry("proposed", f"{raised}{extended}")
    yield from page_entry("why", chosen.why)
    yield from page_entry(
        "restore",
        "automatic: one-time EventBridge schedules restore each volume at the end, and try again 6 and 24 hours later,"
        " because EC2 refuses while it is still applying the increase",
    )
    hours = seconds / HOUR_SECONDS
    yield from page_entry(
        "cost", f"{format_usd(boost.usd_per_hour)} an hour, {format_usd(hours * boost.usd_per_hour)} in all (estimate)"
    )
