"""Advice beside the plan: cheaper block sizes and codecs, the cost of each table, and the price of another cache size.

Each trial of another block size or codec is a search of its own, limited to clusters that are cheaper than the plan's,
so it ends early where none is. A longer search is cut short; what it has found is advice, too, although a cheaper
cluster may exist. The blocks of inspected store files are known, so nothing else is tried for them. Nothing else is
tried for several tables either, because each of them could have its own setting.

The cost of a table is how much less a cluster that never had it would cost.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from warmbase.ground.prices import PriceTable
from warmbase.ground.units import KIB, MIB
from warmbase.sizing import gp3
from warmbase.sizing.plan import Alternative, CoreGroup, Plan, PlannedTable
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.search.search import Search
from warmbase.sizing.server.memory import NotEnoughMemory
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import Workload, stored_blocks

BLOCK_SIZES: Final = tuple(kibibytes * KIB for kibibytes in (8, 16, 32, 64, 128))
WORTHWHILE_FRACTION: Final = 0.05  # judgement: less than 5 % of the bill is not worth a major compaction of every table
# judgement: the ratio is not known before a table is compressed; text and JSON shrink to half their size or less.
ASSUMED_RATIO: Final = 2.0
ASSUMED_CODEC: Final = "zstd"
CANDIDATES: Final = 900  # judgement: about 0.2 s; nine in ten searches end sooner, and others return their best so far


def alternatives(requirements: Requirements, world: World, sized: Plan) -> tuple[Alternative, ...]:
    """Return the settings that save at least 5 % of the bill, the cheapest first; none for a pinned cluster."""
    if requirements.cluster.core.pinned or not sized.feasible or requirements.workload.has_names:
        return ()
    workload, usd_per_month = requirements.workload, sized.cost.usd_per_month
    sizes = [size for size in BLOCK_SIZES if size != workload.block_bytes and size > workload.cell_bytes]
    trials = [("BLOCKSIZE", replace(workload, block_bytes=size)) for size in sizes]
    if not workload.compressed:
        stored_bytes = round(workload.stored_bytes / ASSUMED_RATIO)
        compressed = replace(workload, codec=ASSUMED_CODEC, compression_ratio=ASSUMED_RATIO, stored_bytes=stored_bytes)
        trials.append(("COMPRESSION", compressed))
    targets = replace(requirements.targets, budget_usd_per_month=usd_per_month * (1 - WORTHWHILE_FRACTION))
    cheaper = []
    for setting, tried in trials:
        inputs = SizingInputs.new(replace(requirements, workload=tried, targets=targets), world)
        try:
            best = Search(inputs=inputs).cheapest_serving(CANDIDATES)
        except NotEnoughMemory:
            continue
        if best is not None:
            server = best.candidate.region_server
            cheaper.append(
                Alternative(
                    setting=setting,
                    block_bytes=tried.block_bytes,
                    codec=tried.codec,
                    compression_ratio=tried.compression_ratio,
                    instance_type=best.candidate.instance.name,
                    count=best.candidate.count,
                    heap_mib=server.heap.xmx_mib,
                    restart_seconds=server.restart.seconds,
                    usd_per_month=best.usd_per_month,
                    saving_usd_per_month=usd_per_month - best.usd_per_month,
                )
            )
    return tuple(sorted(cheaper, key=attrgetter("usd_per_month")))


SLACK: Final = 1e-3
"""judgement: a hit ratio or a p99 that is worse by a thousandth counts as the same, because both are estimates."""


def tables_with_cost(requirements: Requirements, world: World, sized: Plan) -> tuple[PlannedTable, ...]:
    """Return the tables of a plan, each with how much less the cheapest cluster for the others would cost.

    The others keep the hit ratio and the p99 that they have in the plan. Tables share nodes and cache, so these costs
    do not add up to the bill. They stay None for a pinned cluster, whose bill is always the same, for a plan that
    misses its targets, and if there is only one table.
    """
    if len(sized.tables) == 1 or requirements.cluster.core.pinned or not sized.meets_targets:
        return sized.tables
    planned = {table.name: table for table in sized.tables}
    with_cost = []
    for name, table_as_planned in planned.items():
        others = [table for table in requirements.workload.tables if table.name != name]
        reads = [
            table.cached * planned[table.name].reads_per_second * stored_blocks(table).per_read for table in others
        ]
        hits = sum(read * planned[table.name].hit_ratio for read, table in zip(reads, others, strict=True))
        p99_seconds = requirements.targets.p99_seconds
        if p99_seconds is not None:
            slowest_seconds = max(planned[table.name].p99_latency_ms for table in others) / 1000
            p99_seconds = max(p99_seconds, slowest_seconds * (1 + SLACK))
        hit_ratio = hits / (sum(reads) or 1.0) * (1 - SLACK)
        targets = replace(requirements.targets, hit_ratio=hit_ratio, p99_seconds=p99_seconds)
        needs = replace(requirements, workload=Workload.of(others), targets=targets)
        try:
            best = Search(inputs=SizingInputs.new(needs, world)).cheapest_serving()
        except NotEnoughMemory:
            best = None
        usd_saved = None if best is None else max(0.0, sized.cost.usd_per_month - best.usd_per_month)
        with_cost.append(replace(table_as_planned, usd_per_month=usd_saved))
    return tuple(with_cost)


def cache_price(plan: Plan, prices: PriceTable) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the largest useful cache of the whole cluster.

    The result is empty without a cache on EBS volumes.
    """
    if plan.bucket_cache is None:
        return ()
    planned_bytes = plan.core.count * plan.bucket_cache.size_mib * MIB
    return group_cache_price(plan.core, planned_bytes, plan.hit_ratio.curve[-1][0], prices)


def group_cache_price(
    group: CoreGroup, planned_bytes: int, useful_bytes: int, prices: PriceTable
) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the larger of both sizes.

    The price is linear between them: nodes, IOPS and throughput of the volumes are those of the group, whose caches
    have `planned_bytes`, and the volumes grow with the cache. The result is empty without a cache on EBS volumes,
    because the price of an instance includes its NVMe drives.
    """
    if (volume := group.volume("cache")).type == "nvme":
        return ()
    planned_usd = group.count * gp3.usd_per_month(volume, prices)
    larger = replace(volume, size_gib=volume.size_gib + 1)
    usd_per_gib = group.count * gp3.usd_per_month(larger, prices) - planned_usd
    usd_per_byte = usd_per_gib * volume.size_gib / planned_bytes
    most_bytes = max(planned_bytes, useful_bytes)
    return tuple((size, planned_usd + (size - planned_bytes) * usd_per_byte) for size in (0, most_bytes))
