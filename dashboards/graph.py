"""Graphs as CloudWatch's dashboard body takes them, and the queries by which graphs and alarms find metrics.

Queries are SEARCH expressions, and Metrics Insights. CloudWatch limits what they can evaluate:
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

Source: CloudWatch API Reference, CloudWatch-Dashboard-Body-Structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, Literal

from msgspec import Struct

from warmbase.configurations.metrics import Metric, MetricSource, metric

MINUTE: Final = 60
FIVE_MINUTES: Final = 300
COLUMNS: Final = 24
HEIGHT: Final = 6
SEARCHED: Final = re.compile(r'MetricName="([^"]+)"')


class Exact(Struct, frozen=True, kw_only=True):
    """One series, which its exact dimensions name."""

    metric: Metric
    dimensions: Mapping[str, str]
    statistic: Statistic

    def drawn(self, label: str, identity: str) -> list[Any]:
        """Return the entry of a graph's `metrics`."""
        parts = [part for name, value in self.dimensions.items() for part in (name, value)]
        options = {"stat": self.statistic, "label": label, "id": identity}
        return [self.metric.namespace, self.metric.cloudwatch, *parts, options]

    def metric_stat(self) -> dict[str, Any]:
        """Return the `MetricStat` of GetMetricData, without its period."""
        dimensions = [{"Name": name, "Value": value} for name, value in self.dimensions.items()]
        metric = {"Namespace": self.metric.namespace, "MetricName": self.metric.cloudwatch, "Dimensions": dimensions}
        return {"Metric": metric, "Stat": self.statistic}


class GraphLine(Struct, frozen=True):
    """A line of a graph, or an invisible series that other lines use. `of` is an expression or an exact series.

    Where the label is empty, an expression that gives several series labels each of them.
    """

    of: str | Exact
    id: str
    label: str = ""
    visible: bool = True

    def drawn(self) -> list[Any]:
        """Return the entry of a graph's `metrics`."""
        if isinstance(self.of, Exact):
            return self.of.drawn(self.label, self.id)
        return [{"expression": self.of, "label": self.label, "id": self.id, "visible": self.visible}]

    def metric_data_query(self, period_seconds: int) -> dict[str, Any]:
        """Return a query of GetMetricData; the caller fills in `${ClusterId}`."""
        if isinstance(self.of, Exact):
            of: dict[str, Any] = {"MetricStat": {**self.of.metric_stat(), "Period": period_seconds}}
        else:
            of = {"Expression": self.of, "Period": period_seconds}
        return {"Id": self.id, "ReturnData": self.visible, **of}


class Mark(Struct, frozen=True):
    """A horizontal line, such as a planned figure; the label says what it marks."""

    value: float
    label: str


class Graph(Struct, frozen=True):
    """One graph. `unit` labels its axis; `most` is the upper end of the axis, None where it follows the data."""

    title: str
    unit: str
    lines: tuple[GraphLine, ...]
    most: float | None = None
    marks: tuple[Mark, ...] = ()
    period_seconds: int = MINUTE
    width: int = 12

    @property
    def anchor(self) -> str:
        """Return the id of the graph's row in docs/dashboards.md."""
        return f"graph-{re.sub(r'[^a-z0-9]+', '-', self.title.lower()).strip('-')}"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Return the metrics that the lines read, each once."""
        read = (
            [line.of.metric] if isinstance(line.of, Exact) else map(metric, SEARCHED.findall(line.of))
            for line in self.lines
        )
        return tuple(dict.fromkeys(chain.from_iterable(read)))

    def properties(self, region: str) -> dict[str, Any]:
        """Return the `properties` of the graph's widget."""
        axis: dict[str, Any] = {"min": 0, "label": self.unit, "showUnits": False}
        if self.most is not None:
            axis["max"] = self.most
        properties: dict[str, Any] = {
            "region": region,
            "view": "timeSeries",
            "stacked": False,
            "title": self.title,
            "metrics": [line.drawn() for line in self.lines],
            "period": self.period_seconds,
            "yAxis": {"left": axis},
        }
        if self.marks:
            properties["annotations"] = {
                "horizontal": [{"label": mark.label, "value": mark.value} for mark in self.marks]
            }
        return properties


def board_body(graphs: Sequence[Graph], region: str) -> str:
    """Return the DashboardBody as JSON, graphs from left to right; CloudFormation fills in `${ClusterId}`."""
    widgets, x, y = [], 0, 0
    for graph in graphs:
        if x + graph.width > COLUMNS:
            x, y = 0, y + HEIGHT
        place = {"type": "metric", "x": x, "y": y, "width": graph.width, "height": HEIGHT}
        widgets.append({**place, "properties": graph.properties(region)})
        x += graph.width
    return json.dumps({"widgets": widgets}, indent=1)


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


def by_minute(name: str, statistic: Statistic) -> str:
    """Return the SEARCH for a metric by its name, with a value for each minute."""
    return search(metric(name), statistic, MINUTE)


def insights(metric: Metric, aggregate: Aggregate) -> str:
    """Return a Metrics Insights query over all nodes of the cluster; the alarm's period is the query's."""
    schema = f'SCHEMA("{metric.namespace}", {", ".join(metric.dimensions)})'
    where = f"{metric.dimensions[0]} = '{CLUSTER_ID}'"
    return f"SELECT {aggregate}({metric.cloudwatch}) FROM {schema} WHERE {where}"  # noqa: S608 - names of ours alone
