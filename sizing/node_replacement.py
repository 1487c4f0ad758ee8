"""A core node that EMR replaces: when it has its regions, when its cache is warm, and the service meanwhile.

HBase does not move regions when a server joins. The next run of the balancer does, because a server without regions is
a reason to balance whatever the imbalance costs. The balancer does not run while the master processes a dead server or
regions are in transition, so the new node also waits until the rows of the lost one are online again.

Source: HBase 2.6.2 hbase-default.xml (hbase.balancer.period), HMaster.balance, ServerManager.areDeadServersInProgress,
HMaster.getMaxBalancingTime, BalancerChore, StochasticLoadBalancer.needsBalance (idleRegionServerExist); Amazon EMR
Management Guide, "Replacing unhealthy nodes".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sizing.candidate import Candidate
from sizing.cold_start import ColdStart
from sizing.performance import performance
from sizing.prefetching import GET_BYTES, cold_start, fill_of
from sizing.read import Hits

__all__ = ["ReplacedNode", "cold_node", "replaced_node", "warm_seconds"]

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
    if candidate.question.mode.keeps_data_in_s3:
        hit_ratio *= (nodes - 1) / nodes
    reads = performance(
        candidate.question, candidate.cluster(nodes), Hits(ratio=hit_ratio), vcpus=candidate.instance.vcpus
    )
    served = candidate.performance(nodes).load.reads_per_second
    if (cold := cold_node(candidate)) is not None:
        served = ((nodes - 1) * served + min(served, cold.served(0.0).reads_per_second)) / nodes
    return ReplacedNode(
        launch_seconds=REPLACEMENT_SECONDS,
        regions_seconds=balanced - REPLACEMENT_SECONDS,
        warm_seconds=warm,
        seconds=balanced + warm,
        regions=candidate.question.requirements.workload.regions / nodes,
        hit_ratio=hit_ratio,
        reads_per_second=served,
        p99_latency_ms=reads.percentiles.p99_ms,
        gets=_gets(candidate, served * (candidate.hit_ratio(nodes) - hit_ratio)) if warm else 0.0,
    )


def _gets(candidate: Candidate, missing_per_second: float) -> float:
    """Return the GETs until the new node is warm: those of its prefetch, and one for each block that its reads miss.

    So many reads a second miss at first; a prefetch fills the cache evenly, so half as many miss on average.
    """
    fill = fill_of(candidate.question.demand, candidate.share_of(candidate.count))
    read = candidate.question.read
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
    return cold_start(candidate.question, candidate.share_of(candidate.count), alone, candidate.prefetch_threads)
