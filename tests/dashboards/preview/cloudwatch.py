"""CloudWatch's evaluation of expressions, queries, alarms and rules, as far as warmbase's dashboards use them.

For the proof that they tell the truth, and for pictures of a dashboard before there is a cluster. Sources: CloudWatch
User Guide, using-metric-math, using-search-expressions, cloudwatch-metrics-insights-querylanguage, alarm-evaluation;
API Reference, PutCompositeAlarm. Where these say nothing: a quotient by 0 is no data point.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from warmbase.dashboards.alarm import Alarm
from warmbase.dashboards.graph import Exact, Graph

Series = Mapping[int, float]
"""Values by the start of their period, in seconds."""
Value = float | Series | list["Named"]

STATISTICS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "Sum": sum,
    "Minimum": min,
    "Maximum": max,
    "Average": lambda values: sum(values) / len(values),
}
AGGREGATES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "SUM": sum,
    "MIN": min,
    "MAX": max,
    "AVG": STATISTICS["Average"],
    "COUNT": len,
}
SEARCHED: Final = re.compile(
    r'\{(?P<schema>[^}]*)\} MetricName="(?P<name>[^"]+)" "?(?P<key>[\w.]+)"?="(?P<value>[^"]*)"'
)
QUERY: Final = re.compile(
    r"SELECT (?P<aggregate>\w+)\((?P<name>[\w.]+)\) FROM SCHEMA\(\"(?P<namespace>[\w/]+)\", (?P<dimensions>[\w, .]+)\) "
    r"WHERE (?P<key>[\w.]+) = '(?P<value>[^']*)'"
)
EVALUATION_EXTRA: Final = 2
"""Additional periods that CloudWatch evaluates, so that a late data point does not count as missing."""
Named = tuple[str, Series]


class Published(Struct, frozen=True, kw_only=True):
    """One data point: what was published of a metric with these dimensions at that second."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    second: int
    value: float


class MetricStore(Struct):
    """A store of published metric data."""

    points: dict[tuple[str, str, tuple[tuple[str, str], ...]], dict[int, list[float]]] = field(default_factory=dict)

    def put(self, published: Iterable[Published]) -> None:
        """Take these, too."""
        for datum in published:
            key = (datum.namespace, datum.name, tuple(sorted(datum.dimensions.items())))
            self.points.setdefault(key, {}).setdefault(datum.second, []).append(datum.value)

    def matching_series(
        self, namespace: str, name: str, of: Mapping[str, str], keys: set[str] | None = None
    ) -> list[tuple[str, dict[int, list[float]]]]:
        """Series of that metric with these dimensions among theirs, and just those keys where they are given."""
        wanted = set(of.items())
        return [
            (" ".join(value for _, value in dimensions if value not in of.values()), points)
            for (space, metric, dimensions), points in sorted(self.points.items())
            if (space, metric) == (namespace, name)
            and wanted <= set(dimensions)
            and (keys is None or {key for key, _ in dimensions} == keys)
        ]


def _by_period(points: Mapping[int, Sequence[float]], period: int) -> dict[int, list[float]]:
    periods: dict[int, list[float]] = {}
    for second, values in points.items():
        periods.setdefault(second // period * period, []).extend(values)
    return periods


def _statistic(points: Mapping[int, Sequence[float]], statistic: str, period: int) -> Series:
    return {second: STATISTICS[statistic](values) for second, values in sorted(_by_period(points, period).items())}


def exact(of: Exact, store: MetricStore, period: int) -> Series:
    """Return one series by its exact dimensions."""
    metric = of.metric
    for _, points in store.matching_series(metric.namespace, metric.cloudwatch, of.dimensions, set(of.dimensions)):
        return _statistic(points, of.statistic, period)
    return {}


def queried(query: str, store: MetricStore, period: int) -> Series:
    """A Metrics Insights query: all data points of a period, of all series that it finds, made one."""
    match = QUERY.fullmatch(query)
    if match is None:
        raise ValueError(f"unsupported query: {query}")
    keys = {part.strip() for part in match["dimensions"].split(",")}
    together: dict[int, list[float]] = {}
    for _, points in store.matching_series(match["namespace"], match["name"], {match["key"]: match["value"]}, keys):
        for second, values in _by_period(points, period).items():
            together.setdefault(second, []).extend(values)
    return {second: AGGREGATES[match["aggregate"]](values) for second, values in sorted(together.items())}


def evaluated(expression: str, store: MetricStore, names: Mapping[str, Value]) -> Value:
    """A metric-math expression; `known` are the graph's other lines by id.

    Raises ValueError for what is not known here, TypeError for what CloudWatch does not do with arrays of series.
    """
    return _value(ast.parse(expression, mode="eval").body, store, names)


def _value(node: ast.expr, store: MetricStore, names: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=operator, right=right):
            return _arithmetic(OPERATORS[type(operator)], _value(left, store, names), _value(right, store, names))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _arithmetic(OPERATORS[type(operator)], _value(left, store, names), _value(right, store, names))
        case ast.Call(func=ast.Name(id="SEARCH"), args=[ast.Constant(str(what)), ast.Constant(str(how)), period]):
            return _searched(what, how, int(ast.literal_eval(period)), store)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(_value(argument, store, names) for argument in arguments))
    raise ValueError(f"unsupported expression: {ast.unparse(node)}")


