"""That dashboards and alarms tell the truth: on counters of a real HBase that warms, is restarted, and is killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.dashboards.preview.cloudwatch import MetricStore, Series, drawn
from tests.dashboards.preview.publication import replay
from tests.dashboards.preview.replay import (
    AWAY_SECONDS,
    MINUTE,
    RECORDED,
    STRETCH,
    ReplayedServer,
    lifetime_ratio,
    recorded_cluster,
    recording,
    three_servers,
    true_ratio,
)
from tests.dashboards.preview.timeline import timeline as minutes_in_alarm
from warmbase.configurations.launch import Launch
from warmbase.dashboards.boards import boards, cache_graphs
from warmbase.environments.environment import Root
from warmbase.sizing.plan import Plan

HIT_RATIO_TITLE = "Hit ratio per minute, all RegionServers, weighted by requests"
WORST_TITLE = "Hit ratio per minute, worst RegionServer"
LOW_TITLE = "RegionServers with a low hit ratio, and RegionServers that lost their cache in a restart"

ROOT = Root(bucket="bucket", prefix="hbase")
RESTARTS = (
    ReplayedServer.playing("i-clean", recording("restart", "clean restart")),
    ReplayedServer.playing("i-killed", recording("restart", "kill -9")),
    ReplayedServer.playing("i-clean-too", recording("restart", "clean restart")),
)
LOST = (
    *RESTARTS[:2],
    ReplayedServer.playing("i-lost", recording("restart", "clean restart, neither persistence nor prefetch")),
)
WARMING = tuple(ReplayedServer.playing(f"i-{number}", recording("warm-up", "warming by reads")) for number in range(3))


@pytest.fixture(scope="module")
def plan(launches: Callable[[str], Launch]) -> Plan:
    """Return the plan of prod with three nodes that restart as quickly as the recorded ones."""
    plan = launches("prod").plan
    quick = replace(plan.restart, stop_seconds=1.0, away_seconds=20.0)
    return replace(plan, core=replace(plan.core, count=3), restart=quick)


def curve(store: MetricStore, plan: Plan, title: str, label: str) -> Series:
    """Return a curve of the cache dashboard."""
    [graph] = [cache_graph for cache_graph in cache_graphs(plan) if cache_graph.title == title]
    [minutes] = [item.series for item in drawn(graph, store) if item.label == label]
    return minutes


@pytest.mark.parametrize(
    "servers",
    [RESTARTS, LOST, WARMING, three_servers()],
    ids=["restarts", "a cache lost", "warming", "one after the other"],
)
def test_the_hit_ratio_is_the_truth_in_every_window(servers: tuple[ReplayedServer, ...], plan: Plan) -> None:
    curves = curve(replay(servers), plan, HIT_RATIO_TITLE, "hit ratio")
    true = {begins: true_ratio(servers, begins) for begins in range(0, servers[0].seconds, MINUTE)}
    assert len(curves) >= 12
    for begins, ratio in curves.items():
        assert ratio == pytest.approx(true[begins], abs=0.002)
        assert 0 <= ratio <= 1


def test_a_mean_over_every_servers_life_is_not(plan: Plan) -> None:
    """l2CacheHitRatio, averaged over servers, is 30 points off while a cache warms and after a restart."""
    for servers in (LOST, WARMING):
        curves = curve(replay(servers), plan, HIT_RATIO_TITLE, "hit ratio")
        off = [abs((lifetime_ratio(servers, begins + MINUTE) or 0.0) - ratio) for begins, ratio in curves.items()]
        assert max(off) > 0.25


def test_the_worst_server_is_the_one_that_lost_its_cache(plan: Plan) -> None:
    store = replay(LOST)
    worst = curve(store, plan, WORST_TITLE, "lowest hit ratio")
    alone = curve(replay(LOST[2:]), plan, HIT_RATIO_TITLE, "hit ratio")
    assert min(worst.values()) < 0.9
    assert {begins: worst[begins] for begins in alone if alone[begins] < 0.95} == {
        begins: ratio for begins, ratio in alone.items() if ratio < 0.95
    }


@pytest.mark.parametrize(
    "servers",
    [RESTARTS, LOST, WARMING, three_servers()],
    ids=["restarts", "a cache lost", "warming", "one after the other"],
)
def test_no_curve_is_negative_and_no_ratio_above_one(servers: tuple[ReplayedServer, ...], plan: Plan) -> None:
    store = replay(servers)
    for graph in cache_graphs(plan):
        for item in drawn(graph, store):
            assert all(value >= 0 for value in item.series.values()), graph.title
            if graph.unit in {"hit ratio", "fraction of slots"}:
                assert all(value <= 1 for value in item.series.values()), graph.title


def test_every_expression_of_every_dashboard_is_one_that_is_recognised(plan: Plan) -> None:
    store = replay(RESTARTS)
    for graphs in boards(plan, ROOT).values():
        for graph in graphs:
            drawn(graph, store)


def timeline(servers: tuple[ReplayedServer, ...], plan: Plan) -> dict[str, list[int]]:
    """Return the minutes in alarm by alarm name, without the cluster's prefix."""
    in_alarm = minutes_in_alarm(replay(servers), servers[0].seconds, plan, ROOT)
    return {name.removeprefix("warmbase-prod-blue-"): list(minutes) for name, minutes in in_alarm.items()}


