"""Alarms and the composite alarms that they add up to: texts, thresholds, rules, and CloudWatch's limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.dashboards.preview.cloudwatch import MetricStore, Published
from tests.dashboards.preview.cloudwatch import in_alarm as is_in_alarm
from tests.shipped import ENVIRONMENTS
from warmbase.cli.commands import COMMANDS
from warmbase.cli.operate.warm import warm
from warmbase.configurations.launch import Launch, launch_of
from warmbase.configurations.metrics import METRICS, MetricSource, metric
from warmbase.dashboards.alarm import NEVER, Alarm, AlarmRule, any_of, in_alarm
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.dashboards.graph import CLUSTER_ID, Exact
from warmbase.environments.environment import Root
from warmbase.environments.reader import read_environment
from warmbase.sizing.plan import Plan

Launches = Callable[[str], Launch]
ROOT = Root(bucket="bucket", prefix="hbase")
ENVIRONMENT = read_environment("prod")


def by_name(plan: Plan) -> dict[str, object]:
    return {alarm.name.removeprefix("warmbase-prod-blue-"): alarm for alarm in alarms(plan, ROOT)}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_description_names_a_command_that_exists(name: str, launches: Launches) -> None:
    plan = launches(name).plan
    descriptions = [alarm.description for alarm in alarms(plan, ROOT)] + [
        call.description for call in composite_alarms(plan, ROOT)
    ]
    for description in descriptions:
        commands = re.findall(rf"warmbase (\w+)(?: (?:{'|'.join(warm.commands)}))? ([\w-]+)", description)
        assert commands, description
        for command, environment in commands:
            assert command in COMMANDS
            assert environment == name
        assert len(description) < 1_024  # PutMetricAlarm, AlarmDescription


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_alarms_about_a_cold_cache_name_the_commands_that_fill_it(name: str, launches: Launches) -> None:
    plan = launches(name).plan
    texts = {alarm.name: alarm.description for alarm in alarms(plan, ROOT)}
    texts |= {call.name: call.description for call in composite_alarms(plan, ROOT)}
    cold = ("server-cold", "cache-filling", "server-young", "cache-lost", "call-cache")
    for alarm_name, text in texts.items():
        if alarm_name.endswith(cold) and plan.mode.has_bucket_cache:
            assert f"warmbase warm wait {name}" in text
            assert (f"warmbase warm boost {name}" in text) is bool(plan.warm_up.boosts)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_alarm_searches_nothing_and_queries_what_the_nodes_publish(name: str, launches: Launches) -> None:
    published = {entry.cloudwatch for entry in METRICS if entry.source in (MetricSource.NODE, MetricSource.CLAIM)}
    query = re.compile(
        r"SELECT (SUM|MIN|MAX|AVG|COUNT)\((\w+)\) FROM SCHEMA\(\"warmbase\", ClusterId, InstanceId\) "
        r"WHERE ClusterId = '\$\{ClusterId\}'"
    )
    for alarm in alarms(launches(name).plan, ROOT):
        if not isinstance(alarm.watched, Exact):
            match = query.fullmatch(alarm.watched)
            assert match, alarm.watched
            assert match[2] in published


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_rules_use_existing_alarms_and_every_alarm(name: str, launches: Launches) -> None:
    plan = launches(name).plan
    there = {alarm.name for alarm in alarms(plan, ROOT)}
    reckoned = {name for call in composite_alarms(plan, ROOT) for name in re.findall(r'ALARM\("([^"]+)"\)', call.rule)}
    assert reckoned == there
    for call in composite_alarms(plan, ROOT):
        words = re.sub(r'ALARM\("[^"]+"\)', "X", call.rule)
        assert re.fullmatch(r"[X() ]|(?:X|AND|OR|NOT|\(|\)| )+", words)
        assert words.count("(") == words.count(")")
        assert len(call.rule) < 10_240  # PutCompositeAlarm, AlarmRule
        assert len(re.findall("X", words)) <= 100


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_alarm_looks_back_longer_than_its_query_sees(name: str, launches: Launches) -> None:
    """CloudWatch evaluates three hours of a query (alarm-limits), and a day of a metric (cloudwatch_limits)."""
    for alarm in alarms(launches(name).plan, ROOT):
        looks_back = alarm.period_seconds * alarm.periods
        assert looks_back <= (86_400 if isinstance(alarm.watched, Exact) else 3 * 3_600)


def test_the_get_alarm_stands_above_what_the_warm_cache_leaves(launches: Launches) -> None:
    plan = launches("dev").plan
    [gets] = [alarm for alarm in alarms(plan, ROOT) if alarm.name.endswith("s3-gets-above-plan")]
    [resource] = [entry for entry in plan.throughput.resources if entry.name == "s3-requests"]
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
    assert {call.name for call in composite_alarms(accepted, ROOT)} == {
        call.name for call in composite_alarms(plan, ROOT)
    }


def test_a_lower_planned_hit_ratio_has_a_lower_threshold(launches: Launches) -> None:
    plan = launches("prod").plan
    for promised, tier in ((0.96, "MissesOver90"), (0.88, "MissesOver80")):
        accepted = replace(plan, hit_ratio=replace(plan.hit_ratio, predicted=promised))
        [low] = [alarm for alarm in alarms(accepted, ROOT) if alarm.name.endswith("hit-ratio-low")]
        assert tier in str(low.watched)


def test_a_replica_has_no_alarm_on_the_active_clusters_meta(launches: Launches) -> None:
    plan = launches("prod").plan
    names = {alarm.name for alarm in alarms(plan, ROOT, replica=True)}
    assert {alarm.name for alarm in alarms(plan, ROOT)} - names == {"warmbase-prod-blue-meta-unassigned"}
    assert not any("meta-unassigned" in call.rule for call in composite_alarms(plan, ROOT, replica=True))


def alarm(plan: Plan, end: str) -> Alarm:
    [match] = [alarm for alarm in alarms(plan, ROOT) if alarm.name.endswith(f"-{end}")]
    return match


@pytest.mark.parametrize("end", ["core-node-missing", "server-silent", "meta-unassigned"])
def test_an_alarm_about_a_missing_server_says_when_its_rows_are_back(end: str, launches: Launches) -> None:
    waits = launches("prod").plan
    for plan in (waits, replace(waits, restart=replace(waits.restart, retain_retries=0))):
        text = alarm(plan, end).description
        assert "serve its rows after about 8.73 min, or 15.6 min if it had hbase:meta" in text
        assert ("Do not restart the master" in text) == (plan is waits)
    alone = replace(waits, bad_hours=replace(waits.bad_hours, lost_node=None))
    assert "serve its rows" not in alarm(alone, end).description


def test_the_disk_alarm_comes_before_yarn_gives_up_a_full_volume(launches: Launches) -> None:
    """YARN marks a disk over 0.90 as unhealthy, and EMR replaces the node; a pinned volume may be fuller than that."""
    plan = launches("prod").plan
    cache = plan.core.volume("cache")
    used_gib = (plan.cache.size_bytes + plan.persistence.file_bytes) / 2**30
    thresholds = {}
    for fill in (0.60, 0.86, 0.90, 0.95):
        volume = replace(cache, count=1, size_gib=math.ceil(used_gib / fill))
        volumes = tuple(volume if other.purpose == "cache" else other for other in plan.core.volumes)
        thresholds[fill] = alarm(replace(plan, core=replace(plan.core, volumes=volumes)), "disk-full").threshold
    assert thresholds == {0.60: 0.85, 0.86: pytest.approx(0.88, abs=1e-3), 0.90: 0.89, 0.95: 0.89}


def throughput(plan: Plan, reads_per_second: float, p99_latency_ms: float) -> Plan:
    return replace(
        plan,
        throughput=replace(plan.throughput, reads_per_second=reads_per_second, p99_latency_ms=p99_latency_ms),
        persistence=replace(plan.persistence, interval_ms=600_000, dump_seconds=30.0),
        restart=replace(plan.restart, stop_seconds=100.0, away_seconds=140.0),
    )


@pytest.mark.parametrize(
    ("end", "threshold", "datapoints"),
    [
        ("core-node-missing", 10, (2, 2)),
        ("s3-gets-above-plan", 20 * 300, (3, 3)),
        ("s3-refuses", 300, (3, 3)),
        ("server-silent", 10, (6, 6)),
        ("meta-unassigned", 1, (6, 6)),
        ("hit-ratio-low", 60, (8, 8)),
        ("server-cold", 0, (8, 8)),
        ("cache-filling", 0.771, (1, 13)),
        ("cache-lost", 0, (5, 5)),
        ("insertions-fail", 0, (15, 15)),
        ("index-behind", 2 * 600 + 30, (5, 5)),
        ("cache-evicts", 0, (2, 30)),
        ("gets-slow", 50, (5, 5)),
        ("long-pause", 0, (1, 1)),
    ],
)
def test_every_threshold_comes_from_the_plan(
    end: str, threshold: float, datapoints: tuple[int, int], launches: Launches
) -> None:
    """A plan with no GETs to S3 and gets of a millisecond leaves the smallest thresholds."""
    evaluated = alarm(throughput(launches("prod").plan, 0.0, 1.0), end)
    assert (evaluated.threshold, (evaluated.breaching, evaluated.periods)) == (threshold, datapoints)


def test_busy_plans_have_thresholds_at_twice_the_planned_figures(launches: Launches) -> None:
    busy = throughput(launches("prod").plan, 1_000.0, 400.0)
    resources = tuple(
        replace(resource, demand_per_read=0.05) if resource.name == "s3-requests" else resource
        for resource in busy.throughput.resources
    )
    busy = replace(busy, throughput=replace(busy.throughput, resources=resources))
    assert alarm(busy, "gets-slow").threshold == 800
    assert alarm(busy, "s3-gets-above-plan").threshold == 2 * 50 * 300


def test_servers_may_be_away_for_three_minutes_and_caches_cold_for_five(launches: Launches) -> None:
    plan = launches("prod").plan
    quick = replace(plan, restart=replace(plan.restart, stop_seconds=1.0, away_seconds=1.0))
    assert (alarm(quick, "server-silent").periods, alarm(quick, "server-cold").periods) == (3, 5)


@pytest.mark.parametrize(
    ("curve", "minutes"),
    [(((0.0, 0.0), (0.1, 0.96)), 30), (((0.0, 0.0), (1.0, 0.90), (2.0, 0.96)), 180), (((0.0, 0.0), (4.0, 0.5)), 360)],
    ids=["half an hour at least", "one and a half times the planned time", "the whole curve"],
)
def test_a_server_is_young_while_its_cache_may_still_warm(
    curve: tuple[tuple[float, float], ...], minutes: int, launches: Launches
) -> None:
    plan = launches("prod").plan
    slow = replace(plan, warm_up=replace(plan.warm_up, curve=curve))
    assert alarm(slow, "server-young").threshold == 60 * minutes


A, B, C = (in_alarm(name) for name in "abc")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (A & B & C, 'ALARM("a") AND ALARM("b") AND ALARM("c")'),
        (A | B & C, 'ALARM("a") OR (ALARM("b") AND ALARM("c"))'),
        ((A | B) & ~C, '(ALARM("a") OR ALARM("b")) AND NOT ALARM("c")'),
        (~(A & B), 'NOT (ALARM("a") AND ALARM("b"))'),
        (any_of("a") & ~any_of("b", "c"), '(ALARM("a")) AND NOT (ALARM("b") OR ALARM("c"))'),
        (any_of() | A, 'ALARM("a")'),
        (A & ~any_of(), 'ALARM("a")'),
    ],
)
def test_a_rule_is_written_as_cloudwatch_reads_it(rule: AlarmRule, text: str) -> None:
    assert str(rule) == text


def test_a_rule_with_an_alarm_that_does_not_exist_never_holds() -> None:
    assert A & any_of() == any_of() & A == any_of() | NEVER == NEVER


NAMES = [alarm.name for alarm in alarms(launch_of(ENVIRONMENT, ENVIRONMENT.active).plan, ROOT)]
STEP = {"G": 1.0, "L": -1.0}


@pytest.mark.parametrize("name", NAMES)
def test_an_alarm_fires_and_clears_by_its_count_of_breaching_periods(name: str, launches: Launches) -> None:
    [alarm] = [candidate for candidate in alarms(launches("prod").plan, ROOT) if candidate.name == name]
    bad = alarm.threshold + STEP[alarm.comparison[0]] * max(1e-3, abs(alarm.threshold) * 1e-3)
    good = alarm.threshold - STEP[alarm.comparison[0]] * max(1e-3, abs(alarm.threshold) * 1e-3)
    period, begins, ends = alarm.period_seconds, 40, 40 + alarm.periods
    store = MetricStore()
    for number in range(ends + alarm.periods + 40):
        value = bad if begins <= number < ends else good
        store.put([_point(alarm, number * period, value)])
    states = [is_in_alarm(alarm, store, number * period) for number in range(30, ends + alarm.periods + 40)]
    fired = [number for number, state in enumerate(states, 30) if state]
    # A period counts when it is over; the alarm clears when the good ones leave too few of the bad.
    assert fired == list(range(begins + alarm.breaching, ends + alarm.periods - alarm.breaching + 1))


def _point(alarm: Alarm, second: int, value: float) -> Published:
    watched = alarm.watched
    if isinstance(watched, Exact):
        source, dimensions = watched.metric, dict(watched.dimensions)
    else:
        source = metric(re.findall(r"\((\w+)\)", watched)[0])
        dimensions = {"ClusterId": CLUSTER_ID, "InstanceId": "i-1"}
    return Published(
        namespace=source.namespace, name=source.cloudwatch, dimensions=dimensions, second=second, value=value
    )


def test_only_what_counts_servers_takes_silence_for_a_fault(launches: Launches) -> None:
    breaching = {rule.name for rule in alarms(launches("prod").plan, ROOT) if rule.missing == "breaching"}
    assert {name.removeprefix("warmbase-prod-blue-") for name in breaching} == {"core-node-missing", "server-silent"}


def test_a_cold_cache_notifies_unless_it_warms_up_or_a_server_is_missing(launches: Launches) -> None:
    """The rule is evaluated as Python, because its words differ only in their case."""
    plan = launches("prod").plan
    [rule] = [call.rule for call in composite_alarms(plan, ROOT) if call.name.endswith("call-cache")]
    text = re.sub(r'ALARM\("warmbase-prod-blue-([\w-]+)"\)', r'("\1" in firing)', str(rule))
    for operator in ("AND", "OR", "NOT"):
        text = text.replace(operator, operator.lower())

    def notifies(*firing: str) -> bool:
        return bool(eval(text, {"firing": firing}))  # noqa: S307 - the text is ours

    assert notifies("hit-ratio-low")
    assert notifies("hit-ratio-low", "cache-filling")
    assert not notifies("hit-ratio-low", "cache-filling", "server-young")
    assert notifies("cache-lost", "cache-filling", "server-young")
    assert not notifies("hit-ratio-low", "server-silent")
    assert not notifies("cache-lost", "core-node-missing")
