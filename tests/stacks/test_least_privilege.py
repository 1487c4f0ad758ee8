"""The roles of a cluster may not exceed the limits of each statement, and a replica may not write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.stacks.recorded import launch_record_of
from tests.stacks.template import Templates, filled, listed, only
from warmbase import app
from warmbase.environments.environment import UNCONDITIONAL
from warmbase.environments.launch_record import write_record
from warmbase.stacks.pinned import read_templates

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
    assert active.keys() - replica.keys() == {"Claim", "ClaimHolder", "RootObjects", "WriteAheadLog"}
    assert replica["ClaimRead"]["Action"] == "s3:GetObject"


def test_no_node_deletes_the_claim_or_overwrites_it_without_a_condition(both: Templates) -> None:
    for name in ("blue", "green"):
        node = statements(both[f"warmbase-dev-{name}-cluster"], "Node")
        for sid, actions in (
            ("ClaimUnconditional", {"s3:PutObject"}),
            ("ClaimDeletion", {"s3:DeleteObject", "s3:DeleteObjectVersion"}),
        ):
            assert (node[sid]["Effect"], set(listed(node[sid]["Action"]))) == ("Deny", actions)
            assert filled(node[sid]["Resource"]).endswith("-us-east-1/hbase.warmbase-claim")
        assert node["ClaimUnconditional"]["Condition"] == UNCONDITIONAL


def test_a_replica_writes_only_what_its_own_master_and_meta_table_need(both: Templates) -> None:
    replica = statements(both["warmbase-dev-green-cluster"], "Node")
    written = {
        filled(resource).partition("-us-east-1/hbase/")[2]
        for statement in replica.values()
        if {"s3:PutObject", "s3:DeleteObject"} & set(listed(statement["Action"])) and statement["Effect"] == "Allow"
        for resource in listed(statement["Resource"])
    }
    marks = {name for name in written if name.endswith(("/", "_$folder$"))}
    assert {name.removesuffix("/") for name in marks if name.endswith("/")} == {
        *(".hbase-snapshot", ".hbck", "archive", "archive/data", "archive/data/hbase", "archive/data/master"),
        *("data", "data/hbase", "mobdir", "staging"),
    }
    assert len(marks) == 20
    assert written - marks == {
        "",  # its logs
        *(".hbase-snapshot/.tmp*", ".tmp*"),
        *("MasterData*", "archive/data/master/*"),
        *("archive/data/hbase/meta_j-*", "data/hbase/meta_j-*"),
    }


@pytest.mark.parametrize("watched", [True, False], ids=["launched with the watch", "launched before it"])
def test_a_replica_of_an_older_version_keeps_its_permission_to_write(tmp_path: Path, *, watched: bool) -> None:
    """Somebody may have promoted it by hand: the next deployment must not stop its writes."""
    file = tmp_path / "dev.yaml"
    text = (PROJECT / "environments/dev.yaml").read_text()
    file.write_text(text.replace("\nclusters:\n", f"\nclusters:\n{REPLICA}"))
    assembly = app.synthesise(str(file), str(tmp_path / "launched")).assembly
    record = launch_record_of(file, assembly, "green")
    cluster = record.resources["warmbase-dev-green-cluster"]["Cluster"]
    if not watched:
        actions = [action for action in cluster.properties["BootstrapActions"] if action["Name"] != "watch-claim"]
        older = replace(cluster, properties={**cluster.properties, "BootstrapActions": actions})
        in_stack = {**record.resources["warmbase-dev-green-cluster"], "Cluster": older}
        resources = {**record.resources, "warmbase-dev-green-cluster": in_stack}
        files = {name: record.file(name).read_bytes() for name in record.bootstrap}
        write_record(replace(record, resources=resources), files)
    later = read_templates(app.synthesise(str(file), str(tmp_path / "later")).assembly)
    node = statements(later["warmbase-dev-green-cluster"], "Node")
    assert ("ReplicaRead" in node, "RootObjects" in node) == (watched, not watched)
    assert "ClaimDeletion" in node


def test_emr_passes_the_nodes_role_to_ec2_alone(templates: Callable[[str], Templates]) -> None:
    passed = statements(templates("prod")["warmbase-prod-blue-cluster"], "Service")["NodeRole"]
    assert passed["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_nodes_have_no_managed_policy_and_write_logs_below_one_prefix(templates: Callable[[str], Templates]) -> None:
    template = templates("prod")["warmbase-prod-blue-cluster"]
    assert "ManagedPolicyArns" not in only(template, "AWS::IAM::Role", "RolesNode")
    assert filled(statements(template, "Node")["Logs"]["Resource"]).endswith("-logs-ACCOUNT-us-east-1/emr/*")


def test_systems_manager_may_open_sessions_on_nodes_and_nodes_read_no_parameter(both: Templates) -> None:
    """A program on a node must not read the account's parameters, which often hold passwords."""
    for cluster_name in ("blue", "green"):
        node = statements(both[f"warmbase-dev-{cluster_name}-cluster"], "Node")
        granted = {action for statement in node.values() for action in listed(statement["Action"])}
        assert {action for action in granted if action.startswith(("ssm", "ec2"))} == {
            "ssm:UpdateInstanceInformation",
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        }


def test_nodes_use_no_bucket_of_another_account_but_that_of_the_certificates(both: Templates) -> None:
    """Bucket names are global, and ours can be guessed: the owner counts, not the name."""
    for cluster_name in ("blue", "green"):
        for sid, statement in statements(both[f"warmbase-dev-{cluster_name}-cluster"], "Node").items():
            if statement["Effect"] == "Allow" and any(
                action.startswith("s3:") for action in listed(statement["Action"])
            ):
                assert sid != "Certificates"
                assert statement["Condition"] == {"StringEquals": {"aws:ResourceAccount": {"Ref": "AWS::AccountId"}}}