def _searched(what: str, statistic: str, period: int, store: MetricStore) -> list[Named]:
    match = SEARCHED.fullmatch(what)
    if match is None:
        raise ValueError(f"unsupported search: {what}")
    namespace, *keys = (part.strip('"') for part in match["schema"].split(","))
    matching = store.matching_series(namespace, match["name"], {match["key"]: match["value"]}, set(keys))
    return [(name, _statistic(points, statistic, period)) for name, points in matching]


def _arithmetic(act: Callable[[float, float], float | None], first: Value, second: Value) -> Value:
    if isinstance(first, list) and isinstance(second, list):
        raise TypeError("CloudWatch has no arithmetic between two arrays of series")
    if isinstance(first, list):
        return [(name, _of_series(act, series, second)) for name, series in first]
    if isinstance(second, list):
        return [(name, _of_series(act, first, series)) for name, series in second]
    if isinstance(first, float) and isinstance(second, float):
        return act(first, second) or 0.0
    return _of_series(act, first, second)


def _of_series(act: Callable[[float, float], float | None], first: Value, second: Value) -> Series:
    times = [set(series) for series in (first, second) if isinstance(series, Mapping)]
    values = {time: act(_at(first, time), _at(second, time)) for time in sorted(set.intersection(*times))}
    return {time: value for time, value in values.items() if value is not None}


def _at(value: Value, second: int) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, list):
        raise TypeError("an array of series where one series is required")
    return value[second]


def _quotient(dividend: float, divisor: float) -> float | None:
    return dividend / divisor if divisor else None


OPERATORS: Final[Mapping[type[ast.AST], Callable[[float, float], float | None]]] = {
    ast.Add: lambda first, second: first + second,
    ast.Sub: lambda first, second: first - second,
    ast.Mult: lambda first, second: first * second,
    ast.Div: _quotient,
    ast.Gt: lambda first, second: float(first > second),
    ast.Lt: lambda first, second: float(first < second),
}


def _array(function: Callable[[Sequence[float]], float]) -> Callable[[Value], Series]:
    """A function that makes one series of an array: at each second of those that have a value then."""

    def of(array: Value) -> Series:
        if not isinstance(array, list):
            raise TypeError("one series or a number where an array of series is required")
        seconds = sorted({second for _, series in array for second in series})
        return {second: function([series[second] for _, series in array if second in series]) for second in seconds}

    return of


def _rate(value: Value) -> Value:
    """Return the change since the data point before, by the second."""
    if isinstance(value, list):
        return [(name, _rate_of(series)) for name, series in value]
    if isinstance(value, float):
        raise TypeError("RATE of a number")
    return _rate_of(value)


def _rate_of(series: Series) -> Series:
    seconds = sorted(series)
    return {second: (series[second] - series[before]) / (second - before) for before, second in pairwise(seconds)}


def _if(condition: Value, value: Value, otherwise: Value) -> Value:
    if not isinstance(condition, Mapping):
        raise TypeError("IF wants one series as its condition")
    return {
        second: _at(value, second) if holds else _at(otherwise, second)
        for second, holds in condition.items()
        if all(not isinstance(branch, Mapping) or second in branch for branch in (value, otherwise))
    }


def _ceil(value: Value) -> Value:
    """Return each value rounded up."""
    if isinstance(value, list):
        return [(name, _ceil_of(series)) for name, series in value]
    return float(math.ceil(value)) if isinstance(value, float) else _ceil_of(value)


def _ceil_of(series: Series) -> Series:
    return {second: float(math.ceil(value)) for second, value in series.items()}


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "SUM": _array(sum),
    "MIN": _array(min),
    "MAX": _array(max),
    "AVG": _array(STATISTICS["Average"]),
    "RATE": _rate,
    "IF": _if,
    "CEIL": _ceil,
}


class Drawn(Struct, frozen=True, kw_only=True):
    """One curve of a graph."""

    label: str
    series: Series


def drawn(graph: Graph, store: MetricStore) -> list[Drawn]:
    """Return what the graph's visible lines show: a curve, or one for each series of an array."""
    names: dict[str, Value] = {}
    for line in graph.lines:
        of = line.of
        names[line.id] = (
            exact(of, store, graph.period_seconds) if isinstance(of, Exact) else evaluated(of, store, names)
        )
    graphs: list[Drawn] = []
    for line in graph.lines:
        value = names[line.id]
        if line.visible and isinstance(value, list):
            graphs += [Drawn(label=" ".join(filter(None, (line.label, name))), series=values) for name, values in value]
        elif line.visible and isinstance(value, Mapping):
            graphs.append(Drawn(label=line.label, series=value))
    return graphs


BREACHES: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}


def in_alarm(alarm: Alarm, store: MetricStore, now: int) -> bool:
    """Return whether the alarm is in ALARM at that second, by the periods that are over."""
    period = alarm.period_seconds
    of = alarm.watched
    series = exact(of, store, period) if isinstance(of, Exact) else queried(of, store, period)
    end = now // period * period
    starts = [end - period * (back + 1) for back in range(alarm.periods + EVALUATION_EXTRA)]
    breaches = [BREACHES[alarm.comparison](series[second], alarm.threshold) for second in starts if second in series]
    breaches = breaches[: alarm.periods]
    breaches += [alarm.missing == "breaching"] * (alarm.periods - len(breaches))
    return sum(breaches) >= alarm.breaching
