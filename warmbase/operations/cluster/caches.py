"""The caches of a cluster's RegionServers: their latest figures as the nodes published them, and how full each is.

The fill is that of each core node that EMR lists, from the minutes that it has published.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.ground.errors import Infeasible, Refused
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import AGAIN, translated
from warmbase.operations.aws.progress import turns
from warmbase.operations.cluster.hbase_control import CacheReads
from warmbase.operations.cluster.stack import running_nodes
from warmbase.sizing.recovery.warmth import RATE_MINUTES, CacheMinute, Gate, Progress, progress, target_of

NAMESPACE: Final = "warmbase"
FIGURES: Final = {
    "Fill": "Average",
    "Answering": "Minimum",
    "Hits": "Sum",
    "Misses": "Sum",
    "Evictions": "Sum",
    "FreeBytes": "Average",
}
"""Each with how its minutes are put together."""
# judgement: long enough for a publisher that missed a minute or two, short enough to be called now.
WINDOW_MINUTES: Final = 10
PERIOD_SECONDS: Final = 60  # the publisher's timer runs each minute
MOST_QUERIES: Final = 500  # of one request: CloudWatch API Reference, GetMetricData


class ServerCache(Struct, frozen=True, kw_only=True):
    """The figures of one RegionServer over the window; None if none were published. `at` is the time of the newest."""

    instance: str
    at: datetime
    fill: float | None
    answering: float | None
    free_bytes: float | None
    hits: float | None
    misses: float | None

    @property
    def hit_ratio(self) -> float | None:
        """Return the hit ratio of the window; None where nothing was read."""
        if self.hits is None or self.misses is None or self.hits + self.misses == 0:
            return None
        return self.hits / (self.hits + self.misses)


def caches(aws: Aws, cluster_id: str, until: datetime | None = None) -> tuple[ServerCache, ...]:
    """By instance; empty where none has published in the window before `until`, which is now unless said.

    Raises botocore's errors.
    """
    instances = _instances(aws, cluster_id)
    end = until or aws.now()
    latest = _figures(aws, cluster_id, instances, (end - timedelta(minutes=WINDOW_MINUTES), end))
    servers = []
    for instance, figures in sorted(latest.items()):
        values = {name: value for name, (_, value) in figures.items()}
        servers.append(
            ServerCache(
                instance=instance,
                at=max(at for at, _ in figures.values()),
                fill=values.get("Fill"),
                answering=values.get("Answering"),
                free_bytes=values.get("FreeBytes"),
                hits=values.get("Hits"),
                misses=values.get("Misses"),
            )
        )
    return tuple(servers)


def reads_since(aws: Aws, cluster_id: str, instances: Iterable[str], since: datetime) -> Mapping[str, CacheReads]:
    """Return the reads of each instance that has published since; a minute counts if all of it is after `since`.

    A figure is of the minute before its time, and CloudWatch files it under the minute that has begun by then.
    Raises botocore's errors.
    """
    whole = (since + timedelta(seconds=2 * PERIOD_SECONDS)).replace(second=0, microsecond=0)
    period = (whole, max(aws.now(), whole) + timedelta(seconds=PERIOD_SECONDS))
    figures = _figures(aws, cluster_id, instances, period, ("Hits", "Misses"))
    return {
        instance: CacheReads(hits=totals["Hits"][1], misses=totals["Misses"][1])
        for instance, totals in figures.items()
        if totals.keys() >= {"Hits", "Misses"}
    }


def _instances(aws: Aws, cluster_id: str) -> list[str]:
    paginator, of_cluster = aws.cloudwatch.get_paginator("list_metrics"), [{"Name": "ClusterId", "Value": cluster_id}]
    metrics = entries(paginator, "Metrics", Namespace=NAMESPACE, MetricName="Fill", Dimensions=of_cluster)
    dimensions = [dimension for metric in metrics for dimension in metric["Dimensions"]]
    return sorted({dimension["Value"] for dimension in dimensions if dimension["Name"] == "InstanceId"})


def _figures(
    aws: Aws,
    cluster_id: str,
    instances: Iterable[str],
    period: tuple[datetime, datetime],
    names: Iterable[str] = tuple(FIGURES),
) -> dict[str, dict[str, tuple[datetime, float]]]:
    figures: dict[str, dict[str, tuple[datetime, float]]] = {}
    for instance, name, values in _series(aws, cluster_id, instances, period, names):
        newest = max(values)
        total = sum(values.values()) if FIGURES[name] == "Sum" else values[newest]
        figures.setdefault(instance, {})[name] = (newest, total)
    return figures


def _series(
    aws: Aws, cluster_id: str, instances: Iterable[str], period: tuple[datetime, datetime], names: Iterable[str]
) -> Iterator[tuple[str, str, Mapping[datetime, float]]]:
    """Yield each figure of each instance that was published in the period, by its time."""
    wanted = [(instance, name) for instance in instances for name in tuple(names)]
    for first in range(0, len(wanted), MOST_QUERIES):
        some = wanted[first : first + MOST_QUERIES]
        values: dict[tuple[str, str], dict[datetime, float]] = {}
        queries: Any = []
        for number, (instance, name) in enumerate(some):
            dimensions = [{"Name": "ClusterId", "Value": cluster_id}, {"Name": "InstanceId", "Value": instance}]
            metric = {"Namespace": NAMESPACE, "MetricName": name, "Dimensions": dimensions}
            statistic = {"Metric": metric, "Period": PERIOD_SECONDS, "Stat": FIGURES[name]}
            queries.append({"Id": f"q{number}", "MetricStat": statistic})
        paginator = aws.cloudwatch.get_paginator("get_metric_data")
        times = {"StartTime": period[0], "EndTime": period[1]}
        for result in entries(paginator, "MetricDataResults", MetricDataQueries=queries, **times):
            query = some[int(result["Id"].removeprefix("q"))]
            values.setdefault(query, {}).update(zip(result["Timestamps"], result["Values"], strict=True))
        yield from ((*query, pairs) for query, pairs in values.items() if pairs)


Servers = tuple[Progress, ...]


def refuse_uncached(launch: Launch) -> None:
    """Raise Refused for a mode in which no RegionServer has a cache on disk."""
    plan = launch.plan
    if not plan.mode.has_bucket_cache:
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="has no cache on disk that could get warm",
            why=f"in mode {plan.mode} its data is read without one",
            fix="to see the cluster, use warmbase status",
        )


def read_progress(aws: Aws, launch: Launch, cluster_id: str, gate: Gate) -> Servers:
    """Return the progress of each running core node, by its instance. Raises OperationFailed."""
    target, end = target_of(launch.plan), aws.now()
    # Count the minutes of a rate, one more for its first point, and one for a late publisher.
    period = (end - timedelta(minutes=RATE_MINUTES + 2), end)
    with translated("could not read the figures of the caches", AGAIN):
        series: dict[str, dict[str, Mapping[datetime, float]]] = {}
        names = ("Fill", "Hits", "Misses", "Evictions")
        for instance, name, values in _series(aws, cluster_id, _instances(aws, cluster_id), period, names):
            series.setdefault(instance, {})[name] = values
        servers = []
        for instance in sorted(running_nodes(aws, cluster_id, "CORE")):
            fills, hits, misses, evictions = (series.get(instance, {}).get(name, {}) for name in names)
            minutes = [
                CacheMinute(
                    at_seconds=at.timestamp(),
                    fill=fill,
                    hits=hits.get(at, 0.0),
                    misses=misses.get(at, 0.0),
                    evictions=evictions.get(at, 0.0),
                )
                for at, fill in sorted(fills.items())
            ]
            servers.append(progress(instance, minutes, target, gate))
        return tuple(servers)


def wait_until_warm(
    read: Callable[[], Servers],
    seconds: float,
    watch: Callable[[Servers], None],
    period_seconds: float = PERIOD_SECONDS,
) -> bool:
    """Read once a period until every cache is warm, and return True; return False when the time is over.

    `watch` gets each reading. Raises Infeasible where a cache will not get warmer.
    """
    for _ in turns(seconds, period_seconds, period_seconds):
        servers = read()
        watch(servers)
        if servers and all(server.verdict == "warm" for server in servers):
            return True
        if hopeless := [server for server in servers if server.verdict in FIXES]:
            raise Infeasible.of(
                where=", ".join(server.instance for server in hopeless),
                what="will not get warmer",
                why="\n".join(dict.fromkeys(server.reason for server in hopeless)),
                fix=FIXES[hopeless[0].verdict],
            )
    return False


FIXES: Final = {
    "turning over": "the data that is read exceeds the caches: add core nodes or larger caches (warmbase plan), or"
    " accept a lower --hit-ratio",
    "not filling": "look whether prefetch is on and whether all regions are open; if the data is smaller than the plan"
    " expects, wait for a --hit-ratio instead",
}


def clock() -> str:
    """Return the time of day in UTC, for lines of progress."""
    return time.strftime("%H:%M", time.gmtime())
