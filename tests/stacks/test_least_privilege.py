"""The roles of a cluster may not exceed the limits of each statement, and a replica may not write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import app
from stacks.pinned import read_templates
from tests.stacks.template import Templates, filled, only

PROJECT = Path(__file__).parents[2]
REPLICA = "  green: {role: replica, primaries: 1, core: {families: [r8g]}}\n"


def statements(template: Any, role: str) -> dict[str, Any]:
    """Return the statements of a role's policy by their ids."""
    policy = only(template, "AWS::IAM::Policy", f"Roles{role}")
    return {statement["Sid"]: statement for statement in policy["PolicyDocument"]["Statement"]}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Templates of an active cluster with a write-ahead log of EMR's, and of a replica of it."""
    directory = tmp_path_factory.mktemp("replica")
    text = (PROJECT / "environments/dev.yaml").read_text().replace("\nclusters:\n", f"\nclusters:\n{REPLICA}")
    file = directory / "dev.yaml"
    file.write_text(f"{text}\nstorage: {{wal: emr-wal}}\n")
    return read_templates(app.synthesise(str(file), str(directory / "cdk.out")).assembly)


def test_a_replica_neither_claims_the_root_nor_appends_to_a_log(both: Templates) -> None:
    active, replica = (statements(both[f"warmbase-dev-{name}-cluster"], "Node") for name in ("blue", "green"))
    assert active.keys() - replica.keys() == {"Claim", "ClaimHolder", "WriteAheadLog"}


def test_emr_acts_for_this_account_alone(templates: Callable[[str], Templates]) -> None:
    """Else anybody's EMR could be made to act with this role: the confused deputy."""
    role = only(templates("prod")["warmbase-prod-blue-cluster"], "AWS::IAM::Role", "RolesService")
    [statement] = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_emr_passes_the_nodes_role_to_ec2_alone(templates: Callable[[str], Templates]) -> None:
    passed = statements(templates("prod")["warmbase-prod-blue-cluster"], "Service")["NodeRole"]
    assert passed["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_nodes_have_one_managed_policy_and_write_logs_below_one_prefix(templates: Callable[[str], Templates]) -> None:
    template = templates("prod")["warmbase-prod-blue-cluster"]
    [policy] = only(template, "AWS::IAM::Role", "RolesNode")["ManagedPolicyArns"]
    assert str(policy).endswith(":iam::aws:policy/AmazonSSMManagedInstanceCore']]}")
    assert filled(statements(template, "Node")["Logs"]["Resource"]).endswith("-logs-ACCOUNT-us-east-1/emr/*")
