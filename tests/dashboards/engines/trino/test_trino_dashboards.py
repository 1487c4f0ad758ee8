"""The dashboard and alarms of an analytics cluster: what they show of published figures, and CloudWatch's limits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from tests.bootstrap_actions import test_publish_trino_metrics
from tests.configurations.engines.trino.launches import PINNED, trino_launch
from tests.dashboards.preview.cloudwatch import MetricStore, Published, evaluated, in_alarm
from tests.sizing.engines.trino.questions import CHOICE
from warmbase.cli.commands import COMMANDS
from warmbase.dashboards.alarm import Alarm, is_alarm_of
from warmbase.dashboards.graph import CLUSTER_ID, Exact, Graph
from warmbase.engines.trino.boards import (
    TRINO_METRICS,
    trino_alarms,
    trino_boards,
    trino_composite_alarms,
    trino_dashboards,
)
from warmbase.engines.trino.rendering import actions
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import ALARMS, ALARMS_OF_WORKERS, COMPOSITE_ALARMS, DASHBOARDS, WORKER_METRICS
from warmbase.ground.units import GIB

PLAN = trino_launch(CHOICE).plan
SCHEMA = Path(__file__).parents[2] / "dashboard.schema.json"
EXPRESSION = re.compile(r'MetricName="(\w+)"')


def graphs() -> tuple[Graph, ...]:
    [drawn] = trino_boards(PLAN).values()
    return drawn


def alarm(end: str) -> Alarm:
    [found] = [one for one in trino_alarms(PLAN) if one.name == f"warmbase-prod-lake-{end}"]
    return found


def of_worker(name: str, worker: str, second: int, value: float) -> Published:
    return Published(
        namespace="warmbase",
        name=name,
        dimensions={"ClusterId": CLUSTER_ID, "InstanceId": worker},
        second=second,
        value=value,
    )


def test_the_dashboard_is_as_before(golden: Callable[[str, str], None]) -> None:
    [(name, body)] = trino_dashboards(PLAN, "us-east-1").items()
    assert name == "warmbase-prod-lake-cache"
    golden("lake/dashboard-cache.json", body + "\n")
    jsonschema.validate(json.loads(body), json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_the_bill_has_what_is_created() -> None:
    alarms = trino_alarms(PLAN)
    of_workers = [one for one in alarms if isinstance(one.watched, str)]
    assert len(TRINO_METRICS) == WORKER_METRICS
    assert (len(alarms) - len(of_workers), len(of_workers)) == (ALARMS, ALARMS_OF_WORKERS)
    assert len(trino_composite_alarms(PLAN)) == COMPOSITE_ALARMS
    assert len(trino_dashboards(PLAN, "us-east-1")) == DASHBOARDS


def test_what_is_published_is_drawn_or_alarmed_on_and_nothing_else() -> None:
    drawn = {name for graph in graphs() for line in graph.lines for name in EXPRESSION.findall(str(line.of))}
    queried = {name for one in trino_alarms(PLAN) for name in re.findall(r"SELECT \w+\((\w+)\)", str(one.watched))}
    assert drawn | queried == set(TRINO_METRICS)


def test_the_program_publishes_these_metrics_in_these_units(worker: test_publish_trino_metrics.Worker) -> None:
    worker.minute(test_publish_trino_metrics.beans())
    worker.minute(test_publish_trino_metrics.beans(1_000))
    assert worker.aws.sent("Unit") == {name: metric.unit for name, metric in TRINO_METRICS.items()}


worker = test_publish_trino_metrics.worker


def test_the_hit_rate_of_the_cluster_is_weighted_by_bytes() -> None:
    store = MetricStore()
    for name, busy, idle in (("ReadFromCache", 90e9, 0.0), ("ReadFromRemote", 10e9, 20e9), ("HitRate", 0.9, 0.0)):
        store.put([of_worker(name, "i-busy", 60, busy), of_worker(name, "i-idle", 60, idle)])

    def drawn(title: str) -> object:
        [graph] = [one for one in graphs() if one.title.startswith(title)]
        names: dict[str, object] = {}
        for line in graph.lines:
            names[line.id] = evaluated(str(line.of), store, names)  # type: ignore[arg-type]
        return names[graph.lines[-1].id]

    assert drawn("HitRate per minute, all workers") == {60: 0.75}
    assert drawn("HitRate per minute, worst worker") == {60: 0.0}


def test_a_low_hit_rate_is_told_after_half_an_hour_of_reads() -> None:
    """Queries come in bursts, so what counts is the sum over the half hour."""
    limit, low, store = 1 - PLAN.least_hit_rate, alarm("hit-ratio-low"), MetricStore()
    for minute in range(90):
        fetched = (limit + (0.02 if 30 <= minute < 60 else -0.02)) * 500 * GIB if minute % 10 == 0 else 0.0
        read = 500 * GIB if minute % 10 == 0 else 0.0
        for worker in ("i-1", "i-2"):
            store.put([of_worker("RemoteOverLimit", worker, 60 * minute, fetched - limit * read)])
    assert [in_alarm(low, store, 60 * minute) for minute in (30, 60, 90)] == [False, True, False]


def test_a_few_bytes_from_s3_are_no_low_hit_rate() -> None:
    assert alarm("hit-ratio-low").threshold == 10 * GIB


def test_the_limit_that_the_nodes_use_is_that_of_the_alarms_text() -> None:
    [publish] = [action for action in actions(trino_launch(CHOICE)) if action.name == "publish-trino-metrics"]
    limit = next(text.partition("=")[2] for text in publish.arguments if text.startswith("--least-hit-rate="))
    assert f"less than {limit} of all bytes" in alarm("hit-ratio-low").description


def test_a_worker_that_publishes_nothing_is_missed() -> None:
    silent, store = alarm("server-silent"), MetricStore()
    for minute in range(20):
        answering = PLAN.workers.count if minute < 10 else PLAN.workers.count - 1
        store.put([of_worker("Answering", f"i-{number}", 60 * minute, 1.0) for number in range(answering)])
    assert [in_alarm(silent, store, 60 * minute) for minute in (10, 14, 15, 20)] == [False, False, True, True]
    assert in_alarm(silent, MetricStore(), 600)


def test_a_cache_is_filling_until_it_has_half_of_its_planned_pages() -> None:
    threshold = alarm("cache-filling").threshold
    assert threshold == pytest.approx(0.5 * PLAN.cache.pages * PLAN.cache.page_bytes / PLAN.workers.count)
    # Files are spread by a hash, so the emptiest worker has less than the mean when all are full.


@pytest.mark.parametrize("choice", [CHOICE, PINNED], ids=["one volume", "three volumes"])
def test_the_disk_alarm_stands_between_the_plan_and_ninety_percent(choice: TrinoChoice) -> None:
    plan = trino_launch(choice).plan
    [full] = [one for one in trino_alarms(plan) if one.name.endswith("disk-full")]
    volume = plan.workers.volume("cache")
    assert plan.cache.size_gib / volume.count / volume.size_gib < full.threshold < 0.90


def test_a_cold_cache_notifies_unless_it_fills_or_a_worker_is_missing() -> None:
    """The rules are evaluated as Python, because their words differ only in their case."""
    rules = {call.name.removeprefix("warmbase-prod-lake-call-"): call.rule for call in trino_composite_alarms(PLAN)}

    def notified(*firing: str) -> set[str]:
        found = set()
        for cause, rule in rules.items():
            text = re.sub(r'ALARM\("warmbase-prod-lake-([\w-]+)"\)', r'("\1" in firing)', rule)
            for operator in ("AND", "OR", "NOT"):
                text = text.replace(operator, operator.lower())
            if eval(text, {"firing": firing}):  # noqa: S307 - the text is ours
                found.add(cause)
        return found

    assert notified("hit-ratio-low") == {"cache"}
    assert notified("hit-ratio-low", "cache-filling") == set()
    assert notified("hit-ratio-low", "server-silent") == {"servers"}
    assert notified("core-node-missing", "disk-full") == {"servers", "room"}
    assert notified("cache-filling") == set()


def test_rules_use_existing_alarms_and_every_alarm() -> None:
    used = {name for call in trino_composite_alarms(PLAN) for name in re.findall(r'ALARM\("([^"]+)"\)', call.rule)}
    assert used == {one.name for one in trino_alarms(PLAN)}


def test_alarms_have_known_names_and_texts_that_help() -> None:
    texts = {one.name: one.description for one in trino_alarms(PLAN)}
    texts |= {call.name: call.description for call in trino_composite_alarms(PLAN)}
    for name, text in texts.items():
        assert is_alarm_of(name, "prod", "lake")
        commands = re.findall(r"warmbase (\w+) prod\b", text)
        assert commands, text
        assert set(commands) <= set(COMMANDS)
        assert len(text) < 1_024  # PutMetricAlarm, AlarmDescription


def test_no_alarm_looks_back_longer_than_its_query_sees() -> None:
    """CloudWatch evaluates three hours of a query (alarm-limits)."""
    for one in trino_alarms(PLAN):
        assert one.period_seconds * one.periods <= (86_400 if isinstance(one.watched, Exact) else 3 * 3_600)


def test_a_planned_eviction_is_called_so() -> None:
    whole = replace(PLAN, cache=replace(PLAN.cache, pages=PLAN.cache.working_set_pages))
    titles = {
        plan.cache.pages: [graph.title for graph in trino_boards(plan)["warmbase-prod-lake-cache"]]
        for plan in (PLAN, whole)
    }
    assert "Pages evicted per second, all workers (none planned)" in titles[whole.cache.pages]
    assert "Pages evicted per second, all workers (none planned)" not in titles[PLAN.cache.pages]
