"""Every judgement has a consequence in a plan that is written down here, so no constant changes unseen.

A row names a constant and what follows from it for one workload: a figure of the plan, or a term of its explanation.
When a judgement is changed on purpose, its rows change in the same commit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import (
    CLOSED,
    PINNED,
    RELAXED,
    REQUIREMENTS,
    SYSTEM,
    WORLD,
    gp3_volume,
    with_core,
    with_targets,
    with_workload,
)
from warmbase.facts.releases import releases
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.hfile.family_totals import estimate, strata
from warmbase.sizing.cache.bucket_cache import CacheDemand, largest_cached_compaction_bytes
from warmbase.sizing.calculator import plan
from warmbase.sizing.gp3 import Provisions
from warmbase.sizing.modes import HDFS, S3_PLAIN
from warmbase.sizing.plan import Plan
from warmbase.sizing.recovery.boost import boosts
from warmbase.sizing.recovery.region_assignment import region_bound
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.server.memory import Heap, NotEnoughMemory, split_memory
from warmbase.sizing.server.restart import ClientSettings, client_settings, reopening
from warmbase.sizing.server.system_volume import heap_dump_bytes
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import OpenLoad, Reads


def pinned_core(instance_type: str, count: int, *, throughput_mib_s: int = 125) -> Requirements:
    return with_core(
        RELAXED, type=instance_type, count=count, volumes=(gp3_volume("cache", 1_000, throughput_mib_s), SYSTEM)
    )


def clients(p99_seconds: float) -> ClientSettings:
    return client_settings(planned("prod").restart, p99_seconds, retains=True)


def on_one_type(requirements: Requirements, instance_type: str, count: int) -> Requirements:
    return with_core(requirements, type=instance_type, count=count)


def reads(per_second: float, **changes: object) -> Reads:
    return Reads(load=OpenLoad(reads_per_second=per_second), **changes)  # type: ignore[arg-type]


CASES: dict[str, Requirements] = {
    "prod": on_one_type(REQUIREMENTS, "r8g.xlarge", 11),
    "three nodes": on_one_type(with_workload(RELAXED, stored_bytes=100 * GIB, regions=30), "r8g.xlarge", 3),
    "quiet": on_one_type(
        with_workload(RELAXED, stored_bytes=20 * GIB, write_bytes_per_second=0, reads=reads(10)), "r8g.xlarge", 2
    ),
    "pinned": PINNED,
    "one hundred cores": pinned_core("r8g.24xlarge", 4),
    "large answers": pinned_core("r8g.4xlarge", 12),
    "half cached": on_one_type(
        with_workload(with_targets(RELAXED, hit_ratio=0.5), stored_bytes=30 * TIB), "r8g.2xlarge", 6
    ),
    "plain": on_one_type(replace(RELAXED, mode=S3_PLAIN), "r8g.2xlarge", 6),
    "hdfs": on_one_type(replace(RELAXED, mode=HDFS), "r8g.2xlarge", 30),
    "no node lost": on_one_type(with_targets(RELAXED, lost_nodes=0), "r8g.2xlarge", 6),
    "sixty nodes": on_one_type(with_workload(RELAXED, stored_bytes=40 * TIB), "r8g.xlarge", 60),
    "compressed": on_one_type(with_workload(RELAXED, codec="zstd", compression_ratio=3.0), "r8g.2xlarge", 30),
    "closed": with_workload(PINNED, reads=CLOSED),
    "overloaded": with_workload(RELAXED, reads=reads(10**9)),
    "busy": on_one_type(with_workload(RELAXED, reads=reads(2_000)), "r8g.4xlarge", 8),
    "loud": on_one_type(with_workload(RELAXED, write_bytes_per_second=20 * MIB), "r8g.4xlarge", 8),
}
CASES["large answers"] = with_workload(CASES["large answers"], row_bytes=20 * MIB, reads=reads(20))
CASES["enormous answers"] = with_workload(CASES["large answers"], row_bytes=300 * MIB, reads=reads(0.1))
CASES["few reads"] = with_workload(CASES["prod"], reads=reads(10))
CASES["full volume"] = with_core(PINNED, volumes=(gp3_volume("cache", 200), SYSTEM))
CASES["tiny"] = with_workload(CASES["quiet"], stored_bytes=100 * MIB, regions=2)
CASES["three nodes lost"] = with_targets(CASES["prod"], lost_nodes=3, p99_seconds=None)
CASES["many small reads"] = with_workload(CASES["busy"], row_bytes=KIB, reads=reads(20_000), stored_bytes=500 * GIB)
CASES["few regions"] = with_workload(CASES["loud"], regions=60, stored_bytes=TIB)
CASES["large cells"] = with_workload(CASES["half cached"], cell_bytes=30 * KIB)
CASES["own drives, long blocks"] = with_core(
    with_targets(with_workload(RELAXED, block_bytes=128 * KIB), hit_ratio=0.5), type="i8g.xlarge", count=6
)
CASES["own drives, short blocks"] = with_workload(
    with_core(RELAXED, type="i8g.4xlarge", count=4),
    block_bytes=KIB,
    cell_bytes=100,
    row_bytes=KIB,
    stored_bytes=100 * GIB,
)
CASES["small nodes"] = on_one_type(
    with_workload(replace(RELAXED, mode=HDFS), stored_bytes=TIB, reads=reads(100)), "r6g.xlarge", 10
)
CASES["cells of 1 MiB"], CASES["cells of 15 MiB"] = (
    on_one_type(
        with_workload(RELAXED, cell_bytes=size, row_bytes=size, stored_bytes=TIB, reads=reads(5)), "r8g.8xlarge", 6
    )
    for size in (MIB, 15 * MIB)
)
CASES["few hdfs nodes"] = with_workload(with_core(CASES["hdfs"], count=5), regions=3_000, stored_bytes=5 * TIB)
CASES["small rows"] = with_workload(CASES["prod"], row_bytes=2 * KIB)
CASES["written"] = on_one_type(with_workload(RELAXED, write_bytes_per_second=400 * MIB), "r8g.4xlarge", 20)
CASES["written in few regions"] = with_workload(CASES["written"], regions=20)
CASES["written to its limits"] = with_workload(pinned_core("r8g.16xlarge", 3), write_bytes_per_second=2 * GIB)
CASES["written and compressed"] = with_workload(CASES["written"], codec="zstd", compression_ratio=3.0)
CASES["written by day"] = on_one_type(
    with_workload(RELAXED, write_bytes_per_second=6 * MIB, regions=30), "r8g.4xlarge", 9
)
CASES["written to a small table"] = with_workload(CASES["written by day"], stored_bytes=50 * GIB)
for encoding in ("PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"):
    CASES[encoding] = on_one_type(with_workload(RELAXED, encoding=encoding), "r8g.2xlarge", 30)


@cache
def planned(case: str, label: str = WORLD.release.label) -> Plan:
    return plan(CASES[case], replace(WORLD, release=releases()[label]))


def figure(path: str, case: str = "prod") -> Callable[[], object]:
    """Return the figure at that path of the plan for that case."""
    return lambda: planned(case).figure(path)


def term(path: str, name: str, case: str = "prod") -> Callable[[], object]:
    """Return an input of the explanation of that figure."""
    return lambda: planned(case).because[path].inputs[name].value


def demand(resource: str, case: str = "prod") -> Callable[[], object]:
    """The amount of a resource that one read takes."""
    return lambda: next(item.demand_per_read for item in planned(case).throughput.resources if item.name == resource)


def writing(resource: str, case: str = "written") -> Callable[[], object]:
    """The amount of a resource that one written byte takes."""
    return lambda: next(item.demand_per_byte for item in planned(case).writes.resources if item.name == resource)


def write_capacity(resource: str, case: str = "written") -> Callable[[], object]:
    """The amount of a resource that is left for writes."""
    return lambda: next(item.capacity for item in planned(case).writes.resources if item.name == resource)


def cost(item: str, case: str = "prod") -> Callable[[], object]:
    """Return a line of the bill, in dollars a month."""
    return lambda: next(line.usd_per_month for line in planned(case).cost.lines if line.item == item)


def point(index: int, case: str = "prod") -> Callable[[], object]:
    """Return the hit ratio at one point of the curve."""
    return lambda: planned(case).hit_ratio.curve[index][1]


def largest_count_with_usual_primaries() -> int:
    def usual(count: int) -> bool:
        requirements = with_workload(RELAXED, stored_bytes=TIB, reads=reads(100))
        sized = plan(on_one_type(requirements, "r8g.xlarge", count), WORLD)
        return sized.primary.instance_type == planned("prod").primary.instance_type

    return max(count for count in range(48, 53) if usual(count))


def largest_heap_mib() -> int:
    """Return the largest heap, in steps of 16 MiB, of a RegionServer on 32 GiB."""
    largest = 0
    for xmx_mib in range(18_000, 20_000, 16):
        try:
            split_memory(32 * GIB, Heap(xmx_mib=xmx_mib, collector="zgc", l1_fraction=0.1, memstore_fraction=0.1), 30)
        except NotEnoughMemory:
            return largest
        largest = xmx_mib
    return largest


def newer_index_bytes() -> int:
    """Return the persisted index with a release that also writes region and family of a block."""
    return plan(CASES["prod"], newer_world()).persistence.index_bytes


def newer_hit_ratio() -> float:
    """One point of the curve with a release that promotes a block when it is read again."""
    return plan(CASES["prod"], newer_world()).hit_ratio.curve[20][1]


def newer_world() -> World:
    return replace(WORLD, release=replace(WORLD.release, hbase=(2, 6, 5)))


def large_cells() -> CacheDemand:
    return SizingInputs.new(CASES["cells of 1 MiB"], WORLD).demand


def largest_slot_of_large_cells() -> int:
    return large_cells().sizes[-1]


def lists_in_caches() -> list[int]:
    """Return how many sizes caches of 1 to 12 GiB have."""
    return [len(large_cells().slots(gib * 1024)[0]) for gib in range(1, 13)]


def coarse_blocks(gib: int) -> Callable[[], object]:
    """Return the blocks of a cache of this many GiB, in bytes of a large cache."""
    return lambda: large_cells().effective_bytes(gib * 1024)


def most_data_of_a_node() -> int:
    """Return the most volumes of a node among clusters for more and more data in HDFS, on small nodes."""
    return max(hdfs_plan(tebibytes).core.volume("data").count for tebibytes in (30, 60, 90))


def fewest_hdfs_nodes() -> int:
    return hdfs_plan(90).core.count


@cache
def hdfs_plan(tebibytes: int) -> Plan:
    requirements = with_workload(CASES["hdfs"], stored_bytes=tebibytes * TIB, regions=3_000, reads=reads(10))
    return plan(with_core(requirements, type="r8g.4xlarge", count=None), WORLD)


def last_hour() -> float:
    return planned("prod").warm_up.curve[-1][0]


def last_moment(case: str) -> Callable[[], object]:
    """Return the hour and the hit ratio with which the course of cold caches ends."""
    return lambda: planned(case).bad_hours.cold.course[-1][:2]  # type: ignore[union-attr]


def most_iops() -> int:
    return Provisions.of(WORLD.instance_types["r8g.24xlarge"]).iops


def most_nodes() -> str:
    return planned("overloaded").nearest[0]


def blocks_by_encoding() -> tuple[object, ...]:
    return tuple(
        term("bucket_cache.size_mib", "blocks", encoding)()
        for encoding in ("PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1")
    )


SIZES = [1_000 * (1 + member % 7) for member in range(60)]


def sampled_strata() -> list[int]:
    return [len(stratum.members) for stratum in strata(SIZES, 20)]


def estimated(count: int, blocks: Callable[[int], float]) -> tuple[float, float, float]:
    drawn = strata(SIZES, count)
    sample = {member: blocks(member) for stratum in drawn for member in stratum.members[: stratum.count]}
    result = estimate(SIZES, drawn, sample)
    return result.value, result.low, result.high


def sampled_total() -> tuple[float, float, float]:
    return estimated(20, lambda member: SIZES[member] / 66 + member % 5)


def even_total() -> tuple[float, float, float]:
    return estimated(20, lambda member: SIZES[member] / 100)


def small_total() -> tuple[float, float, float]:
    return estimated(3, lambda member: SIZES[member] / 66 + member % 5)


def long_burst() -> float:
    return round(planned("pinned").warm_up.boosts[1].seconds, 1)


def levels_of_boosts() -> str:
    """Raising volumes of 290 MiB/s to the 298 MiB/s that the nodes sustain saves too little."""
    server = planned("pinned").warm_up.server
    assert server is not None
    faster = replace(server, volume=replace(server.volume, throughput_mib_s=290))
    return ", ".join(boost.level for boost in boosts(faster, WORLD.prices))


ROWS: list[tuple[str, Callable[[], object], object]] = [
    ("boost.BURST_SECONDS", long_burst, 2689.8),
    ("boost.LEAST_GAIN", levels_of_boosts, "burst"),
    ("boost.TIE_FRACTION", lambda: ", ".join(planned("prod").warm_up.boosts[1].limits), "s3-streams, volume"),
    ("block.OVERSHOOT_POINTS", term("bucket_cache.bucket_sizes", "claimed"), 69552.5),
    ("block.RATIO_POINTS", term("bucket_cache.nominal_block_bytes", "mean_length", "compressed"), 22019.192003038195),
    ("block.TAIL_POINTS", term("bucket_cache.nominal_block_bytes", "mean_length"), 65949.5947265625),
    ("evaluation.PRIMARY_TYPE", figure("primary.instance_type"), "m8g.xlarge"),
    ("evaluation.LARGE_PRIMARY_TYPE", figure("primary.instance_type", "sixty nodes"), "m8g.2xlarge"),
    ("evaluation.LARGE_CLUSTER_NODES", largest_count_with_usual_primaries, 50),
    ("evaluation.ALARMS_OF_NODES", cost("CloudWatch alarms"), 18.1),
    ("evaluation.NODE_METRICS", cost("CloudWatch metrics"), 108.3),
    ("evaluation.PRIMARY_VOLUMES", cost("primary system volumes"), 30.72),
    ("bucket_cache.WRITER_THREADS", term("heap.xmx_mib", "write_queues"), 270129540),
    ("bad_hours.LEAST_HOURS", last_hour, 24.0),
    ("region_server.WRITE_FRACTION", figure("call_queues.read_fraction", "one hundred cores"), 0.9),
    ("region_server.FEWEST_WRITERS", figure("call_queues.read_fraction", "few reads"), 0.73),
    ("region_server.MOST_WRITERS_FRACTION", figure("call_queues.read_fraction", "enormous answers"), 0.5),
    ("cold_start.LEAST_SHARE", figure("warm_up.prefetch_seconds"), 11629.869419916597),
    ("cold_start.LONGEST_HOURS", last_moment("half cached"), (24.76565315500135, 0.8877450557984474)),
    ("cold_start.NEARLY_WARM", last_moment("prod"), (3.2305192833101657, 1.0)),
    ("bucket_cache.QUEUED_BYTES", figure("bucket_cache.writer_queue_length", "cells of 1 MiB"), 31),
    ("bucket_cache.LONGEST_QUEUE", figure("bucket_cache.writer_queue_length"), 256),
    ("bucket_cache.SHORTEST_QUEUE", figure("bucket_cache.writer_queue_length", "cells of 15 MiB"), 4),
    ("bucket_sizes.MOST_LARGEST", largest_slot_of_large_cells, 64241408),
    ("bucket_sizes.LIST_LENGTHS", lists_in_caches, [6, 9, 9, 9, 9, 13, 13, 13, 13, 13, 13, 13]),
    ("bucket_sizes.COARSE_BUCKETS", coarse_blocks(24), 25556428202.159855),
    ("bucket_sizes.PROPORTIONAL_BUCKETS", coarse_blocks(120), 128748540031.16013),
    ("resource.PUT_BYTES", cost("S3 writes"), 8.000898478111633),
    ("cost.NONCURRENT_DAYS", cost("S3 old versions"), 226.8747924615216),
    ("cost.REQUEST_METRICS", cost("CloudWatch metrics"), 108.3),
    ("disks.FILL_FRACTION", figure("core.volumes.cache.size_gib"), 914),
    ("disks.PINNED_FILL_FRACTION", figure("bucket_cache.size_mib", "full volume"), 193536),
    ("disks.MIN_VOLUME_GIB", figure("core.volumes.cache.size_gib", "tiny"), 5),
    ("disks.HDFS_FILL_FRACTION", figure("core.volumes.data.size_gib", "hdfs"), 544),
    ("gp3.THROUGHPUT_STEP_MIB_S", figure("core.volumes.cache.throughput_mib_s", "busy"), 375),
    ("gp3.IOPS_STEP", figure("core.volumes.cache.iops", "many small reads"), 5500),
    ("gp3.MOST_IOPS", most_iops, 40_000),
    ("memory.MINIMUM_MIB", figure("heap.xmx_mib", "quiet"), 4096),
    ("memory.L1_SLACK", term("heap.xmx_mib", "on_heap_cache"), 929767794),
    ("memory.MINIMUM_FRACTION", figure("heap.l1_fraction", "quiet"), 0.05),
    ("memory.STEP_MIB", figure("heap.xmx_mib"), 11264),
    ("memory.RESTORED_ENTRY_BYTES", term("heap.xmx_mib", "cache_index"), 6460739280),
    ("hit_ratio.PEAK", figure("hit_ratio.predicted", "large cells"), 0.8719800779619992),
    ("gp3.EMR_MOST_VOLUMES", most_data_of_a_node, 12),
    ("system_volume.LONGEST_RECOVERY_SECONDS", fewest_hdfs_nodes, 34),
    ("system_volume.RECOVERY_FRACTION", figure("hdfs.recovery_seconds", "hdfs"), 415.6699895172645),
    ("system_volume.NAMENODE_HANDLERS_PER_LN", figure("hdfs.namenode_handlers", "hdfs"), 69),
    ("system_volume.STORE_FILES_PER_REGION", figure("hdfs.refreshes_per_second", "hdfs"), 32),
    ("system_volume.TRANSFERS_PER_REGION", figure("hdfs.transfer_threads", "few hdfs nodes"), 8000),
    ("restart.INDEX_BYTES_PER_BLOCK", figure("persistence.index_bytes"), 1003807455),
    ("inputs.LEAST_AMPLIFICATION", term("bad_hours.initial_load_seconds", "network"), 859375000.0),
    ("inputs.UTILISATION", figure("core.volumes.cache.throughput_mib_s", "busy"), 375),
    ("performance.READS", figure("throughput.p99_latency_ms", "plain"), 2663.8356520718066),
    ("performance.SEED", figure("throughput.p99_latency_ms", "plain"), 2663.8356520718066),
    ("performance.S3_MEDIAN_SECONDS", figure("throughput.p50_latency_ms", "plain"), 2136.545512861981),
    ("performance.S3_SIGMA", figure("throughput.p99_latency_ms", "plain"), 2663.8356520718066),
    ("performance.DISK_SIGMA", figure("throughput.p99_latency_ms"), 133.48148087557774),
    ("memory.DAEMON_BYTES", figure("memory.parts.page_cache"), 11716578508),
    ("memory.SYSTEM_BYTES", figure("memory.parts.page_cache"), 11716578508),
    ("memory.YARN_MIB", figure("memory.parts.page_cache"), 11716578508),
    ("memory.JVM_FIXED_BYTES", figure("memory.parts.page_cache"), 11716578508),
    ("memory.JVM_FRACTION", figure("memory.parts.page_cache"), 11716578508),
    ("memory.NETTY_BYTES", figure("memory.parts.direct"), 1114636288),
    ("memory.PAGE_CACHE_FRACTION", largest_heap_mib, 19184),
    ("bad_hours.REPLACEMENT_SECONDS", figure("bad_hours.replaced_node.launch_seconds"), 600.0),
    ("restart.SPLIT_BYTES_PER_SECOND", figure("bad_hours.lost_node.split_seconds"), 64.0470588684082),
    ("restart.SPLIT_START_SECONDS", figure("bad_hours.lost_node.split_seconds"), 64.0470588684082),
    ("read.MIXED_SHARE", demand("ebs-throughput"), 926045.7717751586),
    ("restart.CHUNK_BLOCKS", term("heap.xmx_mib", "index_dump"), 200000000),
    ("restart.CHUNK_HEAP_BYTES_PER_BLOCK", term("heap.xmx_mib", "index_dump"), 200000000),
    ("restart.DUMP_SECONDS_PER_BLOCK", figure("restart.stop_seconds"), 28.7143968),
    ("restart.DUMP_TIME_FRACTION", figure("persistence.interval_ms"), 600000),
    ("restart.SHORTEST_INTERVAL_MS", figure("persistence.interval_ms", "quiet"), 300000),
    ("restart.LONGEST_INTERVAL_MS", figure("persistence.interval_ms", "pinned"), 900000),
    ("restart.STOP_SECONDS", figure("persistence.stop_timeout_seconds"), 1258),
    ("restart.DUMPS_OF_STOP", figure("persistence.stop_timeout_seconds"), 1258),
    ("restart.COPIES_ON_DISK", figure("persistence.file_bytes"), 2007614910),
    ("restart.REGION_AND_FAMILY_BYTES_PER_BLOCK", newer_index_bytes, 1436283779),
    ("popularity.SINGLE_RANKS", point(10), 0.7550863479480177),
    ("popularity.RANK_RATIO", point(10), 0.7550863479480177),
    ("popularity.WEIGHT_RATIO", point(10), 0.7550863479480177),
    ("region_server.GET_BYTES", term("warm_up.prefetch_seconds", "streams"), 1222.4866309492895),
    ("hit_ratio.CLASSES", newer_hit_ratio, 0.8742752564854943),
    ("region_server.HANDLER_STEP", figure("handlers"), 140),
    ("region_server.ANSWERS_FRACTION", figure("handlers", "large answers"), 51),
    ("region_server.FEWEST_HANDLERS", figure("handlers", "enormous answers"), 10),
    ("region_server.S3_CONNECTIONS_PER_THREAD", figure("s3_connections", "one hundred cores"), 796),
    ("region_server.WRITING_THREADS", figure("s3_connections", "one hundred cores"), 796),
    ("region_server.PREFETCH_THREADS_PER_VCPU", figure("prefetch_threads", "one hundred cores"), 192),
    ("region_server.FEWEST_PREFETCH_THREADS", figure("prefetch_threads"), 16),
    ("region_server.S3_TRIP_SECONDS", figure("restart.opening_seconds"), 6.6),
    ("region_server.MOST_THREADS", figure("open_region_threads"), 20),
    ("restart.CALL_P99S", lambda: clients(p99_seconds=2.5).rpc_timeout_ms, 25_000),
    ("restart.SHORTEST_CALL_SECONDS", lambda: clients(p99_seconds=0.1).rpc_timeout_ms, 10_000),
    ("restart.RESERVE", lambda: clients(p99_seconds=0.1).retries, 36),
    ("bucket_cache.THRESHOLD_FRACTION", lambda: largest_cached_compaction_bytes(10 * GIB, 3, 100 * GIB), GIB),
    ("restart.BACKOFF_MS", lambda: reopening(240, 11, 0.15).seconds, 107.5),
    ("resource.NVME_IO_BYTES", demand("nvme-iops", "own drives, long blocks"), 16.509468981541055),
    ("resource.PARTIAL_PAGES_PER_FILL", demand("ebs-throughput", "half cached"), 943673.3692550255),
    ("resource.S3_GETS_PER_SECOND_PER_PREFIX", figure("s3.prefix_limit_fraction", "plain"), 0.6980910622975243),
    ("read.RPC_CPU_SECONDS", demand("cpu"), 0.0011673530209064483),
    ("read.BLOCK_CPU_SECONDS_PER_BYTE", demand("cpu"), 0.0011673530209064483),
    ("read.DECOMPRESS_CPU_SECONDS_PER_BYTE", demand("cpu", "compressed"), 0.002983051679879427),
    ("read.S3_GET_CPU_SECONDS", demand("cpu", "plain"), 0.0268651383929162),
    ("resource.DISK_LATENCY_SECONDS", demand("handlers"), 0.026250624138446126),
    ("read.S3_FIRST_BYTE_SECONDS", demand("handlers", "plain"), 2.135215579343317),
    ("read.S3_STREAM_BYTES_PER_SECOND", demand("handlers", "plain"), 2.135215579343317),
    ("restart.PRE_TOUCH_BYTES_PER_SECOND", figure("restart.pre_touch_seconds"), 5.5),
    ("restart.RESTORE_SECONDS_PER_LEVEL", figure("restart.restore_seconds"), 127.67451834481774),
    ("restart.BOOT_SECONDS", figure("restart.away_seconds"), 153.17451834481773),
    ("restart.S3_TRIPS_PER_REGION", figure("restart.opening_seconds"), 6.6),
    ("restart.RETAIN_WAIT_SECONDS", figure("restart.retention_window_seconds"), 409.55),
    ("workload.SPLIT_GROWTH", figure("regions.split_bytes"), 62 * GIB),
    ("restart.RETAIN_MARGIN", figure("restart.wait_for_servers_ms"), 230000),
    ("family_totals.LEAST_OF_STRATUM", sampled_strata, [9, 10, 13, 28]),
    ("family_totals.CONFIDENCE", sampled_total, (3655.71883116883, 3625.9964665969082, 3683.276059156666)),
    ("family_totals.LEAST_ERROR", even_total, (2340.0, 2338.72, 2341.28)),
    ("family_totals.FEWEST_DEGREES", small_total, (3590.025974025974, 3490.737358964501, 3732.0795515484974)),
    ("region_assignment.SLACK", lambda: region_bound(240, 10), 29),
    ("search.MOST_NODES", most_nodes, "92,112 reads/s (184 x i8g.24xlarge, $1,409,718 a month)"),
    ("popularity.PLACEMENTS", figure("throughput.busiest_server.requests"), 1.567683436336177),
    ("popularity.SINGLE", figure("throughput.busiest_server.requests"), 1.567683436336177),
    ("popularity.REMEMBERED_BYTES", figure("throughput.busiest_server.blocks"), 1.0260727822196218),
    ("export.STREAM_BYTES_PER_SECOND", figure("snapshot.export_seconds"), 17954.525103570453),
    ("export.NETWORK_FRACTION", figure("snapshot.restore_seconds", "small nodes"), 2814.74976710656),
    ("workload.BLOOM_BYTES_PER_ROW", term("heap.l1_fraction", "indexes_and_blooms", "small rows"), 1205588937.4),
    ("workload.LEAF_INDEX_ENTRY_BYTES", term("heap.l1_fraction", "indexes_and_blooms"), 743814234.9),
    ("workload.LARGEST_CELL_MULTIPLE", term("bucket_cache.bucket_sizes", "longest"), 73270),
    (
        "workload.COMPRESSION_SPREAD",
        term("bucket_cache.bucket_sizes", "claimed", "compressed"),
        23400.833333333332,
    ),
    ("warm_up.CPU_SECONDS_PER_BLOCK", term("warm_up.prefetch_seconds", "processor"), 421.3572579256811),
    (
        "warm_up.FSYNC_SECONDS",
        term("warm_up.prefetch_seconds", "filling", "own drives, short blocks"),
        58.003671128317826,
    ),
    ("system_volume.HEAP_DUMP_GIB", lambda: heap_dump_bytes(64), 24 * GIB),
    ("system_volume.FILL_FRACTION", figure("core.volumes.system.size_gib", "written"), 132),
    ("system_volume.SYSTEM_GIB", figure("core.volumes.system.size_gib"), 64),
    ("system_volume.FEWEST_LOG_COPIES", figure("hdfs_replication", "no node lost"), 2),
    ("system_volume.SPARE_COPIES", figure("hdfs_replication", "three nodes lost"), 4),
    ("writes.MOST_FLUSHERS", figure("writes.settings.flushers", "written to its limits"), 16),
    ("writes.MOST_COMPACTIONS_PER_VCPU", figure("writes.settings.small_compactions", "written to its limits"), 127),
    ("writes.DAY_LIMIT_BYTES", figure("writes.settings.day_limit_bytes"), 2147483648),
    ("writes.FILES_OF_A_DAY", figure("writes.settings.day_limit_bytes", "written by day"), 5368709120),
    ("writes.COPIES_OF_A_REGION", figure("writes.settings.day_limit_bytes", "written"), 66571993088),
    ("writes.CELL_CPU_SECONDS", writing("cpu"), 2.438239397586645e-07),
    ("writes.BYTE_CPU_SECONDS", writing("cpu"), 2.438239397586645e-07),
    ("writes.CODEC_CPU_SECONDS", writing("cpu", "written and compressed"), 2.9035169150896584e-07),
    ("writes.UPLOAD_STREAMS", write_capacity("flushes", "written in few regions"), 5630355.747531705),
    ("writes.S3_TRIPS_PER_FILE", write_capacity("flushes"), 5114523.618443166),
    ("writes.SHORTEST_FLUSH_SECONDS", figure("writes.settings.flush_size_bytes", "written"), 268435456),
    ("writes.MOST_FLUSH_BYTES", figure("writes.settings.flush_size_bytes", "written in few regions"), 536870912),
    ("writes.FLUSH_INTERVAL_SECONDS", term("heap.xmx_mib", "memstore"), 1301221136),
    ("writes.MINIMUM_MEMSTORE_BYTES", term("heap.xmx_mib", "memstore", "quiet"), 536870912),
    ("writes.LOWER_LIMIT", figure("writes.settings.lower_limit"), 0.85),
    ("system_volume.OTHER_FILES_GIB", figure("core.volumes.system.size_gib", "written"), 132),
    (
        "writes.ENCRYPTED_BYTE_CPU_SECONDS",
        figure("writes.encryption_cpu_fraction", "hdfs"),
        0.09471817924389539,
    ),
    ("writes.LOG_IO_BYTES", writing("log-iops"), 5.9937692680007244e-05),
    ("writes.REQUESTS_PER_FILE", writing("s3-puts"), 1.465457866425201e-07),
    ("workload.ROW_KEY_BYTES", term("heap.l1_fraction", "indexes_and_blooms"), 743814234.9),
    ("workload.FAMILY_BYTES", term("heap.l1_fraction", "indexes_and_blooms"), 743814234.9),
    ("workload.QUALIFIER_BYTES", term("heap.l1_fraction", "indexes_and_blooms"), 743814234.9),
    ("workload.ENCODED_KEY_FRACTION", blocks_by_encoding, (127072168, 131051250, 131051250, 119108292)),
]


@pytest.mark.parametrize(("constant", "consequence", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_judgement_has_its_consequence(constant: str, consequence: Callable[[], object], expected: object) -> None:
    assert constant
    value = consequence()
    assert value == (pytest.approx(expected, rel=1e-9) if not isinstance(expected, str) else expected)


NO_FIGURE = {
    "warmth.RATE_MINUTES": "how far back the rate of a running fill looks; test_warming holds the remaining time",
    "warmth.LEAST_MINUTES": "how many minutes a rate needs; test_warming holds the remaining time",
    "warmth.LEAST_GROWTH": "which growth of a running cache counts; test_warming holds the verdicts",
    "warmth.LEAST_RISE": "which rise of a measured hit ratio counts; test_warming holds the verdicts",
    "warmth.RATIO_MINUTES": "over how many minutes a hit ratio is measured; test_warming holds the verdicts",
    "workload.LEAST_REGIONS": "how many regions a draft assumes; test_region_size holds the rule",
    "bad_hours.BLOCKING_FILES": "a setting of a table during its load; test_initial_load_script holds it",
    "search.FINEST_FRACTION": "how few caches are still tried; test_search tries random ones",
    "cost_grid.SIZE_STEP": "how finely sizes are searched; test_search holds the winner against an exhaustive search",
    "cost_grid.SPEED_STEP": "how finely speeds are searched; test_search holds the winner against an exhaustive search",
    "search.RUNNER_UP_CANDIDATES": "how long the runner-up is looked for, which only explains the winner",
    "alternatives.CANDIDATES": "how long advice is looked for; test_alternatives holds what a cut search returns",
    "alternatives.LEAST_READS_PER_SECOND": "what a nearest answer must at least serve; no plan is that small",
    "alternatives.FIRST_FACTOR": "the first step of the search for the best target; only the time depends on it",
    "alternatives.LEAST_HIT_RATIO": "what a nearest answer must at least hit; no plan is that small",
    "alternatives.LONGER": "how closely the shortest duration is found; test_relaxations holds both sides of it",
    "alternatives.STEP": "how closely the best target is found; test_relaxations holds both sides of it",
    "regret.MISSED_FACTOR": "an option of the command; test_regret holds its arithmetic",
    "alternatives.SLACK": "how exactly the others keep their hits; test_several_tables holds the cost of a table",
    "workload.MOST_LENGTHS": "how finely lengths are told apart; test_several_tables holds their mean",
    "growth.ASSUMED_GROWTH": "the growth of a table for which none is stated; test_growth holds it",
    "growth.WORTHWHILE_FRACTION": "when a new cluster is proposed; test_growth holds what is bought otherwise",
    "regret.SHUFFLES": "how well chance is known; test_regret holds what an input without influence is worth",
    "cost_grid.NEARLY_MET": "when the planned cache is tried, too; test_fitting_cache holds that plans still serve",
    "regret.VARIANTS": "how many volumes are tried; test_deciding compares the proposal with plans of samples",
    "bucket_sizes.BOUND_PASSES": "how fast bucket sizes are found; which, test_bucket_sizes holds against brute force",
    "warm_up.STEPS_PER_POINT": "how finely warm-up is computed; test_warm_up holds it against the closed form",
    "warmth.RESTART_HOURS": "where the plot of the first day has its restart; test_first_day holds it",
    "warmth.LOSS_HOURS": "where the plot of the first day has its lost node; test_first_day holds it",
    "hit_ratio.KNEE_RISE": "the knee is printed beside the curve, and no figure follows from it",
    "bucket_cache.LAST_CHORDS": "how well a search knows hit ratios; test_cache_volumes holds them against exact ones",
    "hit_ratio.GRID_POINTS": "where Halley's step starts; where it ends, test_hit_ratio holds against a replay",
}
"""Judgements without a consequence in a plan, each with the reason."""
ADVICE = {"warning"}
"""Modules whose judgements decide what is said beside a plan; their own tests have a case on either side of each."""
BLOCK_ADVICE = {
    f"alternatives.{name}" for name in ("BLOCK_SIZES", "WORTHWHILE_FRACTION", "ASSUMED_RATIO", "ASSUMED_CODEC")
}
"""Judgements of the advice about block sizes, which has tests of the same kind."""


def judgements() -> set[str]:
    """Return the constants of sizing whose comment or docstring calls them a judgement."""
    return {
        f"{module.stem}.{name}"
        for module in (Path(__file__).parents[2] / "warmbase" / "sizing").rglob("*.py")
        if module.stem not in ADVICE
        for name in marked(module.read_text())
    }


def marked(source: str) -> set[str]:
    lines, body, result = source.splitlines(), ast.parse(source).body, set()
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        above = statement.lineno - 2
        text = lines[statement.lineno - 1 : statement.end_lineno]
        while above >= 0 and lines[above].startswith("#"):
            text.append(lines[above])
            above -= 1
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text.append(str(following.value.value))
        if "judgement" in " ".join(text):
            result.add(statement.target.id)
    return result


def test_every_judgement_has_a_row() -> None:
    assert judgements() - {row[0] for row in ROWS} - set(NO_FIGURE) - BLOCK_ADVICE == set()
