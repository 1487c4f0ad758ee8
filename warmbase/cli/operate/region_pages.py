"""The pages of the commands that move, restart, reopen or compact regions: each shows its proposal before it asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from warmbase.cli.operate.running import RunningCluster
from warmbase.cli.page import Part, Row
from warmbase.cli.size.plan_summary import LEAST_USD
from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import UNCACHED_FLAGS, planned_tables
from warmbase.facts.prices import price_table
from warmbase.ground.units import format_duration, format_percent, format_rate, format_size, format_usd
from warmbase.operations.cluster.hbase_control import StoredRegion
from warmbase.operations.cluster.journals import TableChange
from warmbase.operations.hbase.cache_heal import LEAST_GETS, MOVE_SECONDS, Heal, HealProposal, moves_by_target
from warmbase.operations.hbase.compaction_waves import CompactionWaves, next_wave, wave_sizes
from warmbase.operations.hbase.heal import LocalityHeal, LocalityProposal, ServerLocality
from warmbase.operations.hbase.rolling_restart import AvailableRestart, RestartProposal, RollingRestart, restart_order
from warmbase.operations.hbase.tables import TableChanges, TableProposal
from warmbase.sizing.recovery.region_assignment import CacheBlocks, second_copies
from warmbase.sizing.server.region_server import S3_TRIP_SECONDS
from warmbase.sizing.server.restart import reopening

# judgement: the shell of a step starts in 20 s, and EMR starts a step within 20 s.
STEP_SECONDS: Final = 40


def heal_page(running: RunningCluster, proposal: HealProposal, heal: Heal) -> Iterator[Part]:
    """Yield the regions that are away from their blocks, the moves that bring them home, and their cost."""
    yield running.title
    homes = proposal.state.homes
    text = (
        f"{len(proposal.state.servers)} RegionServers; {proposal.at_home(homes)} of {len(proposal.regions)} regions are"
        f" where their blocks are cached: {format_size(proposal.home_bytes)} of {format_size(proposal.cached_bytes)}"
    )
    yield "current", text
    oldest = max((cache.age_seconds for cache in proposal.contents.values()), default=0.0)
    yield "indexes", f"the oldest was written {format_duration(oldest)} ago"
    if proposal.interrupted:
        yield "continues", "a heal that was interrupted"
    elif not proposal.has_work:
        yield (
            "proposed",
            f"nothing to gain: no move would save more than {LEAST_GETS} GETs, or make room in a cache",
        )
        return
    titles = [stage.title for stage in heal.stages(proposal)]
    for number, title in enumerate(titles):
        yield "" if number else "proposed", title
    if proposal.moves:
        yield from _moves(proposal)
    seconds = proposal.move_seconds + len(titles) * STEP_SECONDS
    most = "moves and pauses" if proposal.move_seconds > seconds / 2 else "EMR steps to start"
    yield "time", f"{format_duration(seconds)}, most of it for {most} (estimate)"
    yield (
        "offline",
        "each region for a few seconds while it moves, and again while its table is reopened; clients retry",
    )
    yield "dollars", "nothing"


def _moves(proposal: HealProposal) -> Iterator[Row]:
    """Yield how many regions go where, and what that gains."""
    counts = proposal.state.region_counts
    for number, (server, moves) in enumerate(moves_by_target(proposal.moves).items()):
        yield ("" if number else "moves", f"{moves} to {server}, which has {counts.get(server, 0)} regions now")
    yield "bound", f"no move gives a RegionServer more than {proposal.bound} regions"
    healed = format_size(proposal.home_bytes + proposal.gained_bytes)
    text = (
        f"afterwards, {healed} of {format_size(proposal.cached_bytes)} are cached where their region is open:"
        f" {format_size(proposal.gained_bytes)} more than now"
    )
    yield "cache", text
    if proposal.freed_bytes:
        yield ("", f"{format_size(proposal.freed_bytes)} of second copies in other caches make room for other blocks")
    text = (
        f"{proposal.gets_saved:,} GETs saved, one for each block that reads would fetch again; the moves cost a few"
        " GETs for each store file"
    )
    yield "s3", text


# judgement: the page shows the servers with the lowest locality, because a cluster may have hundreds.
SERVERS_ON_PAGE: Final = 12


def locality_page(running: RunningCluster, proposal: LocalityProposal, heal: LocalityHeal) -> Iterator[Part]:
    """Yield the locality of each RegionServer on HDFS, the replicas that would move, and the time."""
    yield running.title
    total = proposal.locality.total
    text = (
        f"{len(proposal.locality.servers)} RegionServers; {_local(total)} in the store files of their regions is on"
        " their own hosts"
    )
    yield "current", text
    if not total.moves:
        yield "proposed", "nothing to gain: no replica can be moved to the host of its RegionServer"
    else:
        yield from _replica_moves(proposal, heal)
    if away_bytes := total.bytes - total.local_bytes - total.moved_bytes:
        text = (
            f"{format_size(away_bytes)} cannot be made local: every replica is on a host where another region needs"
            " it, or the DataNode would be more than 90 % full"
        )
        yield "remote", text


def _replica_moves(proposal: LocalityProposal, heal: LocalityHeal) -> Iterator[Row]:
    servers = sorted(proposal.locality.servers.items(), key=lambda entry: (entry[1].local_fraction, entry[0]))
    lacking = [(name, server) for name, server in servers if server.moves]
    for number, (name, server) in enumerate(lacking[:SERVERS_ON_PAGE]):
        moved = f"{server.moves:,} replicas ({format_size(server.moved_bytes)})"
        yield "" if number else "servers", f"{name}: {_local(server)} is local; {moved} move to it"
    if lacking[SERVERS_ON_PAGE:]:
        yield "", f"and {len(lacking) - SERVERS_ON_PAGE} more"
    stages = list(heal.stages(proposal))
    for number, stage in enumerate(stages):
        yield "" if number else "proposed", stage.title
    total, rate = proposal.locality.total, proposal.bandwidth_bytes_per_second
    text = (
        f"{format_size(total.moved_bytes)} between DataNodes, each with {format_rate(rate)} for what it sends and"
        " receives; the number of replicas does not change"
    )
    yield "network", text
    seconds = proposal.seconds + len(stages) * STEP_SECONDS
    yield ("time", f"{format_duration(seconds)}, {format_duration(proposal.seconds)} of it for moves (estimate)")
    yield ("offline", "nothing: regions stay open, and their RegionServers read from the new locations within 30 s")
    yield "dollars", "nothing"


def _local(locality: ServerLocality) -> str:
    return f"{format_percent(locality.local_fraction)} of {format_size(locality.bytes)}"


# judgement: two whole minutes after the regions are back, and one until CloudWatch shows the figures.
GATE_SECONDS: Final = 180


def restart_page(running: RunningCluster, proposal: RestartProposal, rolled: RollingRestart) -> Iterator[Part]:
    """Yield the cluster now, what a rolling restart does to it, and what that costs."""
    launch = running.launch
    state, journal = proposal.state, proposal.journal
    yield running.title
    balancer = "on" if state.balancer_is_on else "off"
    yield ("current", f"{len(state.servers)} RegionServers with {len(state.homes)} regions; the balancer is {balancer}")
    starts = state.servers if journal is None else journal.starts
    remaining = unfinished(proposal, rolled)
    if journal is not None:
        restarted = f"{len(starts) - len(remaining)} of {len(starts)} RegionServers were restarted"
        yield "continues", f"a restart that was interrupted: {restarted}"
    finished = {title for server in starts if server not in remaining for title in rolled.titles(server)}
    titles = [stage.title for stage in rolled.stages(state) if stage.title not in finished]
    for number, title in enumerate(titles):
        yield "" if number else "proposed", title
    if isinstance(rolled, AvailableRestart):
        yield from _available_cost(proposal, rolled, launch)
    else:
        servers = len(remaining)
        timing = launch.plan.restart
        one, offline = timing.seconds, timing.seconds - timing.stop_seconds
        gate, plural = format_duration(GATE_SECONDS), "s" * (servers != 1)
        text = (
            f"{format_duration(servers * (one + GATE_SECONDS))}: {servers} RegionServer{plural}"
            f" one after the other, {format_duration(one)} each, and up to {gate} until its hit ratio"
            " is published (estimate)"
        )
        yield "time", text
        text = (
            f"the regions of the server that restarts, for {format_duration(offline)} (estimate); the master waits up"
            f" to {format_duration(timing.retention_window_seconds)} for it before it moves them"
        )
        yield "offline", text
        yield "cache", "kept: each server finds its own again"
        yield "dollars", "nothing"


def unfinished(proposal: RestartProposal, rolled: RollingRestart) -> tuple[str, ...]:
    """Return, in the order of the restart, the servers that still have to restart or to get their regions back."""
    state, journal = proposal.state, proposal.journal
    order = restart_order(state, journal)
    if journal is None:
        return order
    has_finished = journal.finished if rolled.available else journal.restarted
    return tuple(server for server in order if not has_finished(server, state))


def _available_cost(proposal: RestartProposal, rolled: AvailableRestart, launch: Launch) -> Iterator[Row]:
    """Yield what it costs to keep the regions available, computed from the cache indexes and the plan."""
    state, servers, homes = proposal.state, unfinished(proposal, rolled), _homes(proposal)
    regions = sum(home in servers for home in homes.values())
    timing = launch.plan.restart
    tables = [table.change.seconds for table in planned_tables(launch)]
    one = 2 * MOVE_SECONDS * regions / max(1, len(servers)) + timing.seconds + 3 * STEP_SECONDS + GATE_SECONDS
    text = (
        f"{format_duration(len(servers) * one + sum(tables))}: {len(servers)} RegionServers one after the other,"
        f" {format_duration(one)} each, and the reopening of tables (estimate); a restart in place would take"
        f" {format_duration(len(servers) * (timing.seconds + GATE_SECONDS))}"
    )
    yield "time", text
    text = (
        f"each region for about {MOVE_SECONDS} s (estimate) when it moves away, when it moves back, and when it is"
        " reopened; clients retry"
    )
    yield "offline", text
    caches = rolled.cache_blocks(state.servers, homes, lambda _: None)
    yield from _copies(caches, [server for server in servers if server in caches], launch)


def _homes(proposal: RestartProposal) -> Mapping[str, str]:
    return proposal.state.homes if proposal.journal is None else proposal.journal.homes


def _copies(caches: Mapping[str, CacheBlocks], order: list[str], launch: Launch) -> Iterator[Row]:
    """Yield what the caches of the other servers read and evict during the restart."""
    cache = launch.plan.bucket_cache
    copies = second_copies(caches, order, cache.blocks_held if cache else 0)
    text = (
        f"about {format_size(copies.size_bytes)} of second copies in the caches of other servers, which stay there"
        " until they are evicted"
    )
    yield "cache", text
    if copies.evicted_blocks:
        text = (
            f"the caches have no room for all of them: about {copies.evicted_blocks:,} blocks are evicted, and each"
            " is read from S3 again when it is needed"
        )
        yield "", text
    else:
        yield "", "the caches have room for them, so no block is evicted"
    text = (
        f"about {copies.gets:,} GETs: one for each block that a cache does not have, because S3A does not read ahead;"
        " a restart in place costs a few GETs for each store file"
    )
    yield "s3", text
    usd = copies.gets * price_table(launch.environment.region).usd("s3-get")
    price = format_usd(usd) if usd >= LEAST_USD else f"less than {format_usd(LEAST_USD)}"
    yield "dollars", f"{price}, for the GETs (estimate)"


# judgement: the stages of a table read the state of the cluster, change it, and read it again.
STEPS_OF_A_TABLE: Final = 8
NEW_FILES: Final = "applies to files that are written from now on"
REOPENED: Final = "applies when a region is reopened"
NOT_SET: Final = "not set"
EFFECTS: Final = {
    "BLOCKSIZE": NEW_FILES,
    "BLOOMFILTER": f"{NEW_FILES}; NONE also applies to existing files when a region is reopened",
    "DATA_BLOCK_ENCODING": NEW_FILES,
    "COMPRESSION": NEW_FILES,
    "PREFETCH_BLOCKS_ON_OPEN": f"{REOPENED}, which reads its files into the cache",
    "CACHE_DATA_ON_WRITE": REOPENED,
    "EVICT_BLOCKS_ON_CLOSE": REOPENED,
    "BLOCKCACHE": f"{REOPENED}; if it becomes false, blocks stay in the cache until they are evicted",
    **dict.fromkeys(UNCACHED_FLAGS, REOPENED),
}
"""How each attribute takes effect. Source: HBase 2.6, HStore creates its CacheConfig, and a StoreFileWriter its
HFileContext, from the family with which its region was opened; a reader takes encoding and codec from the file, and
HStoreFile loads the filter of a file unless the family has NONE."""


def tables_page(running: RunningCluster, proposal: TableProposal, tables: TableChanges) -> Iterator[Part]:
    """Yield each difference of a table from the plan, how it takes effect, and what the change costs."""
    yield running.title
    changes, interrupted = proposal.changes, proposal.interrupted
    yield "current", f"{len(proposal.live.tables)} tables; {len(changes)} of them differ from the plan"
    if interrupted:
        yield "continues", f"a change of {interrupted.table} that was interrupted"
    elif not changes:
        yield "proposed", "nothing to do"
        return
    for change in changes:
        for family, attributes in change.before.items():
            yield "change", f"{change.table}:{family}"
            for name, value in attributes.items():
                wanted = change.wanted[family][name] or NOT_SET
                yield "", f"{name} {value or NOT_SET} -> {wanted}: {EFFECTS[name]}"
    for number, stage in enumerate(tables.stages(changes)):
        yield "" if number else "proposed", stage.title
    yield from _table_cost(proposal, running.launch)


def _table_cost(proposal: TableProposal, launch: Launch) -> Iterator[Row]:
    changes, servers = [*filter(None, [proposal.interrupted]), *proposal.changes], launch.plan.core.count
    batches = [reopening(proposal.regions[change.table], servers, S3_TRIP_SECONDS) for change in changes]
    seconds = sum(batch.seconds for batch in batches) + len(changes) * (
        STEPS_OF_A_TABLE * STEP_SECONDS + 2 * GATE_SECONDS
    )
    yield (
        "time",
        f"{format_duration(seconds)}, most of it for EMR steps to start and for hit ratios to be published (estimate)",
    )
    yield (
        "offline",
        f"each region for a few seconds while it is reopened, at most {servers} regions at a time; clients retry",
    )
    yield from _cache(changes)
    files = sorted({change.table for change in changes if _rewrites(change)})
    if files:
        text = (
            f"existing files keep their form until a major compaction rewrites them, which drops their cached"
            f" blocks: warmbase compact {launch.environment.name} {' '.join(files)}"
        )
        yield "files", text
    yield "dollars", "nothing"


def _cache(changes: Sequence[TableChange]) -> Iterator[Row]:
    """Yield whether cached blocks stay: when a region closes, the attributes from its last opening apply."""
    evicting = sorted(
        f"{change.table}:{family}"
        for change in changes
        for family, attributes in change.before.items()
        if attributes.get("EVICT_BLOCKS_ON_CLOSE") == "true"
    )
    if evicting:
        text = f"the blocks of {', '.join(evicting)} are lost: each region drops them when it closes for this change"
    else:
        text = "kept: a region finds its blocks again when it is reopened in place"
    yield "cache", text


def _rewrites(change: TableChange) -> bool:
    return any(EFFECTS[name].startswith(NEW_FILES) for attributes in change.wanted.values() for name in attributes)


# judgement: two whole minutes after a wave, and one until CloudWatch shows the figures.


def compact_page(running: RunningCluster, due: Mapping[str, StoredRegion], waves: CompactionWaves) -> Iterator[Part]:
    """Yield what a major compaction in waves compacts, how long that takes, and what stops it."""
    yield running.title
    tables = sorted({region.table for region in due.values()})
    size = format_size(sum(region.stored_bytes for region in due.values()))
    if not due:
        yield "current", "every region was compacted lately; there is nothing to do"
        return
    yield ("current", f"{len(due)} regions, {size} in all, were not compacted lately: {', '.join(tables)}")
    sizes, at_once = wave_sizes(due), len(next_wave(due))
    plural = f"{len(sizes)} waves" if len(sizes) > 1 else "1 wave"
    yield "proposed", f"{plural} of at most {at_once} regions: one of each RegionServer at a time"
    # The time is computed at the lowest rate to which HBase limits compactions.
    limit, plain = (
        running.launch.plan.writes.settings.compaction_lower_bytes,
        running.launch.environment.workload.compression_ratio,
    )
    seconds = [size * plain / limit + GATE_SECONDS for size in sizes]
    duration = (
        f"{format_duration(sum(seconds))}, at the {format_rate(limit)} to which HBase limits the compactions of a"
        f" RegionServer, with {format_duration(GATE_SECONDS)} for each wave until its hit ratios are published"
        " (estimate)"
    )
    yield "time", duration
    text = (
        "the blocks of a region's new files are cached again, and then its old blocks are dropped; the plan leaves"
        " room for one region of each server"
    )
    yield "cache", text
    text = (
        f"after each wave, every RegionServer must answer {format_percent(waves.floor)} of its reads from its cache"
        " again"
    )
    yield "floor", text
    yield "s3", f"{size} are read, from the caches as far as they hold them, and written"
