"""The dashboards: what is published is drawn, what is drawn CloudWatch can evaluate and has room for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.configurations.variants import Variant, variant_launch
from tests.shipped import ENVIRONMENTS
from warmbase.configurations.launch import Launch
from warmbase.configurations.metrics import METRICS, MetricSource
from warmbase.dashboards.alarms import alarms
from warmbase.dashboards.boards import boards, dashboard_bodies
from warmbase.dashboards.graph import Exact
from warmbase.environments.environment import Root
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.sizing.modes import HDFS

Launches = Callable[[str], Launch]
ROOT = Root(bucket="bucket", prefix="hbase")


def bodies(launch: Launch) -> Mapping[str, str]:
    return dashboard_bodies(launch.plan, "us-east-1", launch.environment.root)


def widgets(launch: Launch) -> dict[str, list[dict[str, Any]]]:
    return {name: json.loads(body)["widgets"] for name, body in bodies(launch).items()}


def expressions(launch: Launch) -> list[str]:
    return [
        line.of
        for graphs in boards(launch.plan, ROOT).values()
        for graph in graphs
        for line in graph.lines
        if isinstance(line.of, str)
    ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_dashboards_are_as_before(name: str, launches: Launches, golden: Callable[[str, str], None]) -> None:
    for board, body in bodies(launches(name)).items():
        golden(f"{name}/dashboard-{board.rsplit('-', 1)[1]}.json", body + "\n")


def test_what_is_published_is_drawn_or_alarmed_on_and_nothing_else(launches: Launches) -> None:
    """A metric is paid for on every node, also where nothing uses it."""
    plan = launches("prod").plan
    searched = {
        name
        for launch in (launches("prod"), variant_launch(Variant(HDFS)))
        for expression in expressions(launch)
        for name in re.findall(r'MetricName="([\w.]+)"', expression)
    }
    watched = [alarm.watched for alarm in alarms(plan, ROOT)]
    queried = {name for query in watched if isinstance(query, str) for name in re.findall(r"\((\w+)\)", query)}
    exact = {series.metric.cloudwatch for series in watched if isinstance(series, Exact)} | {
        line.of.metric.cloudwatch
        for graphs in boards(plan, ROOT).values()
        for graph in graphs
        for line in graph.lines
        if isinstance(line.of, Exact)
    }
    # `warmbase status` computes the fill from FreeBytes; a plan with a lower hit ratio watches MissesOver80.
    used = searched | queried | exact | {"FreeBytes", "MissesOver80"}
    assert used >= {metric.cloudwatch for metric in METRICS}
    assert searched | exact <= {metric.cloudwatch for metric in METRICS}


def test_servers_with_few_local_blocks_are_counted_where_the_data_is_on_hdfs(launches: Launches) -> None:
    """CEIL((limit - percent) / 100) is 1 below the limit, and 0 from the limit to 100 percent."""
    drawn = expressions(variant_launch(Variant(HDFS)))
    for limit in (90, 80):
        [count] = [expression for expression in drawn if f"CEIL(({limit} - SEARCH(" in expression]
        assert "percentFilesLocal" in count
        assert [math.ceil((limit - percent) / 100) for percent in (0, limit - 0.1, limit, 100)] == [1, 1, 0, 0]
    assert not any("percentFilesLocal" in expression for expression in expressions(launches("prod")))


def test_counters_are_drawn_by_their_rate(launches: Launches) -> None:
    for expression in expressions(launches("prod")):
        for name in re.findall(r'MetricName="([\w.]+)"', expression):
            [published] = [metric for metric in METRICS if metric.cloudwatch == name]
            assert published.counter == ("RATE(SEARCH(" in expression), expression


def test_the_lifetime_ratio_is_neither_drawn_nor_alarmed_on(launches: Launches) -> None:
    plan = launches("prod").plan
    assert "l2CacheHitRatio" not in "".join(bodies(launches("prod")).values())
    assert all("HitRatio" not in str(alarm.watched) for alarm in alarms(plan, ROOT))


def test_no_service_name_is_written_down(launches: Launches) -> None:
    assert not any(re.findall(r"service\.name\"=", expression) for expression in expressions(launches("prod")))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_widgets_do_not_overlap(name: str, launches: Launches) -> None:
    for board in widgets(launches(name)).values():
        cells = [
            (x, y)
            for widget in board
            for x in range(widget["x"], widget["x"] + widget["width"])
            for y in range(widget["y"], widget["y"] + widget["height"])
        ]
        assert len(cells) == len(set(cells))
        assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_dashboards_are_within_cloudwatchs_limits(name: str, launches: Launches) -> None:
    """A widget takes 500 metrics and expressions, a dashboard 2,500, and 500 widgets (cloudwatch_limits)."""
    nodes = launches(name).plan.core.count + launches(name).plan.primary.count
    for board in widgets(launches(name)).values():
        assert len(board) <= 500
        drawn = [len(widget["properties"]["metrics"]) + nodes * json.dumps(widget).count("SEARCH(") for widget in board]
        assert max(drawn) <= 500
        assert sum(drawn) <= 2_500


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_bodies_fit_into_their_template(name: str, launches: Launches) -> None:
    """CloudWatch documents no size of a body; CloudFormation takes templates of 1 MB, and all bodies are in one."""
    launch = launches(name)
    bodies = dashboard_bodies(launch.plan, launch.environment.region, launch.environment.root)
    assert sum(map(len, bodies.values())) < 500_000


SCHEMA = json.loads((Path(__file__).parent / "dashboard.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_bodies_are_as_cloudwatch_documents_them(name: str, launches: Launches) -> None:
    for body in bodies(launches(name)).values():
        jsonschema.validate(json.loads(body), SCHEMA)
        identities = [
            [line[-1]["id"] for line in widget["properties"]["metrics"]] for widget in json.loads(body)["widgets"]
        ]
        assert all(len(identity) == len(set(identity)) for identity in identities)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("x",), 24),
        (("properties", "period"), 90),
        (("properties", "view"), "line"),
        (("properties", "metrics", 0, 0, "id"), "Hits"),
        (("properties", "yAxis", "middle"), {}),
    ],
)
def test_what_cloudwatch_does_not_take_is_refused(
    path: tuple[str | int, ...], value: object, launches: Launches
) -> None:
    body = json.loads(next(iter(bodies(launches("prod")).values())))
    place = body["widgets"][0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, SCHEMA)


def test_two_arrays_never_meet(launches: Launches) -> None:
    """Arithmetic takes no two arrays: a search stands alone, or within a function that makes one series of it."""
    for expression in expressions(launches("prod")):
        searches = expression.count("SEARCH(")
        assert searches <= 1
        if searches and not expression.startswith("SEARCH("):
            assert re.match(r"(SUM|MIN|MAX|AVG)\((RATE\()?SEARCH\(", expression), expression


def test_without_a_cache_no_figures_of_one_are_drawn() -> None:
    environment = read_environment("tests/environments/examples/recovery.yaml")
    plan = plan_of(environment, environment.active)
    text = "".join(dashboard_bodies(plan, "us-east-1", ROOT).values())
    of_nodes = {metric.cloudwatch for metric in METRICS if metric.source is MetricSource.NODE}
    assert not of_nodes & set(re.findall(r'MetricName=\\"([\w.]+)\\"', text))
