"""The bad hours of a cluster: its caches are cold, it has lost a node, or it is loaded for the first time.

A RegionServer that is lost for good takes its rows offline until others open its regions, and they refill its part of
the cache. A core node that EMR replaces must then get regions. HBase does not move regions when a server joins. The
next run of the balancer does, because a server without regions is a reason to balance whatever the imbalance costs. The
balancer does not run while the master processes a dead server or regions are in transition, so the new node also waits
until the rows of the lost one are online again.

Source: HBase 2.6.2 hbase-default.xml (hbase.balancer.period), HMaster.balance, ServerManager.areDeadServersInProgress,
HMaster.getMaxBalancingTime, BalancerChore, StochasticLoadBalancer.needsBalance (idleRegionServerExist); Amazon EMR
Management Guide, "Replacing unhealthy nodes".

The initial load is the least time that puts of all data take; the load settings say how to set the tables meanwhile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.sizing.modes import Mode
from warmbase.sizing.requirements import Volume
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server.cold_start import ColdStart
from warmbase.sizing.server.region_server import GET_BYTES, cold_start, fill_of, fill_seconds
from warmbase.sizing.server.system_volume import hdfs_replication
from warmbase.sizing.server.write_path import MOST_FILES
from warmbase.sizing.service.inputs import LEAST_AMPLIFICATION
from warmbase.sizing.service.performance import performance
from warmbase.sizing.workload.read import Hits

FEWEST_OTHERS: Final = 1


class LostNode(Struct, frozen=True, kw_only=True):
    """One core node crashes and never returns under its name, as on EMR.

    `rows_fraction` of the rows is offline for `offline_seconds`: until ZooKeeper gives the server up (`detection`), its
    log is split, the master stops waiting for it (`retention`) and other servers have opened its regions. With
    `meta_probability`, the node had `hbase:meta`. Then its rows are offline for `offline_with_meta_seconds`, and
    clients cannot find a region that they have not looked up before. `hit_ratio`, `reads_per_second` and
    `p99_latency_ms` are those of the other nodes once their caches are warm again; at first, the hit ratio is
    `cold_hit_ratio`. `refill_seconds` is how long a new node takes to prefetch its share.
    """

    rows_fraction: float
    meta_probability: float
    detection_seconds: float
    split_seconds: float
    retention_seconds: float
    opening_seconds: float
    offline_seconds: float
    offline_with_meta_seconds: float
    hit_ratio: float
    cold_hit_ratio: float
    reads_per_second: float
    p99_latency_ms: float
    refill_seconds: float


def lost_node(candidate: Candidate) -> LostNode | None:
    """Return the figures of a candidate that has lost one node; None for a single node."""
    others = candidate.count - 1
    if others < FEWEST_OTHERS:
        return None
    offline, reads = candidate.offline, candidate.performance(others)
    share, cluster = 1 / candidate.count, replace(candidate.cluster(candidate.count), servers=1)
    refill = 0.0
    if candidate.cache_mib:
        mine = candidate.share_of(candidate.count)
        refill = fill_seconds(candidate.inputs.demand, mine, cluster, candidate.prefetch_threads).seconds
    return LostNode(
        rows_fraction=share,
        meta_probability=share,
        detection_seconds=offline.detection_seconds,
        split_seconds=offline.split_seconds,
        retention_seconds=offline.retention_seconds,
        opening_seconds=offline.opening_seconds,
        offline_seconds=offline.seconds,
        offline_with_meta_seconds=offline.seconds + offline.meta_seconds,
        hit_ratio=candidate.hit_ratio(others),
        cold_hit_ratio=others / candidate.count * candidate.hit_ratio(candidate.count),
        reads_per_second=reads.load.reads_per_second,
        p99_latency_ms=reads.percentiles.p99_ms,
        refill_seconds=refill,
    )


# judgement: AWS publishes no time. EMR notices that an instance is gone, launches another one, runs the bootstrap
# actions and installs Hadoop and HBase, which takes about as long as the launch of a cluster. This is an ESTIMATE. A
# node that runs but is unhealthy is replaced after 45 minutes, and has up to an hour more to be decommissioned.
REPLACEMENT_SECONDS: Final = 600.0
BALANCER_MS: Final = 300_000
"""`hbase.balancer.period`, and `hbase.balancer.max.balancing`: one run moves regions for at most this time. It balances
the regions of all tables together (`hbase.master.loadbalance.bytable` is off), and the master, which is no server of
the plan, takes none (`hbase.balancer.tablesOnMaster`)."""
BALANCER_SECONDS: Final = BALANCER_MS / 1000
FEWEST_NODES: Final = 2
CANDIDATES: Final = 16  # whose cold nodes are cached: several figures of a plan come from one course


class ReplacedNode(Struct, frozen=True, kw_only=True):
    """EMR replaces a core node whose instance is lost with an empty one; times are estimates, one after the other.

    The new node runs after `launch_seconds`. Another `regions_seconds` later, the rows of a lost node that had
    `hbase:meta` are online and the balancer has moved `regions` to the new node. After another `warm_seconds` it has
    prefetched its share beside the load; `seconds` is the sum. While its cache is empty, the cluster has `hit_ratio`
    and `p99_latency_ms`, and serves `reads_per_second`. Until the cache is warm, the node sends `gets` to S3 that it
    would not send with a warm cache.
    """

    launch_seconds: float
    regions_seconds: float
    warm_seconds: float
    seconds: float
    regions: float
    hit_ratio: float
    reads_per_second: float
    p99_latency_ms: float
    gets: float


def replaced_node(candidate: Candidate) -> ReplacedNode | None:
    """Return the figures of a candidate whose lost node EMR replaces; None for a single node."""
    if candidate.count < FEWEST_NODES:
        return None
    nodes, warm, offline = candidate.count, warm_seconds(candidate), candidate.offline
    balanced = max(REPLACEMENT_SECONDS, offline.seconds + offline.meta_seconds) + 2 * BALANCER_SECONDS
    hit_ratio = candidate.hit_ratio(nodes)
    if candidate.inputs.mode.keeps_data_in_s3:
        hit_ratio *= (nodes - 1) / nodes
    reads = performance(
        candidate.inputs, candidate.cluster(nodes), Hits(ratio=hit_ratio), vcpus=candidate.instance.vcpus
    )
    served = candidate.performance(nodes).load.reads_per_second
    if (cold := cold_node(candidate)) is not None:
        served = ((nodes - 1) * served + min(served, cold.served(0.0).reads_per_second)) / nodes
    return ReplacedNode(
        launch_seconds=REPLACEMENT_SECONDS,
        regions_seconds=balanced - REPLACEMENT_SECONDS,
        warm_seconds=warm,
        seconds=balanced + warm,
        regions=candidate.inputs.requirements.workload.regions / nodes,
        hit_ratio=hit_ratio,
        reads_per_second=served,
        p99_latency_ms=reads.percentiles.p99_ms,
        gets=_gets(candidate, served * (candidate.hit_ratio(nodes) - hit_ratio)) if warm else 0.0,
    )


def _gets(candidate: Candidate, missing_per_second: float) -> float:
    """Return the GETs until the new node is warm: those of its prefetch, and one for each block that its reads miss.

    So many reads a second miss at first; a prefetch fills the cache evenly, so half as many miss on average.
    """
    fill = fill_of(candidate.inputs.demand, candidate.share_of(candidate.count))
    read = candidate.inputs.read
    misses = missing_per_second * read.cacheable * read.blocks * warm_seconds(candidate) / 2
    return fill.s3_bytes / GET_BYTES + misses


def warm_seconds(candidate: Candidate) -> float:
    """Return how long a single cold node takes to prefetch its share beside its reads; 0 without a cache."""
    cold = cold_node(candidate)
    return cold.course.prefetch_seconds if cold else 0.0


@lru_cache(maxsize=CANDIDATES)
def cold_node(candidate: Candidate) -> ColdStart | None:
    """Return a cluster in which every node warms up like a single one; None without a cache.

    A single cold node has S3's request limit for itself, so each node of this cluster has a limit of its own.
    """
    if not candidate.cache_mib or candidate.disk is None:
        return None
    cluster = candidate.cluster(candidate.count)
    alone = replace(cluster, s3_prefixes=cluster.s3_prefixes * cluster.servers)
    return cold_start(candidate.inputs, candidate.share_of(candidate.count), alone, candidate.prefetch_threads)


COMPACTED_FILES: Final = MOST_FILES  # hbase.hstore.compaction.max: a compaction merges as many as it may
BLOCKING_FILES: Final = 200  # judgement: a load may leave many files, which one major compaction merges afterwards


class LoadSetting(Struct, frozen=True, kw_only=True):
    """A setting of a table while it is loaded.

    `usual` is HBase's default of an attribute, None for a key of the configuration. The way back restores the value
    that the table had.
    """

    key: str
    value: str
    usual: str | None
    reason: str


LOAD_SETTINGS: Final = (
    LoadSetting(
        key="DURABILITY",
        value="SKIP_WAL",
        usual="USE_DEFAULT",
        reason="puts do not wait for the write-ahead log; after a crash of a server, start the load again",
    ),
    LoadSetting(
        key="SPLIT_ENABLED",
        value="false",
        usual="true",
        reason="a table that has all its regions from the start need not split during the load",
    ),
    LoadSetting(
        key="hbase.hstore.compaction.min",
        value=str(COMPACTED_FILES),
        usual=None,
        reason="compactions merge more files at a time, so the load rewrites its data less often",
    ),
    LoadSetting(
        key="hbase.hstore.blockingStoreFiles",
        value=str(BLOCKING_FILES),
        usual=None,
        reason="puts do not wait for compactions",
    ),
    LoadSetting(
        key="hbase.hregion.majorcompaction",
        value="0",
        usual=None,
        reason="no periodic major compaction begins during the load",
    ),
)
CACHE_SETTINGS: Final = (
    LoadSetting(
        key="hbase.rs.cacheblocksonwrite",
        value="false",
        usual=None,
        reason="flushed blocks do not fill the cache, because compactions soon replace their files",
    ),
    LoadSetting(
        key="hbase.rs.prefetchblocksonopen",
        value="false",
        usual=None,
        reason="files are not read back from S3 during the load; the way back reopens regions, and prefetches them",
    ),
)


def load_bytes(candidate: Candidate) -> float:
    """Return the bytes of cells that clients put: the stored data before compression."""
    workload = candidate.inputs.requirements.workload
    return workload.stored_bytes * workload.compression_ratio


def log_bytes_per_second(candidate: Candidate) -> float:
    """Return the rate at which all logs accept cells; each cell is written once for each of its copies in HDFS."""
    system: Volume = next(volume for volume in candidate.layout.volumes if volume.purpose == "system")
    copies = hdfs_replication(candidate.inputs, candidate.count)
    return candidate.count * min(system.bytes_per_second, candidate.instance.ebs_sustained_bytes_per_second) / copies


def network_bytes_per_second(candidate: Candidate) -> float:
    """Return the rate at which the network carries cells: the log's other copies, the flush and compactions go out."""
    workload = candidate.inputs.requirements.workload
    copies = hdfs_replication(candidate.inputs, candidate.count)
    sent = copies - 1 + LEAST_AMPLIFICATION * candidate.inputs.mode.data_copies / workload.compression_ratio
    return candidate.count * candidate.instance.network_sustained_bytes_per_second / max(1.0, sent)