def test_the_recording_of_the_cluster_is_read_back_as_it_was() -> None:
    assert recorded_cluster().to_json() == (RECORDED / "cluster.json").read_text(encoding="utf-8")


def test_a_recorded_cluster_has_each_event_and_its_end() -> None:
    """A killed server and a restarted one keep their caches; the third comes back with an empty one."""
    events = {event.what: event for event in recorded_cluster().events}
    assert list(events) == ["restart", "kill", "cache lost"]
    for what, event in events.items():
        [(away, back)] = three_servers()[event.server].absences
        moments = three_servers()[event.server].moments
        before, after = (next(item for item in moments if item.second >= second) for second in (away, back))
        assert before.second < after.second
        assert before.second == pytest.approx(STRETCH * event.seconds, abs=STRETCH * AWAY_SECONDS)
        assert (after.figures["l2CacheSize"] >= 0.99 * before.figures["l2CacheSize"]) == (what != "cache lost")


DAY = 86_400.0
AWAY = (*RESTARTS[:2], replace(RESTARTS[2], instance="i-gone", moments=RESTARTS[2].moments[:30]))
UNEXPECTED = tuple(replace(server, up_before=DAY) for server in WARMING)
"""The caches of servers that are up for a day answer less and less, and then more: nobody restarted them."""


def test_restarts_that_keep_the_cache_call_nobody(plan: Plan) -> None:
    """They are away for under two minutes, and what they had cached is there again."""
    minutes = timeline(tuple(replace(server, up_before=DAY) for server in RESTARTS), plan)
    assert not any(name.startswith("call-") for name in minutes), minutes
    assert not {"hit-ratio-low", "server-cold", "cache-lost", "server-silent"} & minutes.keys()


def test_a_cold_start_is_called_warming_and_calls_nobody(plan: Plan) -> None:
    minutes = timeline(WARMING, plan)
    assert {"cache-filling", "server-young", "hit-ratio-low"} <= minutes.keys()
    assert not any(name.startswith("call-") for name in minutes), minutes


def test_a_cache_that_a_restart_lost_calls_though_it_warms_and_until_it_has_refilled(plan: Plan) -> None:
    alarm_minutes = timeline(LOST, plan)
    assert {name for name in alarm_minutes if name.startswith("call-")} == {"call-cache"}
    lost = curve(replay(LOST), plan, LOW_TITLE, "cache lost")
    minutes = [begins // MINUTE for begins, servers in lost.items() if servers]
    # Five minutes must be so, and a minute is looked at when it is over.
    assert alarm_minutes["call-cache"] == alarm_minutes["cache-lost"] == list(range(minutes[0] + 5, minutes[-1] + 2))


def test_a_cold_cache_of_servers_that_are_long_up_calls(plan: Plan) -> None:
    minutes = timeline(UNEXPECTED, plan)
    assert {name for name in minutes if name.startswith("call-")} == {"call-cache"}
    ratios = curve(replay(UNEXPECTED), plan, HIT_RATIO_TITLE, "hit ratio")
    low = [begins // MINUTE for begins, ratio in ratios.items() if ratio < 0.9]
    assert minutes["hit-ratio-low"] == list(range(low[0] + 5, low[-1] + 2))
    assert set(minutes["call-cache"]) == set(minutes["hit-ratio-low"]) | set(minutes["server-cold"])


def test_a_server_that_is_removed_calls_once_and_not_for_its_cache(plan: Plan) -> None:
    minutes = timeline(AWAY, plan)
    last_minute = int(AWAY[2].moments[-1].second) // MINUTE
    assert {name for name in minutes if name.startswith("call-")} == {"call-servers"}
    assert minutes["server-silent"][0] in range(last_minute + 3, last_minute + 6)
    assert minutes["call-servers"] == minutes["server-silent"]


def test_while_a_server_is_removed_the_misses_of_the_others_call_nobody_else(plan: Plan) -> None:
    absent = replace(UNEXPECTED[2], moments=UNEXPECTED[2].moments[:8])
    minutes = timeline((*UNEXPECTED[:2], absent), plan)
    assert set(minutes["hit-ratio-low"]) & set(minutes["server-silent"])
    assert not set(minutes.get("call-cache", ())) & set(minutes["call-servers"])
