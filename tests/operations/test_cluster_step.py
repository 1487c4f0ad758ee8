"""A script as an EMR step: a waiting step of a killed run is cancelled."""

from __future__ import annotations

from typing import NoReturn

import pytest
from mypy_boto3_emr.type_defs import StepConfigTypeDef

from tests.operations.deployed import Deployed
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import examining
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.node_command import PrimaryShell


def primary(here: Deployed) -> PrimaryShell:
    bucket = here.environment.in_account(here.environment.log_bucket, here.aws.account)
    return PrimaryShell(aws=here.aws, cluster_id=here.cluster_id, log_bucket=bucket)


def waits(here: Deployed, name: str) -> str:
    """Add a step of this name, which waits while another one runs, and return its id."""
    step: StepConfigTypeDef = {"Name": name, "HadoopJarStep": {"Jar": "command-runner.jar", "Args": []}}
    return here.aws.emr.add_job_flow_steps(JobFlowId=here.cluster_id, Steps=[step])["StepIds"][0]


def states(here: Deployed) -> dict[str, str]:
    steps = here.aws.emr.list_steps(ClusterId=here.cluster_id)["Steps"]
    return {step["Id"]: step["Status"]["State"] for step in steps}


def silent(_: str) -> None:
    """Ignore the line."""


def test_with_the_lock_waiting_steps_of_warmbase_are_cancelled_and_no_others(here: Deployed) -> None:
    running, ours, theirs = (waits(here, name) for name in ("nightly load", "warmbase stop-hbase", "nightly export"))
    # Nothing runs the step here, so it leaves no answer.
    with environment_lock(here.aws, here.environment, "teardown blue"), pytest.raises(OperationFailed):
        primary(here).run("inspect-wals", silent)
    assert states(here)[ours] == "CANCELLED"
    assert "CANCELLED" not in {states(here)[running], states(here)[theirs]}


def test_an_examination_cancels_no_step_but_its_own(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step of a teardown waits while somebody starts to verify the cluster and interrupts it."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    waits(here, "nightly load")
    teardown = waits(here, "warmbase stop-hbase")
    monkeypatch.setattr(here.aws, "gate", examining)
    with monkeypatch.context() as patch:
        patch.setattr(PrimaryShell, "_ended", interrupt)
        with pytest.raises(KeyboardInterrupt):
            primary(here).run("inspect-wals", silent)
    with pytest.raises(OperationFailed):
        primary(here).run("inspect-wals", silent)
    cancelled = [step for step, state in states(here).items() if state == "CANCELLED"]
    assert states(here)[teardown] != "CANCELLED"
    assert len(cancelled) == 1


def test_a_step_that_runs_is_not_interrupted_between_two_of_its_calls(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(shell: PrimaryShell, step: str, *_: object) -> NoReturn:
        # The first description of a step finds it running.
        here.aws.emr.describe_step(ClusterId=shell.cluster_id, StepId=step)
        raise KeyboardInterrupt

    monkeypatch.setattr(PrimaryShell, "_ended", interrupt)
    with pytest.raises(KeyboardInterrupt):
        primary(here).run("change-tables", silent, "reopen-region", "a")
    assert list(states(here).values()) == ["RUNNING"]


def test_a_step_that_was_cancelled_names_no_log(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrimaryShell, "_ended", lambda *_: "CANCELLED")
    with pytest.raises(OperationFailed, match="was cancelled") as caught:
        primary(here).run("inspect-wals", silent)
    assert caught.value.problems[0].fix == "run the same command again"
