"""Properties of metrics, each of which costs money, and of the loggers that give evidence where there is no metric."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.metrics import EXPORT_INTERVAL_MS, MetricSource, metrics_of
from warmbase.configurations.properties.property import (
    BOTH,
    CORE,
    EMR_AGENT,
    HBASE_262,
    PERIOD_MS,
    AnyText,
    Applied,
    HBaseProperty,
    ListOf,
    Matching,
    OneOf,
    RenderingContext,
    Span,
    Whole,
)

ATTRIBUTES: Final = ListOf(member=AnyText(described="an attribute of the bean"))
NAMES: Final = ListOf(member=AnyText(described="a metric of the CloudWatch agent"))


_metrics = partial(HBaseProperty, groups=BOTH, applied=Applied.LIVE, source=EMR_AGENT)


def _bean(source: MetricSource, bean: str, reason: str) -> HBaseProperty:
    """Return the property that lists the attributes of a bean that a cluster publishes."""
    return _metrics(
        bean,
        ATTRIBUTES,
        reason,
        classification=f"emr-metrics/{source}",
        value=lambda context: ",".join(metrics_of(source, context.plan.mode)[bean]),
    )


_region_server = partial(_bean, MetricSource.REGION_SERVER)
_master = partial(_bean, MetricSource.MASTER)


def _system(kind: str) -> HBaseProperty:
    """Return the property that lists the metrics of a kind, such as `cpu`, that each node publishes."""
    return _metrics(
        "metrics",
        NAMES,
        "one of the agent's 34, each of which costs by node and month",
        classification=f"emr-metrics/{MetricSource.SYSTEM}/{kind}",
        value=lambda context: ",".join(metrics_of(MetricSource.SYSTEM, context.plan.mode)[kind]),
    )


_log4j2 = partial(
    HBaseProperty,
    classification="hbase-log4j2",
    groups=CORE,
    source=f"{HBASE_262}; EMR Release Guide, HBase-release-history-changes-790",
    emr=Span(since=(7, 9, 0)),
    when=RenderingContext.has_bucket_cache,
)
_interval = partial(
    _metrics,
    key="otel.metric.export.interval",
    value=str(EXPORT_INTERVAL_MS),
    values=PERIOD_MS,
    reason=f"metrics are exported every {EXPORT_INTERVAL_MS // 1000} s, the finest resolution of a standard metric; "
    "CloudWatch would merge the recipe's 30 s into it",
)

OBSERVATION: Final = (
    _region_server(
        "Hadoop:service=HBase,name=RegionServer,sub=Server",
        "the attributes that the dashboards draw; each costs money for each node and month",
    ),
    _region_server(
        "Hadoop:service=HBase,name=RegionServer,sub=IPC", "handlers in use; when all are in use, reads queue"
    ),
    _region_server("Hadoop:service=HBase,name=JvmMetrics", "heap in use, and time in garbage collections"),
    _interval(classification="emr-metrics/emr-hbase-region-server-metrics"),
    _master("Hadoop:service=HBase,name=Master,sub=AssignmentManager", "regions that no server opens"),
    _master("Hadoop:service=HBase,name=Master,sub=Server", "RegionServers that the master has declared dead"),
    _interval(classification="emr-metrics/emr-hbase-master-metrics"),
    _metrics(
        "metrics_collection_interval",
        Whole(unit="seconds", least=1),
        "the same interval as for HBase's metrics",
        classification="emr-metrics/emr-system-metrics",
        value=str(EXPORT_INTERVAL_MS // 1000),
    ),
    _system("cpu"),
    _system("mem"),
    _system("disk"),
    _metrics(
        "metrics_destination",
        OneOf(names=("CLOUDWATCH", "PROMETHEUS"), any_case=True),
        "the destination of the metrics; the dashboards use CloudWatch",
        classification="emr-metrics",
    ),
    _metrics(
        "prometheus_endpoint",
        Matching(form=r"https://.+", described="an https address"),
        "the endpoint to which metrics for Prometheus are written",
        classification="emr-metrics",
    ),
    _log4j2(
        "logger.bucketallocator.name",
        OneOf(names=("org.apache.hadoop.hbase.io.hfile.bucket.BucketAllocator",), others=True),
        "every five minutes this logger reports, for each slot size, the space that is used and wasted: the "
        "best evidence for other bucket sizes",
        value="org.apache.hadoop.hbase.io.hfile.bucket.BucketAllocator",
    ),
    _log4j2(
        "logger.bucketallocator.level",
        OneOf(names=("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"), any_case=True),
        "the logger reports at DEBUG only",
        value="DEBUG",
    ),
)
