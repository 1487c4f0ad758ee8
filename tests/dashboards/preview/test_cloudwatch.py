"""Expressions and alarms are evaluated as CloudWatch's documentation describes."""

from __future__ import annotations

import pytest

from tests.dashboards.preview.cloudwatch import MetricStore, Published, Series, Value, evaluated, in_alarm, queried
from tests.dashboards.preview.timeline import rule_holds
from warmbase.configurations.metrics import metric
from warmbase.dashboards.alarm import Alarm, Missing
from warmbase.dashboards.graph import CLUSTER_ID, insights, search

MINUTE = 60
FIRST: Series = {0: 1.0, 60: 2.0, 120: 3.0}
SECOND: Series = {0: 10.0, 60: 20.0, 120: 30.0}
ARRAY: list[tuple[str, Series]] = [("a", FIRST), ("b", SECOND)]


def stored(*values: tuple[str, int, float], name: str = "Hits") -> MetricStore:
    """Return what so many instances published at these seconds."""
    store = MetricStore()
    store.put(
        Published(
            namespace="warmbase",
            name=name,
            dimensions={"ClusterId": CLUSTER_ID, "InstanceId": instance},
            second=second,
            value=value,
        )
        for instance, second, value in values
    )
    return store


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # using-metric-math, "Supported functions": SUM, MIN, MAX, AVG of TS[] are one TS.
        ("SUM(all)", {0: 11.0, 60: 22.0, 120: 33.0}),
        ("MIN(all)", FIRST),
        ("MAX(all)", SECOND),
        ("AVG(all)", {0: 5.5, 60: 11.0, 120: 16.5}),
        # ... RATE: the difference of two neighbouring data points by their distance in seconds.
        ("RATE(a)", {60: 1 / 60, 120: 1 / 60}),
        ("RATE(all)", [("a", {60: 1 / 60, 120: 1 / 60}), ("b", {60: 1 / 6, 120: 1 / 6})]),
        # ... IF(condition, trueValue, falseValue), of comparisons, which are 1 or 0.
        ("IF(a > 1, b, 0)", {0: 0.0, 60: 20.0, 120: 30.0}),
        # ... CEIL, of each value.
        ("CEIL(all / 4)", [("a", {0: 1.0, 60: 1.0, 120: 1.0}), ("b", {0: 3.0, 60: 5.0, 120: 8.0})]),
        # ... arithmetic: TS with S, TS with TS, TS[] with TS.
        ("a / (a + b)", {0: 1 / 11, 60: 1 / 11, 120: 1 / 11}),
        ("all / b", [("a", {0: 0.1, 60: 0.1, 120: 0.1}), ("b", {0: 1.0, 60: 1.0, 120: 1.0})]),
        ("a / late", {120: 3.0}),
    ],
)
def test_expressions(expression: str, value: object) -> None:
    names: dict[str, Value] = {"a": FIRST, "b": SECOND, "all": ARRAY, "late": {120: 1.0}}
    result = evaluated(expression, MetricStore(), names)
    if isinstance(result, list) and isinstance(value, list):
        assert dict(result).keys() == dict(value).keys()
        assert all(dict(result)[name] == pytest.approx(series) for name, series in value)
    else:
        assert result == pytest.approx(value)


@pytest.mark.parametrize("expression", ["all / all", "SUM(a)", "IF(all, 1, 0)"])
def test_what_cloudwatch_does_not_do_is_not_finished(expression: str) -> None:
    with pytest.raises(TypeError):
        evaluated(expression, MetricStore(), {"a": FIRST, "all": ARRAY})


