"""The backstop of a canary: schedules end what is called like the canary, and nobody moves them while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.operations.canary_world import canary_of, launch
from tests.operations.deployed import Cut
from tests.operations.mocked_aws import clients
from warmbase.ground.errors import Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.canary.backstop import MINUTES, SECOND_MINUTES, SOON_MINUTES, Backstop
from warmbase.operations.canary.end_clusters import handler
from warmbase.operations.canary.launch import _refuse_late
from warmbase.stacks.backstop import BackstopStack

STACK = "warmbase-dev-canary-backstop"
NOON = 1_800_000_000.0 // 60 * 60


@pytest.fixture
def clock() -> list[float]:
    """Return a list whose only entry is the time, so that a test can advance it."""
    return [NOON]


@pytest.fixture
def backstop(aws: Aws, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> Backstop:
    monkeypatch.setattr(Aws, "now", lambda _: datetime.fromtimestamp(clock[0], UTC))
    return Backstop(aws=aws, environment="dev-canary")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Aws]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    install()
    with mock_aws():
        made = clients()
        made.ssm.put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="28", Type="String")
        app = cdk.App()
        BackstopStack(app, canary_of(made, tmp_path, Cut()).environment, "def handler(event, _): ...")
        template = app.synth().get_stack_by_name(STACK).template
        options: Any = {"Capabilities": ["CAPABILITY_IAM"]}
        made.cloudformation.create_stack(StackName=STACK, TemplateBody=json.dumps(template), **options)
        yield made


def test_schedules_that_are_ahead_are_not_moved_while_a_cluster_runs(
    aws: Aws, backstop: Backstop, clock: list[float]
) -> None:
    assert backstop.fires_at() is None
    backstop.arm(MINUTES)
    clock[0] += 600
    backstop.arm(MINUTES)
    end = NOON + 600 + 60 * MINUTES
    assert backstop.fires_at() == end, "nothing runs yet, so the time begins again"
    launch(aws, "warmbase-dev-canary-blue")
    for _ in range(3):
        clock[0] += 600
        backstop.arm(MINUTES)
        assert backstop.fires_at() == end


def test_a_cluster_that_outlived_its_schedules_ends_soon(aws: Aws, backstop: Backstop) -> None:
    launch(aws, "warmbase-dev-canary-blue")
    backstop.arm(MINUTES)
    assert backstop.fires_at() == NOON + 60 * SOON_MINUTES


def test_only_clusters_with_the_name_and_the_tag_of_the_canary_are_its_own(aws: Aws, backstop: Backstop) -> None:
    ours = launch(aws, "warmbase-dev-canary-blue")
    launch(aws, "warmbase-dev-canary-blue", "dev-canary-2")
    launch(aws, "warmbase-dev-blue")
    launch(aws, "warmbase-dev-canary-blue-green")  # of environment dev-canary-blue
    assert backstop.running() == [ours]


def test_a_schedule_that_is_disabled_ends_nothing(aws: Aws, backstop: Backstop) -> None:
    backstop.arm(MINUTES)
    for one in aws.scheduler.list_schedules(GroupName=STACK)["Schedules"]:
        whole = aws.scheduler.get_schedule(GroupName=STACK, Name=one["Name"])
        kept: Any = {
            key: whole[key] for key in ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
        }
        aws.scheduler.update_schedule(**kept, State="DISABLED")
    assert backstop.fires_at() is None


def test_the_function_ends_only_clusters_that_are_called_like_the_canary(aws: Aws) -> None:
    """Its role depends on a tag; the name is the second guard, and the only one that separates two runs."""
    others = ("warmbase-dev-blue", "production", "warmbase-dev-canary-blue-green")
    names = ("warmbase-dev-canary-blue", "warmbase-dev-canary-green", *others)
    clusters = {name: launch(aws, name) for name in names}
    ended = handler({"prefix": "warmbase-dev-canary-"}, None)
    assert sorted(ended) == sorted(clusters[name] for name in names[:2])
    states = {one["Name"]: one["Status"]["State"] for one in aws.emr.list_clusters()["Clusters"]}
    assert {name for name, state in states.items() if state == "TERMINATED"} == set(names[:2])


@pytest.mark.parametrize(
    ("minutes", "refused"), [(None, True), (SECOND_MINUTES - 1, True), (SECOND_MINUTES + 1, False)]
)
def test_a_second_cluster_is_launched_only_if_the_first_outlives_its_backstop(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int | None, *, refused: bool
) -> None:
    at = None if minutes is None else NOON + 60 * minutes
    monkeypatch.setattr(Aws, "now", lambda _: datetime.fromtimestamp(NOON, UTC))
    monkeypatch.setattr(Backstop, "fires_at", lambda _: at)
    canary = canary_of(aws, tmp_path, Cut())
    if refused:
        with pytest.raises(Refused, match="has no time for a second cluster"):
            _refuse_late(canary)
    else:
        _refuse_late(canary)
