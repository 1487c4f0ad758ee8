"""Metrics that EMR publishes, and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.configurations.metrics import EXPORT_INTERVAL_MS
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import NO_AWS, Rule, Violation, emr_rule

EMR: Final = "emr-metrics"
SYSTEM: Final = "emr-metrics/emr-system-metrics"
AGENT: Final = "EMR Release Guide, AmazonCloudWatchAgent-config-710"
DEFAULT_SYSTEM_METRICS: Final = 34


def _nothing_in(node: LintedNode, path: str) -> bool:
    inside = (
        classification for classification in node.subject.classifications if classification.startswith(f"{path}/")
    )
    return not any(inside) and not any(classification == path for classification, _ in node.settings)


@emr_rule(
    id="WB801",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="empty emr-system-metrics",
    because="EMR documents an empty emr-system-metrics as the way to turn metrics off",
    fix="list metrics inside it, or remove it",
    source=AGENT,
)
def _empty_system(node: LintedNode) -> Iterator[Violation]:
    if SYSTEM in node.subject.classifications and _nothing_in(node, SYSTEM):
        yield Violation(
            "",
            "with an empty emr-system-metrics no system metric is published",
            classification=SYSTEM,
            line=node.subject.classifications[SYSTEM],
        )


@emr_rule(
    id="WB802",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="empty emr-metrics",
    because="it resets the configuration of metrics, which removes those of HBase",
    fix="list metrics, or remove it",
    source=AGENT,
)
def _empty(node: LintedNode) -> Iterator[Violation]:
    if EMR in node.subject.classifications and _nothing_in(node, EMR):
        yield Violation(
            "",
            f"an empty emr-metrics publishes {DEFAULT_SYSTEM_METRICS} system metrics and none of HBase",
            classification=EMR,
            line=node.subject.classifications[EMR],
        )


@Rule(
    id="WB803",
    severity=Severity.WARNING,
    title="lifetime hit ratio as a metric",
    because="it hardly moves when a month-old cache is lost, it restarts with each server, and its "
    "average over servers gives idle ones the same weight",
    fix="publish l2CacheHitCount and l2CacheMissCount, and divide their rates",
    source="HBase 2.6.2 MetricsRegionServerWrapperImpl",
    proof=NO_AWS,
)
def _lifetime_ratio(node: LintedNode) -> Iterator[Violation]:
    for setting in node.settings.values():
        if setting.classification.startswith(EMR) and "l2CacheHitRatio" in setting.value:
            yield Violation(setting, "l2CacheHitRatio (0 to 1) is an average since the start of each RegionServer")


@emr_rule(
    id="WB804",
    severity=Severity.INFO,
    title="metrics published more often than CloudWatch stores them",
    because="CloudWatch keeps the agent's metrics at a resolution of 60 s",
    fix="use 60000",
    source=AGENT,
)
def _period_below_retention(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        if path.startswith(EMR) and key == "otel.metric.export.interval":
            interval = node.number(key, None, path)
            if interval is not None and interval < EXPORT_INTERVAL_MS:
                yield Violation(
                    setting, f"published every {interval / 1000:g} s, but CloudWatch keeps one value a minute"
                )


@emr_rule(
    id="WB805",
    severity=Severity.INFO,
    title="all system metrics of the agent",
    because="they cost $10.20 for each node and month, at $0.30 for each metric",
    fix="add emr-system-metrics with only the metrics that you look at",
    source="CloudWatch prices, first 10,000 metrics",
)
def _all_system_metrics(node: LintedNode) -> Iterator[Violation]:
    agent = EMR in node.subject.classifications or "AmazonCloudWatchAgent" in node.subject.applications
    if agent and SYSTEM not in node.subject.classifications:
        yield Violation(
            "emr-system-metrics",
            f"the agent publishes all {DEFAULT_SYSTEM_METRICS} system metrics of every node",
            classification=EMR,
            line=node.subject.classifications.get(EMR),
        )
