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
from dashboards.alarm import Alarm, Call, Comparison, Missing
from dashboards.expected import warm_fill, warming_seconds
from dashboards.graph import FIVE_MINUTES, MINUTE, Exact
from dashboards.node import FULL, of_cluster
from dashboards.query import Aggregate, insights
from dashboards.reads import of_root
from environments.names import cluster_name
from sizing.plan import Plan

__all__ = ["NO_FAULT", "alarms", "calls"]

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
COOLED: Final = 0.9  # judgement: of the planned fill; a cache with less is still filling
SETTLED: Final = 10  # judgement: minutes for which a cache that has filled is still called filling; others lag by five
NEARLY_FULL: Final = 0.94
BEHIND_INTERVALS: Final = 2
ABOVE: Final = "GreaterThanThreshold"
FROM: Final = "GreaterThanOrEqualToThreshold"
BELOW: Final = "LessThanThreshold"
Breach = tuple[Comparison, float]
PUBLISHED: Final = 0.8  # of the looks that five minutes have; a timer may slip by one


def alarms(plan: Plan, root_bucket: str) -> tuple[Alarm, ...]:
    """All that apply to the plan's mode."""
    made = _Alarms(plan, root_bucket)
    of_s3 = (made.gets_above_plan(), made.s3_refuses()) if plan.mode.in_s3 else ()
    return (made.core_node_missing(), *of_s3, *(made.of_cache() if plan.mode.cached else ()))


def calls(plan: Plan, root_bucket: str) -> tuple[Call, ...]:
    """Who is called for what; a call none of whose alarms apply is left out."""
    name = cluster_name(plan.environment, plan.cluster)
    there = {alarm.name.removeprefix(f"{name}-") for alarm in alarms(plan, root_bucket)}

    def any_of(*wanted: str) -> str:
        found = [f'ALARM("{name}-{each}")' for each in wanted if each in there]
        return f"({' OR '.join(found)})" if found else ""

    servers = any_of("core-node-missing", "server-down", "publisher-silent", "meta-unassigned")
    warming = f'(ALARM("{name}-cache-filling") AND ALARM("{name}-server-young"))'
    cold = any_of("hit-ratio-low", "server-cold", "s3-gets-above-plan")
    lost = any_of("cache-lost")
    cache = f"({lost} OR ({cold} AND NOT {warming})) AND NOT {servers}" if lost else f"{cold} AND NOT {servers}"
    full = any_of("cache-nearly-full")
    evicts = any_of("cache-evicts")
    rooms = [any_of("disk-full"), f"({full} AND {evicts})" if full and evicts else ""]
    slow = any_of("gets-slow", "long-pause", "s3-refuses")
    look = f"warmbase status {plan.environment}"
    causes = (
        _cause(
            "servers",
            servers,
            f"RegionServers or nodes are missing, or nobody serves hbase:meta. {look} says which.",
        ),
        _cause(
            "cache",
            cache if cold else "",
            "Reads go to S3 that the cache should answer, and it is neither warming nor short of a server. "
            f"{look} shows fill and hit ratio of each server.",
        ),
        _cause(
            "writes-to-cache",
            any_of("insertions-fail", "index-behind"),
            "What is read or written does not get into the cache, or not into its index. "
            f"warmbase verify {plan.environment} looks at the nodes.",
        ),
        _cause(
            "room",
            " OR ".join(filter(None, rooms)),
            f"The cache, or its volume, is too small. warmbase plan {plan.environment} says what would do.",
        ),
        _cause(
            "reads",
            f"{slow} AND NOT {servers} AND NOT ({cache})" if slow and cold else "",
            f"Reads are slow, though servers and cache are well. {look} shows what they wait for.",
        ),
    )
    return tuple(
        Call(name=f"{name}-call-{cause}", description=description, rule=rule)
        for cause, rule, description in causes
        if rule
    )


