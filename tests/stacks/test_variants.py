"""Every way in which a cluster can be deployed: synthesised, linted by cfn-lint, and by cdk-nag."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest

from local_aws.template_lint import lint_errors
from tests.stacks.recorded import launch_record_of
from tests.stacks.template import allowing, filled, listed, of_type, only
from tests.tiers import quick_where
from warmbase import app
from warmbase.configurations.launch import launch_of, planned_spec
from warmbase.environments.reader import read_environment

PROJECT = Path(__file__).parents[2]
NETWORKS = {
    "new": "{availability_zone: us-east-1a}",
    "existing": "{availability_zone: us-east-1a, vpc: vpc-0123456789abcdef0, subnet: subnet-0123456789abcdef0}",
}
CORES = {"ebs": "{families: [r8g]}", "nvme": "{families: [r8gd]}"}
GREEN = "  green: {role: replica, primaries: 1, core: {families: [r8g]}}\n"
# Each two of them together at least once.
EVERY = [
    ("hdfs", "new", 1, "ebs"),
    ("hdfs", "new", 3, "ebs"),
    ("hdfs", "existing", 3, "nvme"),
    ("emr-wal", "new", 1, "nvme"),
    ("emr-wal", "existing", 1, "nvme"),
    ("emr-wal", "existing", 3, "ebs"),
]


def claim_statements(template: Any) -> set[str]:
    """Return the Sid of every statement about the claim or the cluster that has it."""
    return {
        statement["Sid"]
        for policy in of_type(template, "AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "warmbase-claim" in json.dumps(statement["Resource"]) or ":cluster/" in json.dumps(statement["Resource"])
    }


def written(directory: Path, wal: str, network: str, primaries: int, core: str) -> Path:
    text = (PROJECT / "environments/dev.yaml").read_text()
    head, _, _ = text.partition("clusters:")
    head = head.replace("{availability_zone: us-east-1a}", NETWORKS[network])
    clusters = f"clusters:\n  blue: {{primaries: {primaries}, core: {CORES[core]}}}\n{GREEN}"
    more = "security: {in_transit: {pem: s3://our-keys/hbase.zip}}\n" if primaries == 3 else ""
    file = directory / "dev.yaml"
    file.write_text(f"{head}storage: {{wal: {wal}}}\n{more}{clusters}")
    return file


@pytest.mark.thorough
@pytest.mark.parametrize(("wal", "network", "primaries", "core"), quick_where(lambda case: case == EVERY[1], EVERY))
def test_an_active_cluster_and_a_replica_pass_both_linters(
    wal: str, network: str, primaries: int, core: str, tmp_path: Path
) -> None:
    file = written(tmp_path, wal, network, primaries, core)
    built = app.environment_app(str(file), str(tmp_path / "cdk.out"))
    cdk.Validations.of(built).add_plugins(cdk_nag.AwsSolutionsChecks(built, verbose=False))
    built.synth()
    _, errors = lint_errors(tmp_path / "cdk.out")
    assert not errors
    found = {name: stack(tmp_path, name) for name in ("storage", "blue-cluster", "green-cluster")}
    actions = {name: named_actions(found[f"{name}-cluster"]) for name in ("blue", "green")}
    assert actions["blue"] == ["claim-root", *actions["green"]], "a replica writes nothing, and claims nothing"
    claims = {name: claim_statements(found[f"{name}-cluster"]) for name in ("blue", "green")}
    limits = {"ClaimUnconditional", "ClaimDeletion"}
    assert claims == {"blue": {"Claim", "ClaimHolder", *limits}, "green": {"ClaimRead", *limits}}
    assert len(of_type(found["storage"], "AWS::EMR::WALWorkspace")) == (wal == "emr-wal")
    for cluster_name in ("blue", "green"):
        logs = list(allowing(node_statements(found[f"{cluster_name}-cluster"]), "emrwal:AppendEdit"))
        assert bool(logs) == (wal == "emr-wal" and cluster_name == "blue")
        if logs:
            workspace = "arn:aws:emrwal:*:ACCOUNT:workspace/warmbasedev"
            assert [filled(each) for each in listed(logs[0]["Resource"])] == [workspace, f"{workspace}/*"]
        certificates = [
            node_statement
            for node_statement in node_statements(found[f"{cluster_name}-cluster"])
            if node_statement["Sid"] == "Certificates"
        ]
        assert [filled(certificate["Resource"]) for certificate in certificates] == [
            "arn:aws:s3:::our-keys/hbase.zip"
        ] * (primaries == 3)


def stack(directory: Path, name: str) -> Any:
    return json.loads((directory / "cdk.out" / f"warmbase-dev-{name}.template.json").read_text())


def named_actions(template: Any) -> list[str]:
    return [bootstrap_action["Name"] for bootstrap_action in only(template, "AWS::EMR::Cluster")["BootstrapActions"]]


def node_statements(template: Any) -> list[Any]:
    return list(only(template, "AWS::IAM::Policy", "RolesNode")["PolicyDocument"]["Statement"])


MODES = {"s3-plain": {"system"}, "hdfs": {"data", "system"}}


@pytest.mark.parametrize("mode", quick_where(lambda mode: mode == "hdfs", MODES))
def test_a_mode_without_a_cache_passes_both_linters(mode: str, tmp_path: Path) -> None:
    text = (PROJECT / "environments/dev.yaml").read_text()
    file = tmp_path / "dev.yaml"
    in_s3 = mode == "s3-plain"
    file.write_text(f"{text.rstrip()}\n{GREEN if in_s3 else ''}storage: {{mode: {mode}}}\n")
    built = app.environment_app(str(file), str(tmp_path / "cdk.out"))
    cdk.Validations.of(built).add_plugins(cdk_nag.AwsSolutionsChecks(built, verbose=False))
    built.synth()
    _, errors = lint_errors(tmp_path / "cdk.out")
    assert not errors
    cluster, storage = stack(tmp_path, "blue-cluster"), stack(tmp_path, "storage")
    claims = ["claim-root"] if in_s3 else []
    watches = ["watch-claim"] if in_s3 else []
    kept = ["start-agent", "prepare-java", "tune-kernel", "mount-volumes", "guard-regionserver", *watches]
    assert named_actions(cluster) == [*claims, *kept], "nothing of a cache is published"
    if in_s3:
        assert named_actions(stack(tmp_path, "green-cluster")) == kept, "a replica claims nothing"
    assert [name[:4] for name in of_type(storage, "AWS::S3::Bucket")] == ["Logs", "Root"] if in_s3 else ["Logs"]
    sids = {node_statement["Sid"] for node_statement in node_statements(cluster)}
    assert {"RootObjects", "RootBucket", "Claim", "ClaimHolder"} & sids == (
        {"RootObjects", "RootBucket", "Claim", "ClaimHolder"} if in_s3 else set()
    )
    arguments = {
        bootstrap_action["Name"]: bootstrap_action["ScriptBootstrapAction"]["Args"]
        for bootstrap_action in only(cluster, "AWS::EMR::Cluster")["BootstrapActions"]
    }
    sizes = {each.partition("-")[0] for each in (one.removeprefix("--") for one in arguments["mount-volumes"])}
    assert sizes == MODES[mode]
    assert not [each for each in arguments["guard-regionserver"] if "cache" in each or "index" in each]
    monitoring = stack(tmp_path, "blue-monitoring")
    assert len(of_type(monitoring, "AWS::CloudWatch::Alarm")) == (5 if in_s3 else 1)
    assert "l2Cache" not in json.dumps(monitoring)


def test_the_operating_system_is_the_one_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    text = (PROJECT / "environments/dev.yaml").read_text()
    for said, told in (("", None), ("os_release: 2023.9.20251117.1\n", "2023.9.20251117.1")):
        file.write_text(f"{text}\n{said}")
        app.environment_app(str(file), str(tmp_path / "cdk.out")).synth()
        assert only(stack(tmp_path, "blue-cluster"), "AWS::EMR::Cluster").get("OSReleaseLabel") == told
        environment = read_environment(str(file))
        assert planned_spec(launch_of(environment, environment.active)).os_release == told


def test_certificates_are_told_to_emr(tmp_path: Path) -> None:
    app.environment_app(str(written(tmp_path, "hdfs", "new", 3, "ebs")), str(tmp_path / "cdk.out")).synth()
    security = only(stack(tmp_path, "blue-cluster"), "AWS::EMR::SecurityConfiguration")["SecurityConfiguration"]
    encryption = security["EncryptionConfiguration"]
    assert encryption["EnableInTransitEncryption"] is True
    assert encryption["InTransitEncryptionConfiguration"] == {
        "TLSCertificateConfiguration": {"CertificateProviderType": "PEM", "S3Object": "s3://our-keys/hbase.zip"}
    }


def test_nodes_of_a_launched_cluster_may_fetch_the_certificates_it_was_launched_with(tmp_path: Path) -> None:
    """The security configuration is kept whatever the file says: who joins later needs them, and no others."""
    file = tmp_path / "dev.yaml"
    text = (PROJECT / "environments/dev.yaml").read_text()
    file.write_text(f"{text}\nsecurity: {{in_transit: {{pem: s3://our-keys/hbase.zip}}}}\n")
    launch_record_of(file, app.synthesise(str(file), str(tmp_path / "launched")).assembly)
    for said in ("", "security: {in_transit: {pem: s3://others/hbase.zip}}\n"):
        file.write_text(f"{text}\n{said}")
        app.synthesise(str(file), str(tmp_path / "cdk.out"))
        [statement] = [
            node_statement
            for node_statement in node_statements(stack(tmp_path, "blue-cluster"))
            if node_statement["Sid"] == "Certificates"
        ]
        assert filled(statement["Resource"]) == "arn:aws:s3:::our-keys/hbase.zip"
