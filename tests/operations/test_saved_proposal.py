"""A saved proposal is deployed exactly as it was saved, or refused with a list of what has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.operations.deployed import Deployed, synthesised
from tests.operations.mocked_aws import VARIABLES
from warmbase.cli.deploy.deploy import deploy
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.operations.deploy.cdk import Assembly
from warmbase.operations.deploy.deployment import Proposal, proposed, read_proposal, write_proposal


def today(here: Deployed) -> Proposal:
    """Return what a deployment proposes now."""
    directory = synthesised(here.file.read_text())
    assembly = Assembly(name=str(here.file), aws=here.aws, variables=VARIABLES, directory=directory)
    return proposed(assembly, here.environment, {"blue": here.planned}, [])


def saved(here: Deployed, directory: Path) -> Path:
    file = directory / "dev.proposal.json"
    write_proposal(file, today(here), {"shown": True})
    return file


def edited_file(here: Deployed) -> str:
    here.edit("per_second: 200", "per_second: 300")
    return "changes of cluster blue, as they will be applied"


def edited_tags(here: Deployed) -> str:
    here.edit("clusters:", "access: {cidrs: [10.9.0.0/16]}\nclusters:")
    return "stack warmbase-dev-network, as it will be deployed"


def edited_stack(here: Deployed) -> str:
    name = "warmbase-dev-blue-monitoring"
    here.aws.cloudformation.delete_stack(StackName=name)
    return f"stack {name}: was CREATE_COMPLETE"


def edited_group(here: Deployed) -> str:
    groups: Any = here.aws.emr.list_instance_groups(ClusterId=here.cluster_id)["InstanceGroups"]
    [core] = [group["Id"] for group in groups if group["InstanceGroupType"] == "CORE"]
    here.aws.emr.modify_instance_groups(
        ClusterId=here.cluster_id, InstanceGroups=[{"InstanceGroupId": core, "InstanceCount": 5}]
    )
    return f"core group of {here.cluster_id}: was 2 nodes"


def disabled_alarms(here: Deployed) -> str:
    here.aws.cloudwatch.disable_alarm_actions(AlarmNames=["warmbase-dev-blue-call-cache"])
    return "silence of cluster blue's alarms: was none, is warmbase-dev-blue-call-cache"


def lost_protection(here: Deployed) -> str:
    here.aws.emr.set_termination_protection(JobFlowIds=[here.cluster_id], TerminationProtected=False)
    name = f"termination protection of cluster {here.cluster_id}"
    return f"protection that cluster blue lacks: was none, is {name}"


def test_what_was_saved_is_what_is_proposed_while_nothing_moves(here: Deployed, tmp_path: Path) -> None:
    file = saved(here, tmp_path)
    read_proposal(file).refuse_other(today(here))
    assert json.loads(file.read_text())["proposal"] == {"shown": True}


@pytest.mark.parametrize(
    "move", [edited_file, edited_tags, edited_stack, edited_group, disabled_alarms, lost_protection]
)
def test_a_proposal_is_refused_once_something_has_moved(
    here: Deployed, tmp_path: Path, move: Callable[[Deployed], str]
) -> None:
    file = saved(here, tmp_path)
    moved = move(here)
    with pytest.raises(Refused) as refused:
        read_proposal(file).refuse_other(today(here))
    assert moved in str(refused.value)
    assert "nothing was changed" in str(refused.value)


def test_a_proposal_for_another_environment_is_refused(here: Deployed, tmp_path: Path) -> None:
    file = saved(here, tmp_path)
    file.write_text(file.read_text().replace('"environment": "dev"', '"environment": "prod"', 1))
    with pytest.raises(Refused, match="is a proposal for environment prod"):
        read_proposal(file).refuse_other(today(here))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a saved proposal"),
        ("[]", "is not a saved proposal"),
        ('{"format": 1, "environment": "dev"}', "is not a saved proposal"),
        ('{"format": 2}', "has format 2, and this version reads format 1"),
    ],
)
def test_a_file_that_is_no_proposal_is_refused(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=why):
        read_proposal(file)


def test_a_pipe_and_a_missing_file_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "absent"):
        with pytest.raises(InvalidInput, match="is not a saved proposal"):
            read_proposal(tmp_path / name)


def test_a_proposal_that_cannot_be_written_is_an_error(here: Deployed, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_proposal(tmp_path / "absent/dev.json", today(here), {})


def test_apply_deploys_and_is_no_dry_run(tmp_path: Path) -> None:
    done = CliRunner().invoke(deploy, ["dev", "--apply", str(tmp_path / "x"), "--dry-run"])
    assert done.exit_code == 2
    assert "--apply deploys; use it without --save and --dry-run" in done.output
