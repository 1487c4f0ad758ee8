"""The alarms of one cluster: a metric alarm for each thing that can go wrong, a notification for each kind of cause.

Metric alarms have thresholds from the plan, and notify nobody. Composite alarms group them, so that one cause sends one
notification. A server that is down also lowers hit ratios and slows reads; only `call-servers` notifies then. A cache
that is warming is no fault for as long as the plan expects it to warm.

Source: CloudWatch User Guide, alarm-limits and Create_Composite_Alarm; thresholds 0.90 and 0.80 of the published
systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from warmbase.configurations.metrics import metric
from warmbase.dashboards.alarm import (
    NEVER,
    Alarm,
    AlarmRule,
    CompositeAlarm,
    alarm_above,
    alarm_below,
    any_of,
    in_alarm,
)
from warmbase.dashboards.boards import of_root
from warmbase.dashboards.expected import filling_advice, lost_node_advice, warm_fill, warming_seconds
from warmbase.dashboards.graph import FIVE_MINUTES, MINUTE, Aggregate, Exact, insights
from warmbase.dashboards.node import core_node_missing, disk_full
from warmbase.environments.environment import Root
from warmbase.environments.names import emr_cluster_name
from warmbase.sizing.modes import CompositeName
from warmbase.sizing.plan import Plan

NO_FAULT: Final = ("cache-filling", "server-young")
"""Name endings of the alarms that describe a cluster's state; they do not mean that anything is wrong."""

# judgement: writes, compactions and region moves read from S3 too, so the alarm starts at twice the planned GETs, and
# never under 20 a second.
GETS_MARGIN: Final = 2
MIN_GETS_PER_SECOND: Final = 20
# judgement: S3 refuses a request now and then, and HBase repeats it; one a second for 15 minutes is more than that.
REFUSED_PER_SECOND: Final = 1
# judgement: a plan's p99 is an estimate, and gets of up to 50 ms harm nobody.
P99_MARGIN: Final = 2
MIN_P99_MS: Final = 50
# judgement: a planned hit ratio of 0.95 is missed below 0.90, and one of 0.85 below 0.80; a lower one accepts misses.
TIERS: Final = ((0.95, 90), (0.85, 80))
MIN_FILL_OF_PLAN: Final = 0.9  # judgement: a cache with less than this share of the planned fill is still filling
SETTLING_MINUTES: Final = 5  # judgement: a cache counts as filling for longer than other alarms take to notice
BEHIND_INTERVALS: Final = 2  # judgement: one index dump may be under way; two missing ones mean that none succeeds
# judgement: at night, or during a compaction, one miss a second is normal.
MIN_MISSES_PER_SECOND: Final = 1
COLD_MINUTES: Final = 5  # judgement: a compaction, or a move of regions, is over by then
MIN_ABSENCE_MINUTES: Final = 3  # judgement: a restart that takes less is not worth a notification
NOTICE_MINUTES: Final = 2  # judgement: so much earlier the loss of a server is noticed, and notified alone
RESTART_SLACK: Final = 1.5  # judgement: a restart's time is an estimate
EVICTION_DATAPOINTS: Final = (2, 30)
"""Minutes with evictions, and minutes watched. judgement: an eviction makes room for minutes; two are no accident."""
UNCONFIRMED_MINUTES: Final = 5  # judgement: S3 and its endpoints are back by then, or they need a person
INSERTION_MINUTES: Final = 15  # judgement: a burst that fills the writers' queues is over by then


