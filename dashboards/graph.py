"""Graphs of a dashboard, and the series that they draw, as CloudWatch's dashboard body takes them.

Source: CloudWatch API Reference, CloudWatch-Dashboard-Body-Structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from msgspec import Struct

from configurations.metrics import Metric, metric
from dashboards.query import Statistic

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


class GraphLine(Struct, frozen=True, kw_only=True):
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


class Mark(Struct, frozen=True, kw_only=True):
    """A horizontal line, such as a planned figure; the label says what it marks."""

    value: float
    label: str


class Graph(Struct, frozen=True, kw_only=True):
    """One graph. `unit` labels its axis; `most` is the upper end of the axis, None where it follows the data."""

    title: str
    lines: tuple[GraphLine, ...]
    unit: str
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
