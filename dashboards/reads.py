"""The dashboard of reads: how many, how fast, what they wait for, what they ask of S3 and of the volumes."""

from __future__ import annotations

from configurations.metrics import metric
from dashboards.graph import FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark
from dashboards.query import search
from sizing.plan import Plan
from sizing.units import MIB

__all__ = ["ROOT_METRICS_FILTER", "of_root", "read_graphs"]

ROOT_METRICS_FILTER = "hbase-root"
"""Id of the request metrics that the root bucket keeps for the root's prefix."""


def read_graphs(plan: Plan, root_bucket: str) -> tuple[Graph, ...]:
    """From what clients see to what lies below."""
    return (
        _requests(),
        *((_latency(plan),) if plan.mode.has_bucket_cache else ()),
        _handlers(plan),
        _queue(),
        *((_s3(root_bucket),) if plan.mode.keeps_data_in_s3 else ()),
        *((_volume_bytes(plan), _volume_operations(plan)) if plan.mode.has_bucket_cache else ()),
    )


def of_root(name: str, root_bucket: str) -> Exact:
    """Return a request metric of the HBase root."""
    dimensions = {"BucketName": root_bucket, "FilterId": ROOT_METRICS_FILTER}
    return Exact(metric=metric(name), dimensions=dimensions, statistic="Sum")


def rate(attribute: str, identity: str, label: str) -> tuple[GraphLine, GraphLine]:
    """Of a counter, all daemons: where one restarts its counter begins anew, and that minute is drawn as 0."""
    summed = f"SUM(RATE({search(metric(attribute), 'Maximum', MINUTE)}))"
    return (
        GraphLine(of=summed, id=f"{identity}_change", label=label, visible=False),
        GraphLine(of=f"IF({identity}_change > 0, {identity}_change, 0)", id=identity, label=label),
    )


def _requests() -> Graph:
    return Graph(
        title="Requests a second, all RegionServers (too low in the minute in which one restarts)",
        lines=(*rate("readRequestCount", "reads", "reads"), *rate("writeRequestCount", "writes", "writes")),
        unit="requests/s",
    )


def _latency(plan: Plan) -> Graph:
    return Graph(
        title="Gets: 99 of 100 were served within, by RegionServer",
        lines=(GraphLine(of=search(metric("GetP99"), "Maximum", MINUTE), id="p99"),),
        unit="ms",
        marks=(
            Mark(value=round(plan.throughput.p99_latency_ms, 1), label="planned, with what clients wait (estimate)"),
        ),
    )


def _handlers(plan: Plan) -> Graph:
    return Graph(
        title="Handlers in use, by RegionServer: when all are, requests queue",
        lines=(GraphLine(of=search(metric("numActiveHandler"), "Maximum", MINUTE), id="handlers"),),
        unit="handlers",
        marks=(Mark(value=plan.handlers, label="all of them"),),
    )


def _queue() -> Graph:
    return Graph(
        title="Requests that wait for a handler, by RegionServer",
        lines=(GraphLine(of=search(metric("queueSize"), "Maximum", MINUTE), id="queue"),),
        unit="bytes",
    )


def _s3(root_bucket: str) -> Graph:
    return Graph(
        title="Requests to S3 below the HBase root, in five minutes",
        lines=(
            GraphLine(of=of_root("GetRequests", root_bucket), id="gets", label="GETs"),
            GraphLine(of=of_root("5xxErrors", root_bucket), id="refused", label="refused (5xx)"),
        ),
        unit="requests",
        period_seconds=FIVE_MINUTES,
    )


def _volume_bytes(plan: Plan) -> Graph:
    volume = plan.core.volume("cache")
    bought = (volume.throughput_mib_s or 0) * MIB * volume.count
    return Graph(
        title="Throughput of the cache's volume, the busiest node's",
        lines=(
            GraphLine(
                of=f"MAX({search(metric('VolumeBytes'), 'Sum', MINUTE)}) / {MINUTE}", id="bytes", label="busiest"
            ),
        ),
        unit="B/s",
        marks=(Mark(value=bought, label="bought"),) if bought else (),
    )


def _volume_operations(plan: Plan) -> Graph:
    volume = plan.core.volume("cache")
    bought = (volume.iops or 0) * volume.count
    return Graph(
        title="Reads and writes of the cache's volume, the busiest node's",
        lines=(
            GraphLine(
                of=f"MAX({search(metric('VolumeOperations'), 'Sum', MINUTE)}) / {MINUTE}", id="io", label="busiest"
            ),
        ),
        unit="IO/s",
        marks=(Mark(value=bought, label="bought"),) if bought else (),
    )
