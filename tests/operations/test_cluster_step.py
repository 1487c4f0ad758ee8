"""A script as an EMR step: a waiting step of a killed run is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from moto import mock_aws

from local_aws.extension import install
from operations.cluster_step import PrimaryShell
from sizing.problem import OperationFailed
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients

if TYPE_CHECKING:
    from mypy_boto3_emr.type_defs import StepConfigTypeDef


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)


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


def test_only_our_own_waiting_steps_of_a_killed_run_are_cancelled(here: Deployed) -> None:
    running, ours, theirs = (waits(here, name) for name in ("nightly load", "warmbase stop-hbase", "nightly export"))
    with pytest.raises(OperationFailed):  # nothing runs the step here, so it leaves no answer
        primary(here).run("inspect-wals", silent)
    assert states(here)[ours] == "CANCELLED"
    assert "CANCELLED" not in {states(here)[running], states(here)[theirs]}
