"""Queries by which dashboards and alarms find metrics: SEARCH expressions, and Metrics Insights.

CloudWatch limits what they can evaluate:
    - SEARCH returns an array of series; SUM, MIN, MAX and AVG of an array are one series. Arithmetic takes numbers and
      series, and an array with one series, but no two arrays: two searches cannot give a ratio by server
      (CloudWatch User Guide, using-metric-math, on its data types).
    - SEARCH finds at most 500 series, and none that had no data in two weeks (using-search-expressions).
    - An alarm may not search. One on a Metrics Insights query sees the last three hours; the query may match 10,000
      metrics, and GetMetricData takes one query at a time: no ratio of two (alarm-limits,
      cloudwatch-metrics-insights-limits).
    - Metrics Insights aggregates by SUM, MIN, MAX, AVG and COUNT, and knows no RATE (…-querylanguage). Its alarms may
      be one for each series that breaches, a contributor (Create_Multi_Series_Metrics_Insights_Alarm).
    - PromQL divides and finds servers in graphs and alarms, but only in metrics that arrive by OTLP
      (CloudWatch-PromQL, Create_PromQL_Alarm); EMR's agent sends none.
So the node publishes figures of one minute, and misses in a form whose sum can be compared with 0.
"""

from __future__ import annotations

from typing import Final, Literal

from configurations.metrics import Metric, MetricSource

CLUSTER_ID: Final = "${ClusterId}"
"""The place where CloudFormation fills in the id of the cluster."""

Statistic = Literal["Sum", "Minimum", "Maximum", "Average"]
Aggregate = Literal["SUM", "MIN", "MAX", "AVG", "COUNT"]


def search(metric: Metric, statistic: Statistic, period_seconds: int) -> str:
    """Return a metric-math SEARCH for one metric of every daemon or node of the cluster that publishes it.

    The value of `service.name` for HBase is not documented, so no query names it; SEARCH finds it.
    """
    agent = metric.source not in {MetricSource.NODE, MetricSource.EMR}
    names = ",".join(f'"{name}"' if agent else name for name in metric.dimensions)
    where = f'"{metric.dimensions[0]}"' if agent else metric.dimensions[0]
    terms = f'MetricName="{metric.cloudwatch}" {where}="{CLUSTER_ID}"'
    return f"SEARCH('{{{metric.namespace},{names}}} {terms}', '{statistic}', {period_seconds})"


def insights(metric: Metric, aggregate: Aggregate) -> str:
    """Return a Metrics Insights query over all nodes of the cluster; the alarm's period is the query's."""
    schema = f'SCHEMA("{metric.namespace}", {", ".join(metric.dimensions)})'
    where = f"{metric.dimensions[0]} = '{CLUSTER_ID}'"
    return f"SELECT {aggregate}({metric.cloudwatch}) FROM {schema} WHERE {where}"  # noqa: S608 - names of ours alone
