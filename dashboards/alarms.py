"""The alarms of one cluster, with thresholds from its plan, and the calls that they add up to.

A metric alarm for each thing that can be wrong, and five calls, so that one cause calls once: a server that is down
also makes hit ratios fall and reads slow, and only the first is called. A cache that warms is no fault, as long as that
may last.
Source: CloudWatch User Guide, alarm-limits, Create_Composite_Alarm; thresholds 0.90 and 0.80 of the published systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from configurations.metrics import metric
from dashboards.alarm import Alarm, Comparison, CompositeAlarm, Missing
from dashboards.expected import warm_fill, warming_seconds
from dashboards.graph import FIVE_MINUTES, MINUTE, Exact
from dashboards.node import FULL, of_cluster
from dashboards.query import Aggregate, insights
from dashboards.reads import of_root
from environments.names import emr_cluster_name
from sizing.plan import Plan

__all__ = ["NO_FAULT", "alarms", "composite_alarms"]

NO_FAULT: Final = ("cache-filling", "server-young")
"""Ends of the names of alarms that say how a cluster is, and not that anything is wrong."""

# judgement: writes, compactions and region moves read from S3 too; twice the plan and never under 20 GETs a second
# keeps them from waking anybody.
GETS_MARGIN: Final = 2
LEAST_GETS_PER_SECOND: Final = 20
# judgement: S3 refuses a request here and there, and HBase asks again; one a second for 15 minutes is more.
REFUSED_PER_SECOND: Final = 1
# judgement: gets of one server, without what clients wait; a plan's p99 is an estimate, and 50 ms harm nobody.
P99_MARGIN: Final = 2
LEAST_P99_MS: Final = 50
# judgement: a promise of 0.95 is not kept below 0.90, nor one of 0.85 below 0.80; a lesser one accepts misses.
TIERS: Final = ((0.95, 90), (0.85, 80))
MIN_FILL_OF_PLAN: Final = 0.9  # judgement: of the planned fill; a cache with less is still filling
SETTLING_MINUTES: Final = 5  # judgement: minutes for which a cache is called filling longer than other alarms lag
BEHIND_INTERVALS: Final = 2  # judgement: one dump may be under way, two missed are none
# judgement: a miss a second is a night's, or a compaction's, and wakes nobody.
LEAST_MISSES_PER_SECOND: Final = 1
COLD_MINUTES: Final = 5  # judgement: a compaction, or regions on the move, are over by then
MIN_ABSENCE_MINUTES: Final = 3  # judgement: minutes
RESTART_SLACK: Final = 1.5  # judgement: a restart's time is an estimate
EVICTION_DATAPOINTS: Final = (2, 30)
"""So many of so many minutes. judgement: an eviction makes room for minutes on end, and two of thirty are no chance."""
DISK_MARGIN_FRACTION: Final = 0.02  # judgement: than planned; logs, a file system's own
NOT_YET_UNHEALTHY: Final = 0.89  # YARN calls a disk unhealthy at 0.90
ABOVE: Final = "GreaterThanThreshold"
BELOW: Final = "LessThanThreshold"
Breach = tuple[Comparison, float]


def alarms(plan: Plan, root_bucket: str, *, replica: bool = False) -> tuple[Alarm, ...]:
    """All that apply to the plan's mode and role: a replica has an hbase:meta of another name."""
    made = _Alarms(plan, root_bucket, replica=replica)
    of_s3 = (made.gets_above_plan(), made.s3_refuses()) if plan.mode.keeps_data_in_s3 else ()
    return (made.core_node_missing(), *of_s3, *(made.of_cache() if plan.mode.has_bucket_cache else ()))