def alarms(plan: Plan, root: Root, *, replica: bool = False) -> tuple[Alarm, ...]:
    """Return every alarm that applies to the plan's mode and role; a replica's hbase:meta has another name."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    advice = f"{lost_node_advice(plan)}Run warmbase plan {plan.environment} to see how many nodes you may lose."
    applicable = [core_node_missing(plan.core.count, advice)]
    if plan.mode.keeps_data_in_s3:
        applicable += _of_s3(plan, root)
    if plan.mode.has_bucket_cache:
        applicable += [*_of_servers(plan, replica=replica), *_of_hit_ratios(plan), *_of_warming(plan)]
        applicable += _of_caches(plan)
    return tuple(replace(alarm, name=f"{name}-{alarm.name}") for alarm in applicable)


def _of_nodes(published: str, aggregate: Aggregate) -> str:
    return insights(metric(published), aggregate)


def _status(plan: Plan) -> str:
    return f"warmbase status {plan.environment}"


def _heal(plan: Plan) -> str:
    return f"warmbase heal {plan.environment} --dry-run"


def _absence_minutes(plan: Plan) -> int:
    """Return how long a RegionServer may be away before it counts as missing."""
    seconds = RESTART_SLACK * (plan.restart.stop_seconds + plan.restart.away_seconds)
    return max(MIN_ABSENCE_MINUTES, math.ceil(seconds / MINUTE))


def _cold_minutes(plan: Plan) -> int:
    """Return how long hit ratios may be low; the loss of a server is noticed before that, and notified alone."""
    return max(COLD_MINUTES, _absence_minutes(plan) + NOTICE_MINUTES)


def _of_s3(plan: Plan, root: Root) -> Iterator[Alarm]:
    """Yield the alarms on requests to S3 and on the claim of the root."""
    # A cluster with a cache counts its own misses; for a cluster without one, the root has request metrics.
    resource = next(resource for resource in plan.throughput.resources if resource.name == "s3-requests")
    warm = plan.busiest_hour.reads_per_second * resource.demand_per_read
    allowed = max(MIN_GETS_PER_SECOND, GETS_MARGIN * warm)
    why = f"The plan expects {warm:,.0f}, because every read goes to S3 without a cache."
    watched: Exact | str = of_root("GetRequests", root)
    if plan.mode.has_bucket_cache:
        watched = _of_nodes("Misses", "SUM")
        why = (
            f"With warm caches the plan expects {warm:,.0f}. More is normal while caches warm up; otherwise a cache "
            "was lost or is too small."
        )
    yield alarm_above(
        name="s3-gets-above-plan",
        watched=watched,
        threshold=math.ceil(allowed * FIVE_MINUTES),
        periods=3,
        period_seconds=FIVE_MINUTES,
        description=f"Reads have sent more than {allowed:,.0f} GETs/s to S3 for 15 minutes. {why} Run warmbase plan "
        f"{plan.environment} to compare.",
    )
    # 5xx answers are mostly 503 Slow Down.
    yield alarm_above(
        name="s3-refuses",
        watched=of_root("5xxErrors", root),
        threshold=REFUSED_PER_SECOND * FIVE_MINUTES,
        periods=3,
        period_seconds=FIVE_MINUTES,
        description=f"S3 has refused more than {REFUSED_PER_SECOND} request/s below the HBase root for 15 minutes "
        "(Slow Down): the request rate is higher than S3 serves for this prefix. Run "
        f"{_status(plan)} to see whether a cache is warming up, which sends the most requests.",
    )
    # Nodes publish metrics of the claim only while something is wrong.
    claim = f"warmbase claim {plan.environment}"
    yield alarm_above(
        name="claim-foreign",
        watched=_of_nodes("ForeignClaim", "MAX"),
        threshold=0,
        periods=1,
        description="Another cluster has claimed the HBase root while this one can write to it. Two clusters that "
        f"write to one root corrupt it. Run {claim} to see which cluster has the claim, and stop one of them at once.",
    )
    yield alarm_above(
        name="claim-unconfirmed",
        watched=_of_nodes("ClaimUnconfirmedMinutes", "MAX"),
        threshold=UNCONFIRMED_MINUTES,
        periods=1,
        description=f"For more than {UNCONFIRMED_MINUTES} minutes a node could not confirm that this cluster has the "
        "claim of the HBase root: the claim is missing, released, or cannot be read. Another cluster could start to "
        f"write there. Run {claim} to see the claim.",
    )


def _of_servers(plan: Plan, *, replica: bool) -> Iterator[Alarm]:
    count, minutes, advice = plan.core.count, _absence_minutes(plan), lost_node_advice(plan)
    yield alarm_below(
        name="server-silent",
        watched=_of_nodes("Answering", "SUM"),
        threshold=count,
        periods=minutes,
        missing="breaching",
        description=f"Fewer than {count} RegionServers have answered on their nodes for {minutes} minutes, one and a "
        "half times what a restart takes by the plan. A RegionServer or its node is down, or the node's metrics timer "
        f"has stopped, and then no other alarm sees that node. {advice}Run {_status(plan)} to see which.",
    )
    if not replica:
        yield alarm_below(
            name="meta-unassigned",
            watched=_of_nodes("HostsMeta", "SUM"),
            threshold=1,
            periods=minutes,
            description=f"No RegionServer has served hbase:meta for {minutes} minutes, so clients cannot locate rows "
            f"that they have not read before. {advice}Run {_status(plan)} to see whether all servers answer.",
        )


def _of_hit_ratios(plan: Plan) -> Iterator[Alarm]:
    minutes, predicted = _cold_minutes(plan), plan.hit_ratio.predicted
    tier = next((below for promised, below in TIERS if predicted >= promised), None)
    if tier is None:
        return
    yield alarm_above(
        name="hit-ratio-low",
        watched=_of_nodes(f"MissesOver{tier}", "SUM"),
        threshold=MIN_MISSES_PER_SECOND * MINUTE,
        periods=minutes,
        description=f"The caches have answered less than 0.{tier} of the cluster's block reads for {minutes} minutes; "
        f"the plan expects {predicted:.3g}. Run {_status(plan)} to see the ratio of each server, and "
        f"{_heal(plan)} to see whether regions are away from the caches that hold their blocks.",
    )
    yield alarm_above(
        name="server-cold",
        watched=_of_nodes("Below80", "MAX"),
        threshold=0,
        periods=minutes,
        description=f"The cache of a RegionServer has answered less than 0.80 of its block reads for {minutes} "
        f"minutes; the plan expects {predicted:.3g}. A multi-get is as slow as the coldest server. Run "
        f"{_status(plan)} to see which, and {_heal(plan)} to see whether regions are away from the caches that hold "
        f"their blocks. {filling_advice(plan)}",
    )


def _of_warming(plan: Plan) -> Iterator[Alarm]:
    fill, seconds = round(MIN_FILL_OF_PLAN * warm_fill(plan), 3), warming_seconds(plan)
    yield alarm_below(
        name="cache-filling",
        watched=_of_nodes("Fill", "MIN"),
        threshold=fill,
        periods=_cold_minutes(plan) + SETTLING_MINUTES,
        datapoints=1,
        description=f"A cache is filled to less than {fill}, which is {MIN_FILL_OF_PLAN:.0%} of its fill when warm. "
        "This alarm notifies nobody: together with server-young it means that the cache is warming up. "
        f"{filling_advice(plan)}",
    )
    yield alarm_below(
        name="server-young",
        watched=_of_nodes("UpSeconds", "MIN"),
        threshold=seconds,
        periods=1,
        description=f"A RegionServer has been up for less than {seconds / 60:,.0f} minutes, one and a half times what "
        f"the plan expects a cold cache to take. This alarm notifies nobody. {filling_advice(plan)}",
    )
    yield alarm_above(
        name="cache-lost",
        watched=_of_nodes("CacheLost", "SUM"),
        threshold=0,
        description="A RegionServer restarted with less than half of its cache, and has had 5 minutes to read its "
        f"index file. Run warmbase verify {plan.environment} to check the index file and the volume. "
        f"{filling_advice(plan)}",
    )


def _of_caches(plan: Plan) -> Iterator[Alarm]:
    """Yield the alarms on the blocks that enter the caches, on the room in the caches, and on reads."""
    yield alarm_above(
        name="insertions-fail",
        watched=_of_nodes("FailedInsertions", "SUM"),
        threshold=0,
        periods=INSERTION_MINUTES,
        description=f"Blocks have not been cached for {INSERTION_MINUTES} minutes because the queue of a cache writer "
        "was full: the cache's volume is slower than the reads from S3. Run warmbase plan "
        f"{plan.environment} to see the throughput that the volume needs.",
    )
    behind = BEHIND_INTERVALS * plan.persistence.interval_ms / 1000 + math.ceil(plan.persistence.dump_seconds)
    yield alarm_above(
        name="index-behind",
        watched=_of_nodes("IndexBehindSeconds", "MAX"),
        threshold=behind,
        description=f"A cache has changed, but its index file has not been written for {behind / 60:.0f} minutes. A "
        f"crash would lose what was cached since then. Run warmbase verify {plan.environment} to check the node.",
    )
    datapoints, minutes = EVICTION_DATAPOINTS
    if plan.hit_ratio.predicted >= 1:
        yield alarm_above(
            name="cache-evicts",
            watched=_of_nodes("Evictions", "SUM"),
            threshold=0,
            periods=minutes,
            datapoints=datapoints,
            description=f"A cache has evicted blocks in {datapoints} of the last {minutes} minutes, although the plan "
            "expects all data to fit: there is more data than the plan assumes, or its blocks have other lengths. Run "
            f"warmbase plan {plan.environment} to compare.",
        )
    volume = plan.core.volume("cache")
    # The index is on the first of the volumes, which share the cache evenly.
    planned = (plan.cache.size_bytes / volume.count + plan.persistence.file_bytes) / volume.size_bytes
    advice = f"Run warmbase verify {plan.environment} to see what uses the space."
    yield disk_full(_of_nodes("DiskUsed", "MAX"), planned, advice)
    allowed = max(MIN_P99_MS, math.ceil(P99_MARGIN * plan.busiest_hour.p99_latency_ms))
    yield alarm_above(
        name="gets-slow",
        watched=_of_nodes("GetP99", "MAX"),
        threshold=allowed,
        description=f"One in a hundred gets of a RegionServer has taken longer than {allowed} ms for 5 minutes. The "
        f"limit is twice the planned p99, and at least {MIN_P99_MS} ms. Run {_status(plan)} to see whether its cache "
        "is cold.",
    )
    yield alarm_above(
        name="long-pause",
        watched=_of_nodes("LongPauses", "SUM"),
        threshold=0,
        periods=1,
        description="The JVM of a RegionServer paused for more than ten seconds. If it pauses longer, ZooKeeper "
        "expires its session, and its regions move to servers that have not cached them. Run "
        f"{_status(plan)} to see whether all servers answer.",
    )


def composite_alarms(plan: Plan, root: Root, *, replica: bool = False) -> tuple[CompositeAlarm, ...]:
    """Return the notifications of the plan's storage mode, without those whose alarms the cluster does not have."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    rules = _rules(name, frozenset(alarm.name for alarm in alarms(plan, root, replica=replica)))
    environment, status = plan.environment, f"warmbase status {plan.environment}"
    filling = f" {filling_advice(plan)}" if plan.mode.has_bucket_cache else ""
    descriptions: Mapping[CompositeName, str] = {
        "servers": "RegionServers or core nodes are missing, no server serves hbase:meta, or another cluster may write "
        f"to the HBase root. Run {status} to see which, and warmbase claim {environment} to see the claim.",
        "cache": "Reads that the cache should answer go to S3, although no cache is warming up and no server is "
        f"missing. Run {status} to see fill and hit ratio of each server. If all are full, run warmbase heal "
        f"{environment} to bring regions back to the caches that hold their blocks.{filling}",
        "writes-to-cache": "Blocks do not reach the cache, or a cache does not reach its index file. Run warmbase "
        f"verify {environment} to check the nodes.",
        "room": f"The cache or its volume is too small. Run warmbase plan {environment} to see the size it needs.",
        "reads": "Reads are slow, although all servers answer and the caches are warm. Run "
        f"{status} to see what reads wait for.",
    }
    return tuple(
        CompositeAlarm(name=f"{name}-call-{cause}", description=descriptions[cause], rule=str(rules[cause]))
        for cause in plan.mode.composite_alarms
        if rules[cause] != NEVER
    )


def _rules(prefix: str, existing: frozenset[str]) -> Mapping[CompositeName, AlarmRule]:
    """Return when each cause notifies; an alarm that the cluster does not have is never in ALARM."""

    def any_existing(*ends: str) -> AlarmRule:
        names = (f"{prefix}-{end}" for end in ends)
        return any_of(*(name for name in names if name in existing))

    filling, young = f"{prefix}-cache-filling", f"{prefix}-server-young"
    warming = in_alarm(filling) & in_alarm(young) if {filling, young} <= existing else NEVER
    claim = any_existing("claim-foreign", "claim-unconfirmed")
    servers = any_existing("core-node-missing", "server-silent", "meta-unassigned") | claim
    cold = any_existing("hit-ratio-low", "server-cold", "s3-gets-above-plan")
    cache = (any_existing("cache-lost") | (cold & ~warming)) & ~servers
    slow = (any_existing("gets-slow", "s3-refuses") & ~warming) | any_existing("long-pause")
    return {
        "servers": servers,
        "cache": cache,
        "writes-to-cache": (any_existing("insertions-fail") & ~warming) | any_existing("index-behind"),
        "room": any_existing("disk-full", "cache-evicts"),
        "reads": slow & ~servers & ~cache,
    }
