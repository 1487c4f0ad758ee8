"""The proposal of a rolling restart: the cluster now, what happens to it, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.page_entry import page_entry
from configurations.launch import Launch
from operations.description import DescribedCluster
from operations.environment_restart import RestartProposal
from operations.rolling_restart import RollingRestart, restart_title
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
    yield from page_entry(
        "current", f"{len(state.servers)} RegionServers with {len(state.homes)} regions; the balancer is {balancer}"
    )
    starts = state.servers if journal is None else journal.starts
    remaining = [server for server in starts if journal is None or not journal.restarted(server, state)]
    if journal is not None:
        restarted = f"{len(starts) - len(remaining)} of {len(starts)} RegionServers were restarted"
        yield from page_entry("continues", f"a restart that was interrupted: {restarted}")
    finished = {restart_title(server) for server in starts if server not in remaining}
    titles = [stage.title for stage in rolled.stages(state) if stage.title not in finished]
    for number, title in enumerate(titles):
        yield from page_entry("" if number else "proposed", title)
    yield from _cost(len(remaining), launch.plan.restart)


def _cost(servers: int, timing: Restart) -> Iterator[str]:
    """Yield what the restart of so many servers costs, by the plan."""
    one, offline = timing.seconds, timing.seconds - timing.stop_seconds
    gate, plural = format_duration(GATE_SECONDS), "s" * (servers != 1)
    yield from page_entry(
        "time",
        f"{format_duration(servers * (one + GATE_SECONDS))}: {servers} RegionServer{plural}"
        f" one after the other, {format_duration(one)} each, and up to {gate} until its hit ratio"
        " is published (estimate)",
    )
    yield from page_entry(
        "offline",
        f"the regions of the server that restarts, for {format_duration(offline)} (estimate); the master waits up to"
        f" {format_duration(timing.retention_window_seconds)} for it before it moves them",
    )
    yield from page_entry("cache", "kept: each server finds its own again")
    yield from page_entry("dollars", "nothing")