def initial_load_seconds(candidate: Candidate) -> float:
    """Return the least time of a load, at the slower of the two rates."""
    return load_bytes(candidate) / min(log_bytes_per_second(candidate), network_bytes_per_second(candidate))


def initial_load_settings(mode: Mode) -> tuple[LoadSetting, ...]:
    """Return what to set on each table while it is loaded; nothing is cached in a mode without a cache."""
    return (*LOAD_SETTINGS, *(CACHE_SETTINGS if mode.has_bucket_cache else ()))


class ColdHours(Struct, frozen=True, kw_only=True):
    """All nodes with empty caches under the load, as after a launch or a change of the cache's size.

    `reads_per_second` and `gets_per_second` are the rates at the start, and `bottleneck` limits them. An open load is
    served in full after `carried_seconds`, from `least_hit_ratio` on; both are None if that never happens, and for a
    closed load. `course` has (hours, hit ratio, reads a second).
    """

    reads_per_second: float
    gets_per_second: float
    bottleneck: str
    least_hit_ratio: float | None
    carried_seconds: float | None
    course: tuple[tuple[float, float, float], ...]


class BadHours(Struct, frozen=True, kw_only=True):
    """The bad hours of a cluster; `cold` is None without a cache, the figures of a node are None for a single node.

    `initial_load_seconds` is a bound for loading all data by puts, by what the network and the log's volume carry.
    `initial_load_settings` are the settings of the tables meanwhile.
    """

    cold: ColdHours | None
    lost_node: LostNode | None
    replaced_node: ReplacedNode | None
    initial_load_seconds: float
    initial_load_settings: tuple[LoadSetting, ...]


def bad_hours(candidate: Candidate) -> BadHours:
    """Return the bad hours of a candidate with all its nodes."""
    return BadHours(
        cold=_cold_hours(candidate),
        lost_node=lost_node(candidate),
        replaced_node=replaced_node(candidate),
        initial_load_seconds=initial_load_seconds(candidate),
        initial_load_settings=initial_load_settings(candidate.inputs.mode),
    )


def _cold_hours(candidate: Candidate) -> ColdHours | None:
    start = candidate.cold
    if start is None:
        return None
    now = start.served(0.0)
    return ColdHours(
        reads_per_second=now.reads_per_second,
        gets_per_second=now.reads_per_second * start.read.blocks if candidate.inputs.mode.keeps_data_in_s3 else 0.0,
        bottleneck=now.bottleneck,
        least_hit_ratio=start.least_hit_ratio,
        carried_seconds=start.course.carried_seconds,
        course=start.course.points,
    )
