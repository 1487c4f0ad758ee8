"""The dashboard and the alarms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from cli.main import COMMANDS
from configurations.launch import Launch
from configurations.metrics import METRICS
from dashboards.alarm import alarms
from dashboards.cache import dashboard_body
from tests.shipped import ENVIRONMENTS

Launches = Callable[[str], Launch]


def body(launch: Launch) -> str:
    return dashboard_body(launch.plan, "us-east-1", launch.environment.root.bucket)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_dashboard_is_as_before(name: str, launches: Launches, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}/dashboard.json", body(launches(name)) + "\n")


def test_what_is_published_is_drawn_and_nothing_else(launches: Launches) -> None:
    """Each metric costs by node and month."""
    drawn = set(re.findall(r'MetricName=\\"([\w.]+)\\"', body(launches("prod"))))
    assert drawn == {each.cloudwatch for each in METRICS}


def test_the_lifetime_ratio_is_neither_drawn_nor_alarmed_on(launches: Launches) -> None:
    launch = launches("prod")
    assert "l2CacheHitRatio" not in body(launch)
    assert all("Ratio" not in alarm.metric for alarm in alarms(launch.plan, "bucket"))


def test_no_service_name_is_written_down(launches: Launches) -> None:
    assert re.findall(r'service\.name\\"=', body(launches("prod"))) == []


def test_widgets_do_not_overlap(launches: Launches) -> None:
    taken = [
        (x, y)
        for widget in json.loads(body(launches("prod")))["widgets"]
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


def test_the_planned_size_is_drawn_in_bytes(launches: Launches) -> None:
    launch = launches("prod")
    fill = json.loads(body(launch))["widgets"][0]["properties"]
    assert fill["annotations"]["horizontal"][0]["value"] == launch.plan.cache.size_mib * 2**20


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_alarm_names_a_command_that_exists(name: str, launches: Launches) -> None:
    for alarm in alarms(launches(name).plan, "bucket"):
        [command] = re.findall(r"warmbase (\w+) ([\w-]+)", alarm.description)
        assert command[0] in COMMANDS
        assert command[1] == name


def test_the_get_alarm_stands_above_what_the_warm_cache_leaves(launches: Launches) -> None:
    plan = launches("dev").plan
    [gets] = [alarm for alarm in alarms(plan, "bucket") if alarm.metric == "GetRequests"]
    [resource] = [each for each in plan.throughput.resources if each.name == "s3-requests"]
    assert gets.threshold >= 2 * 300 * resource.demand_per_read * plan.throughput.reads_per_second
