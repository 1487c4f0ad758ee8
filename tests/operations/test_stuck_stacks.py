"""A stack whose creation failed can hold a cluster that runs: the advice leads to its teardown, which works."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from moto import mock_aws

from local_aws.cloudformation.stack_state import state
from local_aws.extension import install
from tests.operations.deployed import Deployed
from tests.operations.operators import (
    STACK,
    World,
    deployed_checkout,
)
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.cluster import failed_launch
from warmbase.operations.cluster.failed_launch import wait_until_stable
from warmbase.operations.deploy import deployment
from warmbase.operations.deploy.cdk import Assembly
from warmbase.operations.deploy.preflight import preflight


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return an environment whose cluster runs, although the parameter with its id could not be created."""
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - slow, and AWS must be mocked

    install()
    with mock_aws():
        _, world = deployed_checkout(tmp_path, monkeypatch)
        shutil.rmtree(world.file("A").with_suffix(".launch"))
        [cluster] = world.running()
        world.aws.emr.set_termination_protection(JobFlowIds=[cluster], TerminationProtected=False)
        world.aws.ssm.delete_parameter(Name="/warmbase/dev/blue/cluster-id")
        stacks = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
        [stack] = [stack for stack in stacks if stack.name == STACK]
        stack.status = "CREATE_FAILED"
        resources = state(stack).resources
        [parameter] = [name for name in resources if name.startswith("ClusterId")]
        del resources[parameter]
        yield world


def advice(world: World) -> tuple[str, str]:
    """Return what a deployment says to the stack: before it begins, and where it would change the stack."""
    environment = read_environment(str(world.file("A")))
    launches = {"blue": launch_of(environment, environment.active)}
    [check] = [check for check in preflight(world.aws, environment, launches, {}) if check.name == STACK]
    with pytest.raises(OperationFailed) as failed:
        wait_until_stable(world.aws, STACK, lambda _: None)
    return f"{check.problem}; {check.fix}", str(failed.value)


def test_a_cluster_that_runs_in_a_failed_stack_is_recorded_and_torn_down(world: World) -> None:
    [cluster] = world.running()
    for text in advice(world):
        assert f"cluster {cluster} is WAITING" in text
        assert "warmbase pin ENV" in text
        assert "warmbase teardown ENV blue" in text
        assert "delete-stack" not in text
    for command in (("pin", "ENV"), ("teardown", "ENV", "blue")):
        done = world.run("A", *command)
        assert done.code == 0, done.text
    assert world.running() == []
    assert world.claim() == "nobody"


def test_a_cluster_that_the_failed_stack_no_longer_lists_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [cluster] = world.running()
    monkeypatch.setattr(failed_launch, "stack_cluster", lambda *_: None)
    for text in advice(world):
        assert f"cluster {cluster} is WAITING" in text
        assert "no longer lists the cluster" in text


def test_a_failed_stack_without_a_cluster_is_deleted(world: World) -> None:
    world.end_cluster()
    before, within = advice(world)
    assert "no node of that launch remains; `warmbase deploy dev` asks, ends it" in before
    assert f"delete-stack --stack-name {STACK}" in within
    assert "teardown" not in before + within


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS"])
def test_no_second_cluster_is_launched_under_the_record_of_the_first(
    here: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str | None
) -> None:
    """A change set that creates a stack leaves it in review, and somebody may have deleted the stack itself."""
    assembly = Assembly(name=str(here.file), aws=here.aws, variables={}, directory=tmp_path)
    changes = Mock(environment=here.environment, launches={"blue": here.launch}, analytics={}, silences={}, tunings={})
    [stage] = [stage for stage in deployment.deployment(assembly, changes) if stage.title == f"deploy {STACK}"]
    monkeypatch.setattr(deployment, "status_of", lambda *_: status)
    monkeypatch.setattr(deployment, "deploy_stack", lambda *_: pytest.fail("a second cluster"))
    with pytest.raises(Refused, match=f"records its cluster {here.cluster_id}(.|\\n)*warmbase teardown dev blue"):
        stage.act(print)
