"""Properties of metrics, each of which costs money, and of the loggers that give evidence where there is no metric."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.metrics import EXPORT_INTERVAL_MS
from warmbase.configurations.properties.property import (
    BOTH,
    CORE,
    EMR_AGENT,
    HBASE_262,
    LONG,
    AnyText,
    Applied,
    ListOf,
    Matching,
    OneOf,
    Property,
    Span,
    Whole,
)

ATTRIBUTES: Final = ListOf(member=AnyText(described="an attribute of the bean"))
NAMES: Final = ListOf(member=AnyText(described="a metric of the CloudWatch agent"))
_metrics = partial(Property, groups=BOTH, values=ATTRIBUTES, applied=Applied.LIVE, source=EMR_AGENT)
_system = partial(_metrics, values=NAMES, reason="one of the agent's 34, each of which costs by node and month")
_log4j2 = partial(
    Property,
    classification="hbase-log4j2",
    groups=CORE,
    applied=Applied.ROLLING_RESTART,
    source=f"{HBASE_262}; EMR Release Guide, HBase-release-history-changes-790",
    emr=Span(since=(7, 9, 0)),
)
_interval = partial(
    _metrics,
    key="otel.metric.export.interval",
    values=Whole(unit="ms", least=1, most=LONG),
    reason=f"metrics are exported every {EXPORT_INTERVAL_MS // 1000} s, the finest resolution of a standard metric; "
    "CloudWatch would merge the recipe's 30 s into it",
)

OBSERVATION: Final = (
    _metrics(
        classification="emr-metrics/emr-hbase-region-server-metrics",
        key="Hadoop:service=HBase,name=RegionServer,sub=Server",
        reason="the attributes that the dashboards draw; each costs money for each node and month",
    ),
    _metrics(
        classification="emr-metrics/emr-hbase-region-server-metrics",
        key="Hadoop:service=HBase,name=RegionServer,sub=IPC",
        reason="handlers in use; when all are in use, reads queue",
    ),
    _metrics(
        classification="emr-metrics/emr-hbase-region-server-metrics",
        key="Hadoop:service=HBase,name=JvmMetrics",
        reason="heap in use, and time in garbage collections",
    ),
    _interval(classification="emr-metrics/emr-hbase-region-server-metrics"),
    _metrics(
        classification="emr-metrics/emr-hbase-master-metrics",
        key="Hadoop:service=HBase,name=Master,sub=AssignmentManager",
        reason="regions that no server opens",
    ),
    _metrics(
        classification="emr-metrics/emr-hbase-master-metrics",
        key="Hadoop:service=HBase,name=Master,sub=Server",
        reason="RegionServers that the master has declared dead",
    ),
    _interval(classification="emr-metrics/emr-hbase-master-metrics"),
    _metrics(
        classification="emr-metrics/emr-system-metrics",
        key="metrics_collection_interval",
        values=Whole(unit="seconds", least=1),
        reason="the same interval as for HBase's metrics",
    ),
    _system(classification="emr-metrics/emr-system-metrics/cpu", key="metrics"),
    _system(classification="emr-metrics/emr-system-metrics/mem", key="metrics"),
    _system(classification="emr-metrics/emr-system-metrics/disk", key="metrics"),
    _metrics(
        classification="emr-metrics",
        key="metrics_destination",
        values=OneOf(names=("CLOUDWATCH", "PROMETHEUS"), any_case=True),
        reason="the destination of the metrics; the dashboards use CloudWatch",
    ),
    _metrics(
        classification="emr-metrics",
        key="prometheus_endpoint",
        values=Matching(form=r"https://.+", described="an https address"),
        reason="the endpoint to which metrics for Prometheus are written",
    ),
    _log4j2(
        key="logger.bucketallocator.name",
        values=OneOf(names=("org.apache.hadoop.hbase.io.hfile.bucket.BucketAllocator",), others=True),
        reason="every five minutes this logger reports, for each slot size, the space that is used and wasted: the "
        "best evidence for other bucket sizes",
    ),
    _log4j2(
        key="logger.bucketallocator.level",
        values=OneOf(names=("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"), any_case=True),
        reason="the logger reports at DEBUG only",
    ),
)
