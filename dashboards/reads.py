"""The dashboard of reads: their rate and latency, the handlers they wait for, and their load on S3 and volumes."""

from __future__ import annotations

from configurations.metrics import metric
from dashboards.graph import FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark
from dashboards.query import search
from environments.root import Root
from sizing.plan import Plan
from sizing.units import MIB

REQUESTS_TITLE = "Requests per second, all RegionServers (too low in the minute of a restart)"


def read_graphs(plan: Plan, root: Root) -> tuple[Graph, ...]:
    """Return the graphs, from what clients notice down to volumes and S3."""
    return (
        _requests(),
        *((_latency(plan),) if plan.mode.has_bucket_cache else ()),
        _handlers(plan),
        _queue(),
        *((_s3(root),) if plan.mode.keeps_data_in_s3 else ()),
        *((_volume_bytes(plan), _volume_operations(plan)) if plan.mode.has_bucket_cache else ()),
    )


def of_root(name: str, root: Root) -> Exact:
    """Return a request metric of the HBase root."""
    dimensions = {"BucketName": root.bucket, "FilterId": root.metrics_id}
    return Exact(metric=metric(name), dimensions=dimensions, statistic="Sum")


def rate(attribute: str, identity: str, label: str) -> tuple[GraphLine, GraphLine]:
    """Return the rate of a counter over all daemons. A restart resets the counter, and its minute is drawn as 0."""
    summed = f"SUM(RATE({search(metric(attribute), 'Maximum', MINUTE)}))"
    return (
        GraphLine(of=summed, id=f"{identity}_change", label=label, visible=False),
        GraphLine(of=f"IF({identity}_change > 0, {identity}_change, 0)", id=identity, label=label),
    )


def _requests() -> Graph:
    return Graph(
        title=REQUESTS_TITLE,
        lines=(*rate("readRequestCount", "reads", "reads"), *rate("writeRequestCount", "writes", "writes")),
        unit="requests/s",
    )


def _latency(plan: Plan) -> Graph:
    return Graph(
        title="Latency of gets, 99th percentile, by RegionServer",
        lines=(GraphLine(of=search(metric("GetP99"), "Maximum", MINUTE), id="p99"),),
        unit="ms",
        marks=(
            Mark(value=round(plan.busiest_hour.p99_latency_ms, 1), label="planned p99, with waiting time (estimate)"),
        ),
    )


def _handlers(plan: Plan) -> Graph:
    return Graph(
        title="Handlers in use, by RegionServer (requests queue when all are)",
        lines=(GraphLine(of=search(metric("numActiveHandler"), "Maximum", MINUTE), id="handlers"),),
        unit="handlers",
        marks=(Mark(value=plan.handlers, label="all handlers"),),
    )


def _queue() -> Graph:
    return Graph(
        title="Requests waiting for a handler, by RegionServer",
        lines=(GraphLine(of=search(metric("queueSize"), "Maximum", MINUTE), id="queue"),),
        unit="bytes",
    )


def _s3(root: Root) -> Graph:
    return Graph(
        title="Requests to S3 below the HBase root, per five minutes",
        lines=(
            GraphLine(of=of_root("GetRequests", root), id="gets", label="GETs"),
            GraphLine(of=of_root("5xxErrors", root), id="refused", label="refused (5xx)"),
        ),
        unit="requests",
        period_seconds=FIVE_MINUTES,
    )


def _volume_name(plan: Plan) -> str:
    """Return the name of the volume that the node's metrics describe: the busiest, where the cache has several."""
    return "busiest cache volume" if plan.core.volume("cache").count > 1 else "cache volume"


def _volume_bytes(plan: Plan) -> Graph:
    volume = plan.core.volume("cache")
    provisioned = (volume.throughput_mib_s or 0) * MIB
    return Graph(
        title=f"Throughput of the {_volume_name(plan)}, busiest node",
        lines=(
            GraphLine(
                of=f"MAX({search(metric('VolumeBytes'), 'Sum', MINUTE)}) / {MINUTE}", id="bytes", label="busiest"
            ),
        ),
        unit="B/s",
        marks=(Mark(value=provisioned, label="provisioned"),) if provisioned else (),
    )


def _volume_operations(plan: Plan) -> Graph:
    volume = plan.core.volume("cache")
    provisioned = volume.iops or 0
    return Graph(
        title=f"Reads and writes of the {_volume_name(plan)}, busiest node",
        lines=(
            GraphLine(
                of=f"MAX({search(metric('VolumeOperations'), 'Sum', MINUTE)}) / {MINUTE}", id="io", label="busiest"
            ),
        ),
        unit="IO/s",
        marks=(Mark(value=provisioned, label="provisioned"),) if provisioned else (),
    )
