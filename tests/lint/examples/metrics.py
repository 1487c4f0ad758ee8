"""Examples of the rules about metrics."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import File

METRICS = (
    Case(
        "WB801",
        "emr-metrics/emr-system-metrics ",
        "with an empty emr-system-metrics no system metric is published",
        File(others={"emr-metrics/emr-system-metrics/disk": None, "emr-metrics/emr-system-metrics": {}}),
    ),
    Case(
        "WB802",
        "emr-metrics ",
        "an empty emr-metrics publishes 34 system metrics and none of HBase",
        File(others={"emr-metrics/emr-system-metrics/disk": None, "emr-metrics": {}}),
    ),
    Case(
        "WB803",
        "emr-metrics/emr-hbase-region-server-metrics Hadoop:service=HBase,name=RegionServer,sub=Server",
        "l2CacheHitRatio (0 to 1) is an average since the start of",
        File(
            others={
                "emr-metrics/emr-hbase-region-server-metrics": {
                    "Hadoop:service=HBase,name=RegionServer,sub=Server": "l2CacheHitCount,l2CacheHitRatio"
                }
            }
        ),
        File(
            others={
                "emr-metrics/emr-hbase-region-server-metrics": {
                    "Hadoop:service=HBase,name=RegionServer,sub=Server": "l2CacheHitCount,l2CacheMissCount"
                }
            }
        ),
    ),
    Case(
        "WB804",
        "emr-metrics/emr-hbase-region-server-metrics otel.metric.export.interval",
        "every 30 s",
        File(others={"emr-metrics/emr-hbase-region-server-metrics": {"otel.metric.export.interval": "30000"}}),
        File(others={"emr-metrics/emr-hbase-region-server-metrics": {"otel.metric.export.interval": "60000"}}),
    ),
    Case(
        "WB805",
        "emr-metrics emr-system-metrics",
        "34 system metrics of every node",
        File(others={"emr-metrics/emr-system-metrics/disk": None}),
    ),
)
