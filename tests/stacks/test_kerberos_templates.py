"""Kerberos in the templates: EMR's security configuration and attributes, the KDC's port, and what a record keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest

from local_aws.template_lint import lint_errors
from tests.environments.test_kerberos_section import CLUSTER, DEV, EXTERNAL, VPC, file_of
from tests.stacks.recorded import launch_record_of
from tests.stacks.template import of_type, only
from warmbase import app
from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput

REFERENCE = "{{resolve:secretsmanager:hbase/kdc:SecretString:password}}"
OWN_KDC = {"Provider": "ClusterDedicatedKdc", "ClusterDedicatedKdcConfiguration": {"TicketLifetimeInHours": 24}}
OTHER_KDC = {
    "Provider": "ExternalKdc",
    "ExternalKdcConfiguration": {
        "TicketLifetimeInHours": 24,
        "KdcServerType": "Single",
        "AdminServer": "kdc.example.com:749",
        "KdcServer": "kdc.example.com:88",
    },
}
PORTS_OF_HBASE = {2181, 16000, 16020}


def template(directory: Path, name: str) -> Any:
    return json.loads((directory / f"warmbase-dev-{name}.template.json").read_text(encoding="utf-8"))


def client_ports(network: Any) -> set[tuple[str, int]]:
    """Return each protocol and port that a rule opens to clients."""
    rules = [rule["Properties"] for rule in of_type(network, "AWS::EC2::SecurityGroupIngress").values()]
    groups = of_type(network, "AWS::EC2::SecurityGroup").values()
    rules += [rule for group in groups for rule in group["Properties"].get("SecurityGroupIngress", [])]
    return {(rule["IpProtocol"], rule["FromPort"]) for rule in rules if "clients to" in rule["Description"]}


@pytest.mark.parametrize(
    ("kerberos", "primaries", "vpc", "expected"), [(CLUSTER, 1, "", OWN_KDC), (EXTERNAL, 3, VPC, OTHER_KDC)]
)
@pytest.mark.thorough
def test_a_cluster_with_kerberos_passes_both_linters(
    kerberos: str, primaries: int, vpc: str, expected: object, tmp_path: Path
) -> None:
    file = file_of(tmp_path, kerberos, primaries=primaries, vpc=vpc)
    built = app.environment_app(file, str(tmp_path / "cdk.out"))
    cdk.Validations.of(built).add_plugins(cdk_nag.AwsSolutionsChecks(built, verbose=False))
    assembly = Path(built.synth().directory)
    assert not lint_errors(assembly)[1]
    stack = template(assembly, "blue-cluster")
    security = only(stack, "AWS::EMR::SecurityConfiguration")["SecurityConfiguration"]
    assert security["AuthenticationConfiguration"] == {"KerberosConfiguration": expected}
    attributes = only(stack, "AWS::EMR::Cluster")["KerberosAttributes"]
    assert attributes == {"Realm": "EC2.INTERNAL" if primaries == 1 else "EXAMPLE.COM", "KdcAdminPassword": REFERENCE}
    own = {("tcp", 88), ("udp", 88)} if primaries == 1 else set()
    assert client_ports(template(assembly, "network")) == {("tcp", port) for port in PORTS_OF_HBASE} | own


def properties(file: str, group: str) -> dict[str, str]:
    settings = getattr(deployable_cluster(read_environment(file), "blue").launch.settings, group)
    [site] = [classification.properties for classification in settings if classification.name == "hbase-site"]
    return {key: value for key, value in site.items() if "security" in key or "coprocessor" in key or "rpc.p" in key}


SWITCH = "hbase.coprocessor.user.enabled"
CONTROLLER = "org.apache.hadoop.hbase.security.access.AccessController"
BOTH = {
    "hbase.security.authentication": "kerberos",
    "hbase.security.authorization": "true",
    "hbase.rpc.protection": "privacy",
}


def test_hbase_authorises_whom_it_authenticates(tmp_path: Path) -> None:
    file = file_of(tmp_path, CLUSTER)
    assert properties(file, "primary") == {**BOTH, "hbase.coprocessor.master.classes": CONTROLLER}
    assert properties(file, "core") == {
        **BOTH,
        SWITCH: "false",
        "hbase.coprocessor.region.classes": f"org.apache.hadoop.hbase.security.token.TokenProvider,{CONTROLLER}",
        "hbase.coprocessor.regionserver.classes": CONTROLLER,
        "hbase.security.exec.permission.checks": "true",
    }


def test_a_new_cluster_without_kerberos_has_only_the_switch(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(DEV, encoding="utf-8")
    assert (properties(str(file), "primary"), properties(str(file), "core")) == ({}, {SWITCH: "false"})
    file.write_text(f"{DEV}\noverrides: {{hbase-site: {{{SWITCH}: 'true'}}}}\n", encoding="utf-8")
    assert properties(str(file), "core") == {SWITCH: "true"}


def test_a_launched_cluster_keeps_the_realm_of_its_launch(tmp_path: Path) -> None:
    file = file_of(tmp_path, CLUSTER)
    launch_record_of(Path(file), app.synthesise(file, str(tmp_path / "launched")).assembly)
    launched, rendered = template(tmp_path / "launched", "blue-cluster"), properties(file, "core")
    (tmp_path / "dev.yaml").write_text(DEV, encoding="utf-8")
    app.synthesise(file, str(tmp_path / "later"))
    later = template(tmp_path / "later", "blue-cluster")
    for kind in ("AWS::EMR::Cluster", "AWS::EMR::SecurityConfiguration"):
        assert only(later, kind) == only(launched, kind)
    assert properties(file, "core") == rendered
    with pytest.raises(InvalidInput, match="EMR sets up Kerberos only at launch"):
        app.synthesise(file_of(tmp_path, CLUSTER.replace("EC2.INTERNAL", "OTHER.REALM")), str(tmp_path / "other"))


def test_a_cluster_that_was_launched_without_kerberos_is_refused_it(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(DEV, encoding="utf-8")
    launch_record_of(file, app.synthesise(str(file), str(tmp_path / "launched")).assembly)
    kerberos = file_of(tmp_path, CLUSTER)
    with pytest.raises(InvalidInput) as caught:
        app.synthesise(kerberos, str(tmp_path / "later"))
    assert "blue: without Kerberos" in str(caught.value)
    assert "dev.yaml:" in str(caught.value)
    green = "  green: {role: replica, primaries: 1, core: {families: [r8g]}}\n"
    file.write_text(file.read_text(encoding="utf-8").replace("clusters:\n", f"clusters:\n{green}"), encoding="utf-8")
    app.synthesise(kerberos, str(tmp_path / "green"))
    attributes = {
        name: only(template(tmp_path / "green", f"{name}-cluster"), "AWS::EMR::Cluster").get("KerberosAttributes")
        for name in ("blue", "green")
    }
    assert attributes == {"blue": None, "green": {"Realm": "EC2.INTERNAL", "KdcAdminPassword": REFERENCE}}
