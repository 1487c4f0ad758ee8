"""The alarms of a cluster as CloudWatch describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dashboards.alarm_names import is_alarm_of
from environments.names import emr_cluster_name
from operations.aws import Aws
from sizing.equality import EqualButFor


class DescribedAlarm(EqualButFor, frozen=True, kw_only=True):
    """An alarm, metric or composite. `watched` is namespace, metric, statistic and dimensions, a query, or the rule.

    `silenced` is true while its actions are disabled. `state` is OK, ALARM or INSUFFICIENT_DATA.
    """

    UNCOMPARED: ClassVar[str] = "state"

    description: str
    watched: tuple[str, ...]
    period_seconds: int = 0
    periods: int = 0
    breaching: int = 0
    comparison: str = ""
    threshold: float = 0.0
    missing: str = ""
    silenced: bool = False
    state: str = ""


def described_alarms(aws: Aws, environment: str, cluster_name: str) -> Mapping[str, DescribedAlarm]:
    """Return the alarms of a cluster by name."""
    pages: Any = aws.cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmNamePrefix=f"{emr_cluster_name(environment, cluster_name)}-", AlarmTypes=["MetricAlarm", "CompositeAlarm"]
    )
    alarms: dict[str, DescribedAlarm] = {}
    for page in pages:
        alarms |= {alarm["AlarmName"]: _alarm(alarm) for alarm in page.get("MetricAlarms", ())}
        alarms |= {alarm["AlarmName"]: _composite_alarm(alarm) for alarm in page.get("CompositeAlarms", ())}
    return {name: alarm for name, alarm in alarms.items() if is_alarm_of(name, environment, cluster_name)}


def _composite_alarm(alarm: Mapping[str, Any]) -> DescribedAlarm:
    return DescribedAlarm(
        description=alarm.get("AlarmDescription", ""),
        watched=(alarm["AlarmRule"],),
        state=alarm["StateValue"],
        silenced=not alarm.get("ActionsEnabled", True),
    )


def _alarm(alarm: Mapping[str, Any]) -> DescribedAlarm:
    queries = alarm.get("Metrics", ())
    dimensions = sorted(f"{dimension['Name']}={dimension['Value']}" for dimension in alarm.get("Dimensions", ()))
    one = (alarm.get("Namespace", ""), alarm.get("MetricName", ""), alarm.get("Statistic", ""), *dimensions)
    return DescribedAlarm(
        # An alarm that was made by hand may have none.
        description=alarm.get("AlarmDescription", ""),
        watched=tuple(query.get("Expression", "") for query in queries) if queries else one,
        period_seconds=queries[0].get("Period", 0) if queries else alarm.get("Period", 0),
        periods=alarm["EvaluationPeriods"],
        breaching=alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"],
        comparison=alarm["ComparisonOperator"],
        threshold=alarm.get("Threshold", 0.0),
        missing=alarm.get("TreatMissingData", "missing"),
        state=alarm["StateValue"],
    )
