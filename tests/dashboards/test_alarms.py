"""The alarms and the calls that they add up to: what each says, and what CloudWatch takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from cli.main import COMMANDS
from configurations.launch import Launch, launch_of
from configurations.metrics import METRICS, MetricSource, metric
from dashboards.alarm import Alarm
from dashboards.alarms import alarms, composite_alarms
from dashboards.graph import Exact
from dashboards.query import CLUSTER_ID
from environments.reader import read_environment
from lab.preview.cloudwatch import MetricStore, Published, in_alarm
from sizing.plan import Plan
from tests.shipped import ENVIRONMENTS

Launches = Callable[[str], Launch]
BUCKET = "bucket"
ENVIRONMENT = read_environment("prod")


def by_name(plan: Plan) -> dict[str, object]:
    return {alarm.name.removeprefix("warmbase-prod-blue-"): alarm for alarm in alarms(plan, BUCKET)}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_says_what_it_means_and_names_a_command_that_exists(name: str, launches: Launches) -> None:
    plan = launches(name).plan
    said = [alarm.description for alarm in alarms(plan, BUCKET)] + [
        call.description for call in composite_alarms(plan, BUCKET)
    ]
    for description in said:
        commands = re.findall(r"warmbase (\w+) ([\w-]+)", description)
        assert commands, description
        for command, environment in commands:
            assert command in COMMANDS
            assert environment == name
        assert len(description) < 1_024  # PutMetricAlarm, AlarmDescription


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_alarm_searches_nothing_and_queries_what_the_nodes_publish(name: str, launches: Launches) -> None:
    published = {each.cloudwatch for each in METRICS if each.source is MetricSource.NODE}
    query = re.compile(
        r"SELECT (SUM|MIN|MAX|AVG|COUNT)\((\w+)\) FROM SCHEMA\(\"warmbase\", ClusterId, InstanceId\) "
        r"WHERE ClusterId = '\$\{ClusterId\}'"
    )
    for alarm in alarms(launches(name).plan, BUCKET):
        if not isinstance(alarm.watched, Exact):
            found = query.fullmatch(alarm.watched)
            assert found, alarm.watched
            assert found[2] in published


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_rules_reckon_with_alarms_that_there_are_and_each_alarm_counts(name: str, launches: Launches) -> None:
    plan = launches(name).plan
    there = {alarm.name for alarm in alarms(plan, BUCKET)}
    reckoned = {
        found for call in composite_alarms(plan, BUCKET) for found in re.findall(r'ALARM\("([^"]+)"\)', call.rule)
    }
    assert reckoned == there
    for call in composite_alarms(plan, BUCKET):
        words = re.sub(r'ALARM\("[^"]+"\)', "X", call.rule)
        assert re.fullmatch(r"[X() ]|(?:X|AND|OR|NOT|\(|\)| )+", words)
        assert words.count("(") == words.count(")")
        assert len(call.rule) < 10_240  # PutCompositeAlarm, AlarmRule
        assert len(re.findall("X", words)) <= 100


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_alarm_looks_back_longer_than_its_query_sees(name: str, launches: Launches) -> None:
    """Three hours of a query (alarm-limits), a day of a metric (cloudwatch_limits)."""
    for alarm in alarms(launches(name).plan, BUCKET):
        looks_back = alarm.period_seconds * alarm.periods
        assert looks_back <= (86_400 if isinstance(alarm.watched, Exact) else 3 * 3_600)


def test_the_get_alarm_stands_above_what_the_warm_cache_leaves(launches: Launches) -> None:
    plan = launches("dev").plan
    [gets] = [alarm for alarm in alarms(plan, BUCKET) if alarm.name.endswith("s3-gets-above-plan")]
    [resource] = [each for each in plan.throughput.resources if each.name == "s3-requests"]
    assert gets.threshold >= 2 * 300 * resource.demand_per_read * plan.throughput.reads_per_second


@pytest.mark.parametrize(
    ("promised", "there", "absent"),
    [
        (1.0, {"hit-ratio-low", "server-cold", "cache-evicts"}, set()),
        (0.96, {"hit-ratio-low", "server-cold"}, {"cache-evicts"}),
        (0.6, {"cache-lost"}, {"hit-ratio-low", "server-cold", "cache-evicts"}),
    ],
)
def test_a_plan_that_accepts_misses_is_not_alarmed_on(
    promised: float, there: set[str], absent: set[str], launches: Launches
) -> None:
    plan = launches("prod").plan
    accepted = replace(plan, hit_ratio=replace(plan.hit_ratio, predicted=promised))
    assert there <= by_name(accepted).keys()
    assert not absent & by_name(accepted).keys()
    assert {call.name for call in composite_alarms(accepted, BUCKET)} == {
        call.name for call in composite_alarms(plan, BUCKET)
    }


def test_a_promise_of_less_is_held_to_less(launches: Launches) -> None:
    plan = launches("prod").plan
    for promised, tier in ((0.96, "MissesOver90"), (0.88, "MissesOver80")):
        accepted = replace(plan, hit_ratio=replace(plan.hit_ratio, predicted=promised))
        [low] = [alarm for alarm in alarms(accepted, BUCKET) if alarm.name.endswith("hit-ratio-low")]
        assert tier in str(low.watched)


def test_a_replica_is_not_asked_for_a_meta_of_the_actives_name(launches: Launches) -> None:
    plan = launches("prod").plan
    names = {alarm.name for alarm in alarms(plan, BUCKET, replica=True)}
    assert {alarm.name for alarm in alarms(plan, BUCKET)} - names == {"warmbase-prod-blue-meta-unassigned"}
    assert not any("meta-unassigned" in call.rule for call in composite_alarms(plan, BUCKET, replica=True))


NAMES = [alarm.name for alarm in alarms(launch_of(ENVIRONMENT, ENVIRONMENT.active).plan, BUCKET)]
STEP = {"G": 1.0, "L": -1.0}


@pytest.mark.parametrize("name", NAMES)
def test_each_fires_when_so_many_periods_breach_and_clears_when_they_no_longer_do(
    name: str, launches: Launches
) -> None:
    [alarm] = [each for each in alarms(launches("prod").plan, BUCKET) if each.name == name]
    bad = alarm.threshold + STEP[alarm.comparison[0]] * max(1e-3, abs(alarm.threshold) * 1e-3)
    good = alarm.threshold - STEP[alarm.comparison[0]] * max(1e-3, abs(alarm.threshold) * 1e-3)
    period, begins, ends = alarm.period_seconds, 40, 40 + alarm.periods
    store = MetricStore()
    for number in range(ends + alarm.periods + 40):
        value = bad if begins <= number < ends else good
        store.put([_point(alarm, number * period, value)])
    states = [in_alarm(alarm, store, number * period) for number in range(30, ends + alarm.periods + 40)]
    fired = [number for number, state in enumerate(states, 30) if state]
    # A period counts when it is over; the alarm clears when the good ones leave too few of the bad.
    assert fired == list(range(begins + alarm.breaching, ends + alarm.periods - alarm.breaching + 1))


def _point(alarm: Alarm, second: int, value: float) -> Published:
    watched = alarm.watched
    if isinstance(watched, Exact):
        found, dimensions = watched.metric, dict(watched.dimensions)
    else:
        found = metric(re.findall(r"\((\w+)\)", watched)[0])
        dimensions = {"ClusterId": CLUSTER_ID, "InstanceId": "i-1"}
    return Published(
        namespace=found.namespace, name=found.cloudwatch, dimensions=dimensions, second=second, value=value
    )
