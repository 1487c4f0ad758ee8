"""The bad hours of a cluster: its caches are cold, it has lost a node, or it is loaded for the first time.

A RegionServer that is lost for good takes its rows offline until others open its regions, and they refill its part of
the cache. A core node that EMR replaces must then get regions. HBase does not move regions when a server joins. The
next run of the balancer does, because a server without regions is a reason to balance whatever the imbalance costs. The
balancer does not run while the master processes a dead server or regions are in transition, so the new node also waits
until the rows of the lost one are online again.

Source: HBase 2.6.2 hbase-default.xml (hbase.balancer.period), HMaster.balance, ServerManager.areDeadServersInProgress,
HMaster.getMaxBalancingTime, BalancerChore, StochasticLoadBalancer.needsBalance (idleRegionServerExist); Amazon EMR
Management Guide, "Replacing unhealthy nodes".

The warm-up from cold caches is shown with the reads of the load, and without them for one server. The initial load is
the least time that puts of all data take; the load settings say how to set the tables meanwhile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.cache.warm_up import Streams
from warmbase.sizing.plan import BadHours, ColdHours, LoadSetting, LostNode, ReplacedNode, WarmUp
from warmbase.sizing.recovery.boost import NodeRates, ServerFill, boosts
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server.cold_start import ColdStart
from warmbase.sizing.server.region_server import GET_BYTES, cold_start, fill_of, fill_seconds
from warmbase.sizing.server.system_volume import hdfs_replication
from warmbase.sizing.server.writes import MOST_FILES, rest
from warmbase.sizing.service.inputs import LEAST_AMPLIFICATION
from warmbase.sizing.service.performance import performance
from warmbase.sizing.service.resource import S3_GETS_PER_SECOND_PER_PREFIX
from warmbase.sizing.workload.read import Hits

# judgement: AWS publishes no time. EMR notices that an instance is gone, launches another one, runs the bootstrap
# actions and installs Hadoop and HBase, which takes about as long as the launch of a cluster. This is an ESTIMATE. A
# node that runs but is unhealthy is replaced after 45 minutes, and has up to an hour more to be decommissioned.
REPLACEMENT_SECONDS: Final = 600.0
BALANCER_MS: Final = 300_000
"""`hbase.balancer.period`, and `hbase.balancer.max.balancing`: one run moves regions for at most this time. It balances
the regions of all tables together (`hbase.master.loadbalance.bytable` is off), and the master, which is no server of
the plan, takes none (`hbase.balancer.tablesOnMaster`)."""
BALANCER_SECONDS: Final = BALANCER_MS / 1000
CANDIDATES: Final = 16  # whose cold nodes are cached: several figures of a plan come from one course
LEAST_HOURS: Final = 24.0  # judgement: a curve over twice the prefetch time, and over a day at least, shows its end
COMPACTED_FILES: Final = MOST_FILES  # hbase.hstore.compaction.max: a compaction merges as many as it may
BLOCKING_FILES: Final = 200  # judgement: a load may leave many files, which one major compaction merges afterwards

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


def bad_hours(candidate: Candidate) -> BadHours:
    """Return the bad hours of a candidate; a single node cannot be lost."""
    inputs, nodes, start, cold = candidate.inputs, candidate.count, candidate.cold, None
    if start is not None:
        now = start.served(0.0)
        cold = ColdHours(
            reads_per_second=now.reads_per_second,
            gets_per_second=now.reads_per_second * start.read.blocks if inputs.mode.keeps_data_in_s3 else 0.0,
            bottleneck=now.bottleneck,
            least_hit_ratio=start.least_hit_ratio,
            carried_seconds=start.course.carried_seconds,
            course=start.course.points,
        )
    return BadHours(
        cold=cold,
        lost_node=_lost_node(candidate) if nodes > 1 else None,
        replaced_node=_replaced_node(candidate) if nodes > 1 else None,
        # The slower of the two rates decides.
        initial_load_seconds=load_bytes(candidate)
        / min(log_bytes_per_second(candidate), network_bytes_per_second(candidate)),
        initial_load_settings=(*LOAD_SETTINGS, *(CACHE_SETTINGS if inputs.mode.has_bucket_cache else ())),
    )


def _lost_node(candidate: Candidate) -> LostNode:
    offline, others = candidate.offline, candidate.count - 1
    share, reads, refill = 1 / candidate.count, candidate.performance(others), 0.0
    if candidate.cache_mib:
        mine, alone = candidate.share_of(candidate.count), replace(candidate.cluster(candidate.count), servers=1)
        refill = fill_seconds(candidate.inputs.demand, mine, alone, candidate.region_server.prefetch_threads).seconds
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


def _replaced_node(candidate: Candidate) -> ReplacedNode:
    inputs, nodes, warm, offline = candidate.inputs, candidate.count, warm_seconds(candidate), candidate.offline
    balanced = max(REPLACEMENT_SECONDS, offline.seconds + offline.meta_seconds) + 2 * BALANCER_SECONDS
    warm_ratio = hit_ratio = candidate.hit_ratio(nodes)
    if inputs.mode.keeps_data_in_s3:
        hit_ratio *= (nodes - 1) / nodes
    reads = performance(inputs, candidate.cluster(nodes), Hits(ratio=hit_ratio), vcpus=candidate.instance.vcpus)
    served = candidate.performance(nodes).load.reads_per_second
    if (cold := _cold_node(candidate)) is not None:
        served = ((nodes - 1) * served + min(served, cold.served(0.0).reads_per_second)) / nodes
    gets = 0.0
    if warm:
        # Count the GETs until the node is warm: those of its prefetch, and one for each block that its reads miss. A
        # prefetch fills the cache evenly, so on average half as many reads miss as at first.
        missing_per_second = served * (warm_ratio - hit_ratio)
        misses = missing_per_second * inputs.read.cacheable * inputs.read.blocks * warm / 2
        gets = fill_of(inputs.demand, candidate.share_of(nodes)).s3_bytes / GET_BYTES + misses
    return ReplacedNode(
        launch_seconds=REPLACEMENT_SECONDS,
        regions_seconds=balanced - REPLACEMENT_SECONDS,
        warm_seconds=warm,
        seconds=balanced + warm,
        regions=inputs.requirements.workload.regions / nodes,
        hit_ratio=hit_ratio,
        reads_per_second=served,
        p99_latency_ms=reads.percentiles.p99_ms,
        gets=gets,
    )


def warm_seconds(candidate: Candidate) -> float:
    """Return how long a single cold node takes to prefetch its share beside its reads; 0 without a cache."""
    cold = _cold_node(candidate)
    return cold.course.prefetch_seconds if cold else 0.0


@lru_cache(maxsize=CANDIDATES)
def _cold_node(candidate: Candidate) -> ColdStart | None:
    """Return a cluster in which every node warms up like a single one; None without a cache.

    A single cold node has S3's request limit for itself, so each node of this cluster has a limit of its own.
    """
    if not candidate.cache_mib or candidate.data_volume is None:
        return None
    cluster, share = candidate.cluster(candidate.count), candidate.share_of(candidate.count)
    alone = replace(cluster, s3_prefixes=cluster.s3_prefixes * cluster.servers)
    return cold_start(candidate.inputs, share, alone, candidate.region_server.prefetch_threads)


def warm_up(candidate: Candidate) -> WarmUp:
    """Return how cold caches on all nodes warm up while they serve reads; without a cache, nothing warms up."""
    start, servers = candidate.cold, candidate.count
    if start is None:
        return WarmUp(prefetch_seconds=0.0, limit=None, curve=((0.0, candidate.hit_ratio(servers)),))
    share, server = candidate.share_of(servers), server_fill(candidate)
    alone = fill_seconds(candidate.inputs.demand, share, start.cluster, candidate.region_server.prefetch_threads)
    seconds = start.course.prefetch_seconds
    return WarmUp(
        prefetch_seconds=seconds,
        limit=alone.limit,
        curve=start.course.hit_ratios(max(LEAST_HOURS, 2 * seconds / SECONDS_PER_HOUR)),
        server=server,
        boosts=boosts(server, candidate.inputs.world.prices) if server else (),
    )


def server_fill(candidate: Candidate) -> ServerFill | None:
    """Return the fill of one server's cache; None where no EBS volume has a cache."""
    volume, servers = candidate.data_volume, candidate.count
    if candidate.cold is None or volume is None or volume.type == "nvme":
        return None
    inputs, instance, writing = candidate.inputs, candidate.instance, candidate.writing_server
    cluster, demand = candidate.cluster(servers), inputs.demand
    cells = inputs.requirements.workload.write_bytes_per_second / writing.cells.value_bytes / servers
    network = cells * writing.network_bytes
    return ServerFill(
        fill=fill_of(demand, candidate.share_of(servers)),
        streams=Streams(threads=candidate.region_server.prefetch_threads, get_bytes=GET_BYTES),
        vcpus=cluster.vcpus,
        s3_gets_per_second=cluster.s3_prefixes * S3_GETS_PER_SECOND_PER_PREFIX / servers,
        batch_bytes=demand.writer_queue_length * demand.cacheable.cached_bytes,
        written_bytes_per_second=cells * writing.disk_bytes,
        ebs_written_bytes_per_second=cells * writing.ebs_bytes,
        sustained=NodeRates(
            network_bytes_per_second=rest(instance.network_sustained_bytes_per_second, network),
            ebs_bytes_per_second=instance.ebs_sustained_bytes_per_second,
        ),
        burst=NodeRates(
            network_bytes_per_second=rest(instance.network_burst_bytes_per_second, network),
            ebs_bytes_per_second=instance.ebs_burst_bytes_per_second,
        ),
        volume=volume,
        servers=servers,
    )


def load_bytes(candidate: Candidate) -> float:
    """Return the bytes of cells that clients put: the stored data before compression."""
    workload = candidate.inputs.requirements.workload
    return workload.stored_bytes * workload.compression_ratio


def log_bytes_per_second(candidate: Candidate) -> float:
    """Return the rate at which all logs accept cells; each cell is written once for each of its copies in HDFS."""
    system = next(volume for volume in candidate.layout.volumes if volume.purpose == "system")
    copies = hdfs_replication(candidate.inputs, candidate.count)
    return candidate.count * min(system.bytes_per_second, candidate.instance.ebs_sustained_bytes_per_second) / copies


def network_bytes_per_second(candidate: Candidate) -> float:
    """Return the rate at which the network carries cells: the log's other copies, the flush and compactions go out."""
    workload = candidate.inputs.requirements.workload
    copies = hdfs_replication(candidate.inputs, candidate.count)
    sent = copies - 1 + LEAST_AMPLIFICATION * candidate.inputs.mode.data_copies / workload.compression_ratio
    return candidate.count * candidate.instance.network_sustained_bytes_per_second / max(1.0, sent)
