"""Metrics that EMR publishes, and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.metrics import EXPORT_INTERVAL_MS
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import NO_AWS, Violation, rule

EMR: Final = "emr-metrics"
SYSTEM: Final = "emr-metrics/emr-system-metrics"
AGENT: Final = "EMR Release Guide, AmazonCloudWatchAgent-config-710"
DEFAULT_SYSTEM_METRICS: Final = 34


def _nothing_in(node: LintedNode, path: str) -> bool:
    inside = (
        classification for classification in node.subject.classifications if classification.startswith(f"{path}/")
    )
    return not any(inside) and not any(found == path for found, _ in node.settings)


@rule(
    id="WB801",
    severity=Severity.ERROR,
    title="an empty emr-system-metrics",
    because="EMR documents it as the way to switch metrics off",
    fix="name the metrics inside it, or leave it out",
    source=AGENT,
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _empty_system(node: LintedNode) -> Iterator[Violation]:
    if SYSTEM in node.subject.classifications and _nothing_in(node, SYSTEM):
        yield Violation(
            classification=SYSTEM,
            line=node.subject.classifications[SYSTEM],
            message="an emr-system-metrics with nothing in it publishes no system metric at all",
        )


@rule(
    id="WB802",
    severity=Severity.ERROR,
    title="an empty emr-metrics",
    because="it resets what was configured, and removes HBase's metrics",
    fix="name metrics, or leave it out",
    source=AGENT,
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _empty(node: LintedNode) -> Iterator[Violation]:
    if EMR in node.subject.classifications and _nothing_in(node, EMR):
        yield Violation(
            classification=EMR,
            line=node.subject.classifications[EMR],
            message="an emr-metrics with nothing in it is the default: 34 system metrics, and none of HBase",
        )


@rule(
    id="WB803",
    severity=Severity.WARNING,
    title="a lifetime ratio as a metric",
    because="it hardly moves when a cache is lost after a month, begins anew at each restart, and a mean of it "
    "over servers weighs idle ones alike",
    fix="publish l2CacheHitCount and l2CacheMissCount, and divide their rates",
    source="HBase 2.6.2 MetricsRegionServerWrapperImpl",
    proof=NO_AWS,
)
def _lifetime_ratio(node: LintedNode) -> Iterator[Violation]:
    for setting in node.settings.values():
        if setting.classification.startswith(EMR) and "l2CacheHitRatio" in setting.value:
            yield Violation(
                at=setting, message="l2CacheHitRatio is an average since each RegionServer's start, from 0 to 1"
            )


@rule(
    id="WB804",
    severity=Severity.INFO,
    title="metrics finer than they are kept",
    because="the agent's metrics have a resolution of 60 s",
    fix="use 60000",
    source=AGENT,
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _period_below_retention(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        if path.startswith(EMR) and key == "otel.metric.export.interval":
            interval = node.number(key, None, path)
            if interval is not None and interval < EXPORT_INTERVAL_MS:
                yield Violation(at=setting, message=f"every {interval / 1000:g} s, and CloudWatch keeps a minute")


@rule(
    id="WB805",
    severity=Severity.INFO,
    title="all of the agent's system metrics",
    because="that is $10.20 for each node and month at $0.30 for a metric",
    fix="state emr-system-metrics with those that you look at",
    source="CloudWatch prices, first 10,000 metrics",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _all_system_metrics(node: LintedNode) -> Iterator[Violation]:
    agent = EMR in node.subject.classifications or "AmazonCloudWatchAgent" in node.subject.applications
    if agent and SYSTEM not in node.subject.classifications:
        yield Violation(
            classification=EMR,
            property="emr-system-metrics",
            line=node.subject.classifications.get(EMR),
            message=f"the agent publishes its {DEFAULT_SYSTEM_METRICS} system metrics of every node",
        )
