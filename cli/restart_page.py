"""The proposal of a rolling restart: the cluster now, what happens to it, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cli.boost_text import LEAST_USD
from cli.heal_page import STEP_SECONDS
from cli.page_entry import page_entry
from configurations.launch import Launch
from configurations.table_ddl import planned_tables
from facts.prices import price_table
from operations.available_restart import AvailableRestart
from operations.description import DescribedCluster
from operations.environment_restart import RestartProposal
from operations.heal_proposal import MOVE_SECONDS
from operations.rolling_restart import RollingRestart, restart_order
from sizing.restart import Restart
from sizing.second_copies import CacheBlocks, second_copies
from sizing.units import format_duration, format_size, format_usd

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
    remaining = unfinished(proposal, rolled)
    if journal is not None:
        restarted = f"{len(starts) - len(remaining)} of {len(starts)} RegionServers were restarted"
        yield from page_entry("continues", f"a restart that was interrupted: {restarted}")
    finished = {title for server in starts if server not in remaining for title in rolled.titles(server)}
    titles = [stage.title for stage in rolled.stages(state) if stage.title not in finished]
    for number, title in enumerate(titles):
        yield from page_entry("" if number else "proposed", title)
    if isinstance(rolled, AvailableRestart):
        yield from _available_cost(proposal, rolled, launch)
    else:
        yield from _cost(len(remaining), launch.plan.restart)


def unfinished(proposal: RestartProposal, rolled: RollingRestart) -> tuple[str, ...]:
    """Return, in the order of the restart, the servers that still have to restart or to get their regions back."""
    state, journal = proposal.state, proposal.journal
    order = restart_order(state, journal)
    if journal is None:
        return order
    has_finished = journal.finished if rolled.available else journal.restarted
    return tuple(server for server in order if not has_finished(server, state))


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


def _available_cost(proposal: RestartProposal, rolled: AvailableRestart, launch: Launch) -> Iterator[str]:
    """Yield what it costs to keep the regions available, computed from the cache indexes and the plan."""
    state, servers, homes = proposal.state, unfinished(proposal, rolled), _homes(proposal)
    regions = sum(home in servers for home in homes.values())
    timing = launch.plan.restart
    tables = [table.change.seconds for table in planned_tables(launch)]
    one = 2 * MOVE_SECONDS * regions / max(1, len(servers)) + timing.seconds + 3 * STEP_SECONDS + GATE_SECONDS
    yield from page_entry(
        "time",
        f"{format_duration(len(servers) * one + sum(tables))}: {len(servers)} RegionServers one after the other,"
        f" {format_duration(one)} each, and the reopening of tables (estimate); a restart in place would take"
        f" {format_duration(len(servers) * (timing.seconds + GATE_SECONDS))}",
    )
    yield from page_entry(
        "offline",
        f"each region for about {MOVE_SECONDS} s (estimate) when it moves away, when it moves back, and when it is"
        " reopened; clients retry",
    )
    caches = rolled.cache_blocks(state.servers, homes, lambda _: None)
    yield from _copies(caches, [server for server in servers if server in caches], launch)


def _homes(proposal: RestartProposal) -> Mapping[str, str]:
    return proposal.state.homes if proposal.journal is None else proposal.journal.homes


def _copies(caches: Mapping[str, CacheBlocks], order: list[str], launch: Launch) -> Iterator[str]:
    """Yield what the caches of the other servers read and evict during the restart."""
    cache = launch.plan.bucket_cache
    copies = second_copies(caches, order, cache.blocks_held if cache else 0)
    yield from page_entry(
        "cache",
        f"about {format_size(copies.size_bytes)} of second copies in the caches of other servers, which stay there"
        " until they are evicted",
    )
    if copies.evicted_blocks:
        yield from page_entry(
            "",
            f"the caches have no room for all of them: about {copies.evicted_blocks:,} blocks are evicted, and each"
            " is read from S3 again when it is needed",
        )
    else:
        yield from page_entry("", "the caches have room for them, so no block is evicted")
    yield from page_entry(
        "s3",
        f"about {copies.gets:,} GETs: one for each block that a cache does not have, because S3A does not read ahead;"
        " a restart in place costs a few GETs for each store file",
    )
    usd = copies.gets * price_table(launch.environment.region).usd("s3-get")
    price = format_usd(usd) if usd >= LEAST_USD else f"less than {format_usd(LEAST_USD)}"
    yield from page_entry("dollars", f"{price}, for the GETs (estimate)")
