"""`warmbase release-regions` shows when the rows of a lost node are online again, and never ends the wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.conftest import launch_of
from tests.operations.deployed import Deployed
from warmbase.cli.operate import release_regions as command
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.ground.units import format_duration
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster.description import TerminatedNode
from warmbase.operations.cluster.stack import running_nodes


@pytest.fixture(autouse=True)
def clients(monkeypatch: pytest.MonkeyPatch, here: Deployed) -> None:
    """Give the command the AWS clients of this process."""
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)


@pytest.fixture
def lost(here: Deployed) -> dict[str, Any]:
    """Terminate a core node, and return it as EMR listed it before."""
    nodes = here.aws.emr.list_instances(ClusterId=here.cluster_id, InstanceGroupTypes=["CORE"])["Instances"]
    boto3.client("ec2", region_name="us-east-1").terminate_instances(InstanceIds=[nodes[0]["Ec2InstanceId"]])
    return dict(nodes[0])


def run(here: Deployed, *node: str) -> Result:
    return CliRunner().invoke(command.release_regions, [str(here.file), *node])


@pytest.mark.parametrize("key", ["Ec2InstanceId", "PrivateDnsName"])
def test_while_the_master_waits_the_answer_is_no(here: Deployed, lost: dict[str, Any], key: str) -> None:
    result = run(here, lost[key])
    assert isinstance(result.exception, Refused)
    assert "no way to end the wait is safe" in str(result.exception)
    expected = here.launch.plan.bad_hours.lost_node
    assert expected is not None
    until = datetime.now(UTC) + timedelta(seconds=expected.offline_with_meta_seconds)
    assert f"wait until {until:%Y-%m-%d %H:}" in str(result.exception)
    text = " ".join(result.stdout.split())
    assert lost["Ec2InstanceId"] in text
    assert "of rows are offline until about" in text
    assert "GETs (estimates)" in text
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_after_the_wait_there_is_nothing_to_release(
    here: Deployed, lost: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    [terminated] = [
        node
        for node in here.aws.emr.list_instances(ClusterId=here.cluster_id, InstanceStates=["TERMINATED"])["Instances"]
        if node["Ec2InstanceId"] == lost["Ec2InstanceId"]
    ]
    assert terminated["Status"]["Timeline"]["EndDateTime"] <= datetime.now(UTC)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    monkeypatch.setattr(Aws, "now", lambda _: tomorrow)
    result = run(here)
    assert result.exit_code == 0, result.output
    assert "should be online again since" in " ".join(result.stdout.split())


def test_a_node_that_runs_is_not_lost(here: Deployed) -> None:
    error = run(here, running_nodes(here.aws, here.cluster_id, "CORE")[0]).exception
    assert isinstance(error, Refused)
    assert "EMR lists the node as RUNNING" in str(error)


def test_without_a_lost_node_there_is_nothing_to_show(here: Deployed) -> None:
    error = run(here).exception
    assert isinstance(error, Refused)
    assert "has lost no core node" in str(error)


def test_the_error_about_an_unknown_node_names_the_lost_ones(here: Deployed, lost: dict[str, Any]) -> None:
    error = run(here, "i-0123456789abcdef0").exception
    assert isinstance(error, InvalidInput)
    assert lost["Ec2InstanceId"] in str(error)


def test_emr_replaces_the_node(here: Deployed, lost: dict[str, Any]) -> None:
    running = running_nodes(here.aws, here.cluster_id, "CORE")
    assert len(running) == here.launch.plan.core.count
    assert lost["Ec2InstanceId"] not in running


ENDED = datetime(2026, 11, 20, 10, tzinfo=UTC)
NODE = TerminatedNode(instance="i-1", host="ip-10-0-0-1", reason="", ended_at=ENDED)


@pytest.mark.parametrize(
    ("minutes", "waits", "text"),
    [
        (5, True, "of rows are offline until about 2026-11-20 10:10 UTC, or 2026-11-20 10:20 UTC if the node had"),
        (15, True, "of rows are offline until about 2026-11-20 10:10 UTC, or 2026-11-20 10:20 UTC if the node had"),
        (20, False, "of rows were offline; all should be online again since 2026-11-20 10:20 UTC at the latest"),
    ],
)
def test_the_master_waits_longer_for_a_node_that_had_meta(
    minutes: int,
    waits: object,
    text: str,
) -> None:
    """Until that wait is over, nobody knows from outside whether the node had hbase:meta."""
    now = ENDED + timedelta(minutes=minutes)
    plan = launch_of("prod").plan
    lost = plan.bad_hours.lost_node
    assert lost is not None
    lost = replace(lost, offline_seconds=600.0, offline_with_meta_seconds=1_200.0)
    assert (now < NODE.online_with_meta_at(lost)) is waits
    assert text in command._rows(NODE, lost, now)
    assert "wait until 2026-11-20 10:20 UTC" in str(command._unsafe(NODE, lost))


def test_the_new_node_is_launched_before_it_gets_its_regions() -> None:
    launch = launch_of("prod")
    new = launch.plan.bad_hours.replaced_node
    assert new is not None
    running: Any = SimpleNamespace(title=("title", "text"), launch=launch, aws=SimpleNamespace(now=lambda: ENDED))
    parts = dict(part for part in command._page(running, NODE) if isinstance(part, tuple))
    assert f"its regions {format_duration(new.launch_seconds + new.regions_seconds)} after the loss" in str(
        parts["replaced"]
    )


def test_without_a_wait_there_is_nothing_to_release() -> None:
    plan = launch_of("prod").plan
    no_wait = replace(plan, restart=replace(plan.restart, retain_retries=0))
    with pytest.raises(Refused, match="the master opens the regions of a lost server elsewhere at once"):
        command._lost_node(no_wait)
    single = replace(plan, bad_hours=replace(plan.bad_hours, lost_node=None))
    with pytest.raises(Refused, match="it has a single core node"):
        command._lost_node(single)
    assert command._lost_node(plan) is plan.bad_hours.lost_node
