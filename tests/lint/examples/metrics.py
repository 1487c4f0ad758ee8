"""Examples of the rules about metrics."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import File

METRICS = (
    Case(
        id="WB801",
        faulty=File(others={"emr-metrics/emr-system-metrics/disk": None, "emr-metrics/emr-system-metrics": {}}),
        at="emr-metrics/emr-system-metrics ",
        says="with an empty emr-system-metrics no system metric is published",
    ),
    Case(
        id="WB802",
        faulty=File(others={"emr-metrics/emr-system-metrics/disk": None, "emr-metrics": {}}),
        at="emr-metrics ",
        says="an empty emr-metrics publishes 34 system metrics and none of HBase",
    ),
    Case(
        id="WB803",
        faulty=File(
            others={
                "emr-metrics/emr-hbase-region-server-metrics": {
                    "Hadoop:service=HBase,name=RegionServer,sub=Server": "l2CacheHitCount,l2CacheHitRatio"
                }
            }
        ),
        right=File(
            others={
                "emr-metrics/emr-hbase-region-server-metrics": {
                    "Hadoop:service=HBase,name=RegionServer,sub=Server": "l2CacheHitCount,l2CacheMissCount"
                }
            }
        ),
        at="emr-metrics/emr-hbase-region-server-metrics Hadoop:service=HBase,name=RegionServer,sub=Server",
        says="l2CacheHitRatio (0 to 1) is an average since the start of",
    ),
    Case(
        id="WB804",
        faulty=File(
            others={"emr-metrics/emr-hbase-region-server-metrics": {"otel.metric.export.interval": "30000"}},
        ),
        right=File(
            others={"emr-metrics/emr-hbase-region-server-metrics": {"otel.metric.export.interval": "60000"}},
        ),
        at="emr-metrics/emr-hbase-region-server-metrics otel.metric.export.interval",
        says="every 30 s",
    ),
    Case(
        id="WB805",
        faulty=File(others={"emr-metrics/emr-system-metrics/disk": None}),
        at="emr-metrics emr-system-metrics",
        says="34 system metrics of every node",
    ),
)
