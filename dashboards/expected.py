"""The figures that a plan expects of a warm cache, for dashboards and alarms."""

from __future__ import annotations

from typing import Final

from warmbase.ground.units import GIB, MIB, format_duration
from warmbase.sizing.cache.bucket_sizes import ACCEPT_FACTOR, MIN_FACTOR
from warmbase.sizing.plan import Plan
from warmbase.sizing.search.disks import HDFS_FILL_FRACTION
from warmbase.sizing.server.system_volume import LIVE_LOGS_BYTES

# judgement: the planned time is an estimate, and reads arrive unevenly.
SLACK: Final = 1.5
NEARLY_WARM: Final = 0.95  # judgement: of the planned hit ratio; the last blocks take disproportionately long
MIN_SECONDS: Final = 1_800  # judgement: regions also open and move in the first half hour after a start


def warm_fill(plan: Plan) -> float:
    """Return the fraction of its slots that a warm cache uses: all that the data needs, or what an eviction leaves.

    An eviction frees 15 % of the slots of each size, so 0.95 becomes 0.81.
    """
    everything_bytes = plan.hit_ratio.curve[-1][0]
    size_bytes = plan.core.count * plan.cache.size_mib * MIB
    share = everything_bytes / size_bytes
    return ACCEPT_FACTOR * (share if share <= 1 else MIN_FACTOR)


def hdfs_percent(plan: Plan) -> float:
    """Return the most of HDFS, in percent, that data takes; where S3 stores the data, that write-ahead logs take."""
    if plan.hdfs is not None:
        return 100 * HDFS_FILL_FRACTION
    capacity_bytes = plan.core.volume("system").size_gib * GIB
    return 100 * plan.hdfs_replication * LIVE_LOGS_BYTES / capacity_bytes


def warming_seconds(plan: Plan) -> int:
    """Return how long a cold cache may take to reach nearly the planned hit ratio, with slack; whole minutes."""
    warm_ratio = NEARLY_WARM * plan.hit_ratio.predicted
    hours = next((hours for hours, ratio in plan.warm_up.curve if ratio >= warm_ratio), plan.warm_up.curve[-1][0])
    return 60 * round(max(MIN_SECONDS, SLACK * 3600 * hours) / 60)


def lost_node_advice(plan: Plan) -> str:
    """Return when HBase opens the regions of a lost node elsewhere; empty where there is no other node."""
    lost = plan.bad_hours.lost_node
    if lost is None:
        return ""
    offline, with_meta = format_duration(lost.offline_seconds), format_duration(lost.offline_with_meta_seconds)
    advice = (
        f"If a node is lost, other servers serve its rows after about {offline}, or {with_meta} if it had hbase:meta. "
    )
    if plan.restart.retain_retries:
        advice += (
            "Do not restart the master before that, because it may then never open them; warmbase release-regions "
            f"{plan.environment} shows how long it waits. "
        )
    return advice


def filling_advice(plan: Plan) -> str:
    """Return the commands for a cache that is filling, with a boost only if the plan expects it to help."""
    environment = plan.environment
    advice = (
        f"While a cache fills, warmbase warm status {environment} shows when it will be warm, and warmbase warm wait "
        f"{environment} waits until all caches are."
    )
    boost = f" To fill it faster, run warmbase warm boost {environment}, which shows the time and the price first."
    return f"{advice}{boost}" if plan.warm_up.boosts else advice