@pytest.mark.parametrize("expression", ["FILL(a, 0)", "a if a else a", "SEARCH('{x} y', 'Sum', 60)"])
def test_what_is_not_recognised_is_not_guessed(expression: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        evaluated(expression, MetricStore(), {"a": FIRST})


def test_a_search_finds_every_series_of_just_these_dimensions() -> None:
    store = stored(("i-1", 0, 1.0), ("i-1", 30, 3.0), ("i-2", 0, 5.0))
    other = {"ClusterId": "j-OTHER", "InstanceId": "i-9"}
    store.put([Published(namespace="warmbase", name="Hits", dimensions=other, second=0, value=99.0)])
    more = {"ClusterId": CLUSTER_ID, "InstanceId": "i-3", "Disk": "x"}
    store.put([Published(namespace="warmbase", name="Hits", dimensions=more, second=0, value=99.0)])
    assert evaluated(search(metric("Hits"), "Sum", MINUTE), store, {}) == [("i-1", {0: 4.0}), ("i-2", {0: 5.0})]
    assert evaluated(search(metric("Hits"), "Average", MINUTE), store, {}) == [("i-1", {0: 2.0}), ("i-2", {0: 5.0})]


def test_a_query_makes_one_series_of_all_data_points_of_a_period() -> None:
    """Page cloudwatch-metrics-insights-querylanguage: COUNT counts data points, AVG is theirs and not the nodes'."""
    store = stored(("i-1", 0, 1.0), ("i-1", 30, 3.0), ("i-2", 0, 5.0), ("i-2", 60, 7.0))
    expected = {"SUM": 9.0, "MIN": 1.0, "MAX": 5.0, "AVG": 3.0, "COUNT": 3.0}
    for aggregate, value in expected.items():
        assert queried(insights(metric("Hits"), aggregate), store, MINUTE)[0] == value  # type: ignore[arg-type]


# Page AlarmThatSendsEmail, "How alarm state is evaluated when data is missing": newest at the right, X breaches.
THREE_OF_THREE = [
    ("0-X-X", "OK", "OK"),
    ("0----", "OK", "OK"),
    ("-----", "ALARM", "OK"),
    ("0XX-X", "ALARM", "ALARM"),
    ("--X--", "ALARM", "OK"),
]
TWO_OF_THREE = [
    ("0-X-X", "ALARM", "ALARM"),
    ("00X0X", "ALARM", "ALARM"),
    ("0-X--", "ALARM", "OK"),
    ("----0", "ALARM", "OK"),
    ("---X-", "ALARM", "OK"),
]


@pytest.mark.parametrize(
    ("breaching", "points", "treated_as_breaching", "treated_as_good"),
    [(3, *row) for row in THREE_OF_THREE] + [(2, *row) for row in TWO_OF_THREE],
)
def test_missing_data_counts_as_the_page_has_it(
    breaching: int, points: str, treated_as_breaching: str, treated_as_good: str
) -> None:
    values = {"0": 0.0, "X": 1.0}
    states = [("i-1", MINUTE * number, values[item]) for number, item in enumerate(points) if item in values]
    store = stored(*states)

    def state(missing: Missing) -> str:
        alarm = Alarm(
            name="a",
            description="",
            watched=insights(metric("Hits"), "MAX"),
            period_seconds=MINUTE,
            periods=3,
            datapoints=breaching,
            comparison="GreaterThanThreshold",
            threshold=0.5,
            missing=missing,
        )
        return "ALARM" if in_alarm(alarm, store, MINUTE * len(points)) else "OK"

    assert state("breaching") == treated_as_breaching
    assert state("notBreaching") == treated_as_good


def test_a_rule_holds_as_it_reads() -> None:
    """The rule follows API Reference, PutCompositeAlarm: ALARM(A) AND NOT (ALARM(B) OR ALARM(C))."""
    rule = 'ALARM("a-b") AND NOT (ALARM("c") OR ALARM("d"))'
    assert rule_holds(rule, {"a-b": True, "c": False, "d": False})
    assert not rule_holds(rule, {"a-b": True, "c": False, "d": True})
    assert not rule_holds(rule, {"a-b": False, "c": False, "d": False})