def _cause(name: str, rule: str, description: str) -> tuple[str, str, str]:
    return name, rule, description


class _Alarms:
    """The alarms one by one."""

    def __init__(self, plan: Plan, root_bucket: str) -> None:
        self.plan, self.root_bucket = plan, root_bucket
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
            name=f"{cluster_name(self.plan.environment, self.plan.cluster)}-{name}",
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
    ) -> Alarm:
        watched = insights(metric(published), aggregate)
        return self._alarm(name, watched, breach, description, periods=periods, breaching=breaching)

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
        """Of request metrics, which the root bucket keeps."""
        plan = self.plan
        per_read = next(each.demand_per_read for each in plan.throughput.resources if each.name == "s3-requests")
        warm = plan.throughput.reads_per_second * per_read
        allowed = max(LEAST_GETS_PER_SECOND, GETS_MARGIN * warm)
        why = f"the plan has {warm:,.0f}: without a cache each read goes there."
        if plan.mode.cached:
            why = f"the warm cache leaves {warm:,.0f}. Expected while it warms up, else the cache is lost or too small."
        return self._alarm(
            "s3-gets-above-plan",
            of_root("GetRequests", self.root_bucket),
            (ABOVE, math.ceil(allowed * FIVE_MINUTES)),
            f"The root is read from S3 at more than {allowed:,.0f} GETs/s for 15 minutes; {why} warmbase plan "
            f"{plan.environment} says why.",
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
            "asked of "
            f"a prefix than S3 gives. {self.status} shows whether a cache warms, which asks most.",
            periods=3,
            period_seconds=FIVE_MINUTES,
        )

    def of_cache(self) -> Iterator[Alarm]:
        """What the nodes publish, but for the pages' own order by what is worst."""
        yield from self._servers()
        yield from self._ratios()
        yield from self._insertions()
        yield from self._of_reads()

    def _servers(self) -> Iterator[Alarm]:
        count = self.plan.core.count
        yield self._nodes(
            "server-down", "Answering", "MIN", (BELOW, 1),
            f"A RegionServer has not answered its own node for 3 minutes. {self.status} says which.", periods=3,
        )  # fmt: skip
        looks = math.floor(PUBLISHED * count * FIVE_MINUTES / MINUTE)
        yield self._alarm(
            "publisher-silent", insights(metric("Answering"), "COUNT"), (BELOW, looks),
            f"Fewer than {looks} looks at RegionServers were published in 5 minutes, of {count * 5}: a node is gone, "
            "or its "
            f"timer. Until it is back, no other alarm knows of it. warmbase verify {self.plan.environment} looks at "
            "the nodes.",
            periods=2, period_seconds=FIVE_MINUTES, missing="breaching",
        )  # fmt: skip
        yield self._nodes(
            "meta-unassigned", "HostsMeta", "SUM", (BELOW, 1),
            f"No RegionServer has served hbase:meta for 3 minutes: no client finds a row it has not asked for before. "
            f"{self.status} says whether all servers answer.", periods=3,
        )  # fmt: skip

    def _ratios(self) -> Iterator[Alarm]:
        plan = self.plan
        tier = next((below for promised, below in TIERS if plan.hit_ratio.predicted >= promised), None)
        if tier is not None:
            promised = f"the plan has {plan.hit_ratio.predicted:.3g}"
            yield self._nodes(
                "hit-ratio-low", f"MissesOver{tier}", "SUM", (ABOVE, 0),
                f"Less than 0.{tier} of the cluster's block reads were answered by the cache for 5 minutes; "
                f"{promised}. "
                f"{self.status} shows each server's.",
            )  # fmt: skip
            yield self._nodes(
                "server-cold", "Below80", "MAX", (ABOVE, 0),
                "A RegionServer has answered less than 0.80 of its block reads from its cache for 5 minutes; "
                f"{promised}. "
                f"A multi-get waits for the coldest. {self.status} says which.",
            )  # fmt: skip
        fill, seconds = round(COOLED * warm_fill(plan), 3), warming_seconds(plan)
        yield self._nodes(
            "cache-filling", "Fill", "MIN", (BELOW, fill),
            f"A cache is filled to less than {fill}, nine tenths of what it is when warm. Calls nobody: with "
            "server-young it "
            f"says that the cache warms. {self.status} shows how far it is.", periods=SETTLED, breaching=1,
        )  # fmt: skip
        yield self._nodes(
            "server-young", "UpSeconds", "MIN", (BELOW, seconds),
            f"A RegionServer is up for less than {seconds / 60:,.0f} minutes, in which a cold cache becomes warm by "
            "the plan "
            f"and half as much again. Calls nobody. {self.status} shows how far it is.", periods=1,
        )  # fmt: skip
        yield self._nodes(
            "cache-lost", "CacheLost", "SUM", (ABOVE, 0),
            "A RegionServer has come back with less than half of the cache that it went with, and has had 5 minutes "
            "to read "
            f"its index. warmbase verify {plan.environment} looks at index and volume.",
        )  # fmt: skip

    def _insertions(self) -> Iterator[Alarm]:
        plan = self.plan
        yield self._nodes(
            "insertions-fail", "FailedInsertions", "SUM", (ABOVE, 0),
            "Blocks have not been cached for 15 minutes, because a writer's queue was full: the cache's volume is "
            "slower than "
            f"what is read from S3. warmbase plan {plan.environment} says what the volume has to give.", periods=15,
        )  # fmt: skip
        behind = BEHIND_INTERVALS * plan.persistence.interval_ms / 1000 + math.ceil(plan.persistence.dump_seconds)
        yield self._nodes(
            "index-behind", "IndexBehindSeconds", "MAX", (ABOVE, behind),
            f"The index of a cache was not written for {behind / 60:.0f} minutes though the cache has changed: a "
            "crash now would "
            f"lose what was cached since. warmbase verify {plan.environment} looks at the node.",
        )  # fmt: skip
        if plan.hit_ratio.predicted >= 1:
            yield self._nodes(
                "cache-evicts", "Evictions", "SUM", (ABOVE, 0),
                "Blocks have been evicted for 5 minutes, and by the plan everything fits: there are more data, or "
                "other block "
                f"lengths, than it was told of. warmbase plan {plan.environment} says what they need.",
            )  # fmt: skip
            yield self._nodes(
                "cache-nearly-full", "Fill", "MAX", (FROM, NEARLY_FULL),
                f"A cache is filled to {NEARLY_FULL}; at 0.95 it evicts. warmbase plan {plan.environment} says what "
                "would do.",
            )  # fmt: skip
        yield self._nodes(
            "disk-full", "DiskUsed", "MAX", (ABOVE, FULL),
            f"A cache's volume is used to more than {FULL:.2f}. At 0.90 YARN calls the disk unhealthy, and EMR "
            "replaces the node, "
            f"its cache with it. warmbase verify {plan.environment} says what lies there.",
        )  # fmt: skip

    def _of_reads(self) -> Iterator[Alarm]:
        allowed = max(LEAST_P99_MS, math.ceil(P99_MARGIN * self.plan.throughput.p99_latency_ms))
        yield self._nodes(
            "gets-slow", "GetP99", "MAX", (ABOVE, allowed),
            f"One in a hundred gets of a RegionServer took longer than {allowed} ms for 5 minutes, twice what the "
            "plan has, or "
            f"50 ms. {self.status} says whether its cache is cold.",
        )  # fmt: skip
        yield self._nodes(
            "long-pause", "LongPauses", "SUM", (ABOVE, 0),
            "The JVM of a RegionServer stood still for more than ten seconds. ZooKeeper gives a server up that "
            "stays away, and its "
            f"regions move to others, which have not cached them. {self.status} says whether all answer.", periods=1,
        )  # fmt: skip