def composite_alarms(plan: Plan, root_bucket: str, *, replica: bool = False) -> tuple[CompositeAlarm, ...]:
    """Return who is called for what; a call none of whose alarms apply is left out."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    there = {alarm.name.removeprefix(f"{name}-") for alarm in alarms(plan, root_bucket, replica=replica)}

    def any_of(*wanted: str) -> str:
        found = [f'ALARM("{name}-{each}")' for each in wanted if each in there]
        return f"({' OR '.join(found)})" if found else ""

    servers = any_of("core-node-missing", "server-silent", "meta-unassigned")
    warming = f'(ALARM("{name}-cache-filling") AND ALARM("{name}-server-young"))'
    cold = any_of("hit-ratio-low", "server-cold", "s3-gets-above-plan")
    lost = any_of("cache-lost")
    cache = f"({lost} OR ({cold} AND NOT {warming})) AND NOT {servers}" if lost else f"{cold} AND NOT {servers}"
    unless_warming = f" AND NOT {warming}" if plan.mode.has_bucket_cache else ""
    fails = any_of("insertions-fail")
    writes = f"({fails}{unless_warming}) OR {any_of('index-behind')}" if fails else ""
    asked = any_of("gets-slow", "s3-refuses")
    pauses = any_of("long-pause")
    slow = f"(({asked}{unless_warming}) OR {pauses})" if pauses else asked
    look = f"warmbase status {plan.environment}"

    def call(cause: str, rule: str, description: str) -> CompositeAlarm:
        return CompositeAlarm(name=f"{name}-call-{cause}", description=description, rule=rule)

    found = (
        call(
            "servers",
            servers,
            f"RegionServers or nodes are missing, or nobody serves hbase:meta. {look} says which.",
        ),
        call(
            "cache",
            cache if cold else "",
            "Reads go to S3 that the cache should answer, and it is neither warming nor short of a server. "
            f"{look} shows fill and hit ratio of each server.",
        ),
        call(
            "writes-to-cache",
            writes,
            "What is read or written does not get into the cache, or not into its index. "
            f"warmbase verify {plan.environment} looks at the nodes.",
        ),
        call(
            "room",
            any_of("disk-full", "cache-evicts"),
            f"The cache, or its volume, is too small. warmbase plan {plan.environment} says what would do.",
        ),
        call(
            "reads",
            f"{slow} AND NOT {servers} AND NOT ({cache})" if slow and cold else "",
            f"Reads are slow, though servers and cache are well. {look} shows what they wait for.",
        ),
    )
    return tuple(each for each in found if each.rule)


class _Alarms:
    """The alarms one by one."""

    def __init__(self, plan: Plan, root_bucket: str, *, replica: bool) -> None:
        self.plan, self.root_bucket, self.replica = plan, root_bucket, replica
        away_seconds = RESTART_SLACK * (plan.restart.stop_seconds + plan.restart.away_seconds)
        self.away_minutes = max(MIN_ABSENCE_MINUTES, math.ceil(away_seconds / MINUTE))
        # The loss of a server is noticed first, and called alone.
        self.cold_minutes = max(COLD_MINUTES, self.away_minutes + 2)
        self.status = f"warmbase status {plan.environment}"

    def _alarm(  # noqa: PLR0913 - an alarm has so many sides
        self,
        name: str,
        watched: Exact | str,
        breach: Breach,
        description: str,
        *,
        periods: int = 5,
        breaching: int | None = None,
        period_seconds: int = MINUTE,
        missing: Missing = "notBreaching",
    ) -> Alarm:
        return Alarm(
            name=f"{emr_cluster_name(self.plan.environment, self.plan.cluster)}-{name}",
            description=description,
            watched=watched,
            period_seconds=period_seconds,
            periods=periods,
            breaching=breaching or periods,
            comparison=breach[0],
            threshold=breach[1],
            missing=missing,
        )

    def _nodes(  # noqa: PLR0913 - an alarm has so many sides
        self,
        name: str,
        published: str,
        aggregate: Aggregate,
        breach: Breach,
        description: str,
        *,
        periods: int = 5,
        breaching: int | None = None,
        missing: Missing = "notBreaching",
    ) -> Alarm:
        watched = insights(metric(published), aggregate)
        return self._alarm(name, watched, breach, description, periods=periods, breaching=breaching, missing=missing)

    def core_node_missing(self) -> Alarm:
        """EMR itself counts them."""
        return self._alarm(
            "core-node-missing",
            of_cluster("CoreNodesRunning"),
            (BELOW, self.plan.core.count),
            f"Fewer than {self.plan.core.count} core nodes run. A replacement starts with an empty cache. "
            f"warmbase plan {self.plan.environment} says how many may be lost before a target is.",
            periods=2,
            period_seconds=FIVE_MINUTES,
            missing="breaching",
        )

    def gets_above_plan(self) -> Alarm:
        """Of the cluster's own misses where it has a cache, else of the root's request metrics, everybody's."""
        plan = self.plan
        per_read = next(
            resource.demand_per_read for resource in plan.throughput.resources if resource.name == "s3-requests"
        )
        warm = plan.throughput.reads_per_second * per_read
        allowed = max(LEAST_GETS_PER_SECOND, GETS_MARGIN * warm)
        why = f"the plan has {warm:,.0f}: without a cache each read goes there."
        watched: Exact | str = of_root("GetRequests", self.root_bucket)
        if plan.mode.has_bucket_cache:
            watched = insights(metric("Misses"), "SUM")
            why = f"the warm cache leaves {warm:,.0f}. Expected while it warms up, else the cache is lost or too small."
        return self._alarm(
            "s3-gets-above-plan",
            watched,
            (ABOVE, math.ceil(allowed * FIVE_MINUTES)),
            f"More than {allowed:,.0f} GETs/s are asked of S3 for 15 minutes; {why} warmbase plan {plan.environment} "
            "says why.",
            periods=3,
            period_seconds=FIVE_MINUTES,
        )

    def s3_refuses(self) -> Alarm:
        """503 Slow Down, mostly."""
        return self._alarm(
            "s3-refuses",
            of_root("5xxErrors", self.root_bucket),
            (ABOVE, REFUSED_PER_SECOND * FIVE_MINUTES),
            f"S3 refuses more than {REFUSED_PER_SECOND} request/s below the root for 15 minutes (Slow Down): more is "
            f"asked of a prefix than S3 gives. {self.status} shows whether a cache warms, which asks most.",
            periods=3,
            period_seconds=FIVE_MINUTES,
        )

    def of_cache(self) -> Iterator[Alarm]:
        """Of what the nodes publish."""
        yield from self._servers()
        yield from self._ratios()
        yield from self._writes_and_room()
        yield from self._of_reads()

    def _servers(self) -> Iterator[Alarm]:
        count, minutes = self.plan.core.count, self.away_minutes
        silent = f"Fewer than {count} RegionServers have answered their own nodes for {minutes} minutes"
        yield self._nodes(
            "server-silent",
            "Answering",
            "SUM",
            (BELOW, count),
            f"{silent}, half as long again as a restart takes by the plan: one is down, or its node is gone, or its "
            f"node's timer, and then no other alarm knows of it. {self.status} says which.",
            periods=minutes,
            missing="breaching",
        )
        if self.replica:
            return
        yield self._nodes(
            "meta-unassigned",
            "HostsMeta",
            "SUM",
            (BELOW, 1),
            f"No RegionServer has served hbase:meta for {minutes} minutes: no client finds a row that it has not asked "
            f"for before. {self.status} says whether all servers answer.",
            periods=minutes,
        )

    def _ratios(self) -> Iterator[Alarm]:
        plan, minutes = self.plan, self.cold_minutes
        tier = next((below for promised, below in TIERS if plan.hit_ratio.predicted >= promised), None)
        if tier is not None:
            promised = f"the plan has {plan.hit_ratio.predicted:.3g}"
            yield self._nodes(
                "hit-ratio-low",
                f"MissesOver{tier}",
                "SUM",
                (ABOVE, LEAST_MISSES_PER_SECOND * MINUTE),
                f"Less than 0.{tier} of the cluster's block reads were answered by the cache for {minutes} minutes; "
                f"{promised}. {self.status} shows each server's.",
                periods=minutes,
            )
            yield self._nodes(
                "server-cold",
                "Below80",
                "MAX",
                (ABOVE, 0),
                f"A RegionServer has answered less than 0.80 of its block reads from its cache for {minutes} minutes; "
                f"{promised}. A multi-get waits for the coldest. {self.status} says which.",
                periods=minutes,
            )
        fill, seconds = round(MIN_FILL_OF_PLAN * warm_fill(plan), 3), warming_seconds(plan)
        yield self._nodes(
            "cache-filling",
            "Fill",
            "MIN",
            (BELOW, fill),
            f"A cache is filled to less than {fill}, nine tenths of what it is when warm. Calls nobody: with "
            f"server-young it says that the cache warms. {self.status} shows how far it is.",
            periods=minutes + SETTLING_MINUTES,
            breaching=1,
        )
        yield self._nodes(
            "server-young",
            "UpSeconds",
            "MIN",
            (BELOW, seconds),
            f"A RegionServer is up for less than {seconds / 60:,.0f} minutes, in which a cold cache becomes warm by "
            f"the plan and half as much again. Calls nobody. {self.status} shows how far it is.",
            periods=1,
        )
        yield self._nodes(
            "cache-lost",
            "CacheLost",
            "SUM",
            (ABOVE, 0),
            "A RegionServer has come back with less than half of the cache that it went with, and has had 5 minutes to "
            f"read its index. warmbase verify {plan.environment} looks at index and volume.",
        )

    def _writes_and_room(self) -> Iterator[Alarm]:
        plan = self.plan
        yield self._nodes(
            "insertions-fail",
            "FailedInsertions",
            "SUM",
            (ABOVE, 0),
            "Blocks have not been cached for 15 minutes, because a writer's queue was full: the cache's volume is "
            f"slower than what is read from S3. warmbase plan {plan.environment} says what the volume has to give.",
            periods=15,
        )
        behind = BEHIND_INTERVALS * plan.persistence.interval_ms / 1000 + math.ceil(plan.persistence.dump_seconds)
        yield self._nodes(
            "index-behind",
            "IndexBehindSeconds",
            "MAX",
            (ABOVE, behind),
            f"The index of a cache was not written for {behind / 60:.0f} minutes though the cache has changed: a crash "
            f"now would lose what was cached since. warmbase verify {plan.environment} looks at the node.",
        )
        if plan.hit_ratio.predicted >= 1:
            yield self._nodes(
                "cache-evicts",
                "Evictions",
                "SUM",
                (ABOVE, 0),
                f"A cache has evicted blocks in {EVICTION_DATAPOINTS[0]} of the last {EVICTION_DATAPOINTS[1]} minutes, "
                "although by the plan everything fits: there is more data, or other block lengths, than it assumes. "
                "warmbase plan "
                f"{plan.environment} says what they need.",
                periods=EVICTION_DATAPOINTS[1],
                breaching=EVICTION_DATAPOINTS[0],
            )
        volume = plan.core.volume("cache")
        planned = (plan.cache.size_bytes + plan.persistence.file_bytes) / (volume.count * volume.size_bytes)
        full = round(min(NOT_YET_UNHEALTHY, max(FULL, planned + DISK_MARGIN_FRACTION)), 3)
        yield self._nodes(
            "disk-full",
            "DiskUsed",
            "MAX",
            (ABOVE, full),
            f"A cache's volume is used to more than {full}; the plan fills {planned:.3f} of it at most. At 0.90 YARN "
            "calls the disk unhealthy, and EMR replaces the node, its cache with it. warmbase verify "
            f"{plan.environment} says what lies there.",
        )

    def _of_reads(self) -> Iterator[Alarm]:
        allowed = max(LEAST_P99_MS, math.ceil(P99_MARGIN * self.plan.throughput.p99_latency_ms))
        yield self._nodes(
            "gets-slow",
            "GetP99",
            "MAX",
            (ABOVE, allowed),
            f"One in a hundred gets of a RegionServer took longer than {allowed} ms for 5 minutes, twice what the plan "
            f"has, or 50 ms. {self.status} says whether its cache is cold.",
        )
        yield self._nodes(
            "long-pause",
            "LongPauses",
            "SUM",
            (ABOVE, 0),
            "The JVM of a RegionServer stood still for more than ten seconds. ZooKeeper gives a server up that stays "
            "away, and its regions move to others, which have not cached them. "
            f"{self.status} says whether all answer.",
            periods=1,
        )
