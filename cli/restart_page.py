"""The proposal of a rolling restart: the cluster now, what happens to it, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from cli.change_lines import WIDTH
from configurations.launch import Launch
from operations.description import DescribedCluster
from operations.environment_restart import RestartProposal
from operations.rolling_restart import RollingRestart, restart_title
from reports.amounts import printable
from sizing.restart import Restart
from sizing.units import format_duration

# judgement: two whole minutes after the regions are back, and one until CloudWatch shows the figures.
GATE_SECONDS: Final = 180


def restart_page(
    cluster: DescribedCluster, proposal: RestartProposal, rolled: RollingRestart, launch: Launch
) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns, as far as the names of servers and tables allow."""
    state, journal = proposal.state, proposal.journal
    yield f"{launch.plan.cluster}: {cluster.id}, {cluster.state}"
    balancer = "on" if state.balancer_is_on else "off"
    yield from _entry(
        "current", f"{len(state.servers)} RegionServers with {len(state.homes)} regions; the balancer is {balancer}"
    )
    starts = state.servers if journal is None else journal.starts
    remaining = [server for server in starts if journal is None or not journal.restarted(server, state)]
    if journal is not None:
        restarted = f"{len(starts) - len(remaining)} of {len(starts)} RegionServers were restarted"
        yield from _entry("continues", f"a restart that was interrupted: {restarted}")
    finished = {restart_title(server) for server in starts if server not in remaining}
    titles = [stage.title for stage in rolled.stages(state) if stage.title not in finished]
    for number, title in enumerate(titles):
        yield from _entry("" if number else "proposed", title)
    yield from _cost(len(remaining), launch.plan.restart)


def _cost(servers: int, timing: Restart) -> Iterator[str]:
    """Yield what the restart of so many servers costs, by the plan."""
    one, offline = timing.seconds, timing.seconds - timing.stop_seconds
    gate, plural = format_duration(GATE_SECONDS), "s" * (servers != 1)
    yield from _entry(
        "time",
        f"{format_duration(servers * (one + GATE_SECONDS))}: {servers} RegionServer{plural}"
        f" one after the other, {format_duration(one)} each, and up to {gate} until its hit ratio"
        " is published (estimate)",
    )
    yield from _entry(
        "offline",
        f"the regions of the server that restarts, for {format_duration(offline)} (estimate); the master waits up to"
        f" {format_duration(timing.retention_window_seconds)} for it before it moves them",
    )
    yield from _entry("cache", "kept: each server finds its own again")
    yield from _entry("dollars", "nothing")


def _entry(name: str, text: str) -> list[str]:
    return wrap(
        printable(text),
        WIDTH,
        initial_indent=f"  {name:<10}",
        subsequent_indent=" " * 12,
        break_on_hyphens=False,
        break_long_words=False,
    )
