"""`preflight` checks an account before a deployment; each check with a problem says how to fix it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from local_aws.extension import install
from tests.operations.mocked_aws import clients
from warmbase.configurations.launch import launch_of
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.facts.ec2 import instance_types
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster import stack as deployed_stack
from warmbase.operations.cluster.failed_launch import STUCK, wait_until_stable
from warmbase.operations.deploy.preflight import BOOTSTRAP, STANDARD, PreflightCheck, PreflightContext, preflight
from warmbase.sizing.plan import CoreGroup, PrimaryGroup

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        services = clients()
        services.ssm.put_parameter(Name=BOOTSTRAP, Value="21", Type="String")
        yield services


def environment(directory: Path, *edits: tuple[str, str], more: str = "") -> Environment:
    text = (PROJECT / "environments/dev.yaml").read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    file = directory / "dev.yaml"
    file.write_text(text + more)
    return read_environment(str(file))


def checks(aws: Aws, of: Environment) -> dict[str, PreflightCheck]:
    launches = {"blue": launch_of(of, of.active)}
    return {check.name: check for check in preflight(aws, of, launches, {})}


@pytest.mark.parametrize(
    ("families", "is_counted"),
    [
        (["c8g", "d3", "h1", "i8g", "m8g", "r8gd", "t4g", "z1d", "a1"], True),
        (["x2gd", "p5", "g6", "inf2", "trn1", "u-6tb1", "f2", "vt1"], False),
    ],
)
def test_the_quota_counts_only_standard_families(families: list[str], is_counted: object) -> None:
    """EC2 has other quotas for accelerated instances, and for those with the most memory."""
    assert {bool(STANDARD.match(f"{family}.xlarge")) for family in families} == {is_counted}


def test_an_account_that_is_ready_has_no_problem(aws: Aws, tmp_path: Path) -> None:
    results = checks(aws, environment(tmp_path))
    assert [check for check in results.values() if check.problem] == []
    assert results["credentials"].detail == "account 123456789012, us-east-1"
    assert results["cdk bootstrap"].detail == "version 21"
    assert "in us-east-1a" in results["instance types"].detail
    assert results["vCPU quota"].detail.endswith("the quota could not be read")


def test_the_fix_of_a_missing_bootstrap_is_a_command(aws: Aws, tmp_path: Path) -> None:
    aws.ssm.delete_parameter(Name=BOOTSTRAP)
    check = checks(aws, environment(tmp_path))["cdk bootstrap"]
    assert check.fix.endswith("npx cdk bootstrap aws://123456789012/us-east-1")


@pytest.mark.parametrize(
    ("wal", "names"), [("", ["EMRCleanup"]), ("storage: {wal: emr-wal}\n", ["EMRCleanup", "EMRWAL"])]
)
def test_a_role_that_the_launch_has_to_create_is_named(
    aws: Aws, tmp_path: Path, wal: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = checks(aws, environment(tmp_path, more=wal))
    assert [name for name in before if name.startswith("role ")] == [f"role AWSServiceRoleFor{name}" for name in names]
    cleanup = before["role AWSServiceRoleForEMRCleanup"]
    assert "aws iam create-service-linked-role --aws-service-name elasticmapreduce.amazonaws.com" in cleanup.detail
    assert not cleanup.problem
    monkeypatch.setattr(aws.iam, "get_role", lambda **_: {})
    assert checks(aws, environment(tmp_path))["role AWSServiceRoleForEMRCleanup"].detail == "exists"


@pytest.mark.parametrize(("code", "says"), [("AccessDenied", "could not be read"), ("ServiceFailure", None)])
def test_a_role_that_cannot_be_read_fails_no_preflight_and_another_error_does(
    aws: Aws, tmp_path: Path, code: str, says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, "GetRole")

    monkeypatch.setattr(aws.iam, "get_role", refused)
    if says:
        assert says in checks(aws, environment(tmp_path))["role AWSServiceRoleForEMRCleanup"].detail
    else:
        with pytest.raises(OperationFailed):
            checks(aws, environment(tmp_path))


def test_only_a_launch_needs_the_roles_of_emr_and_the_key_of_volumes(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in ("get_ebs_encryption_by_default", "get_ebs_default_kms_key_id"):
        answer = {"EbsEncryptionByDefault": True, "KmsKeyId": OWN_KEY}
        monkeypatch.setattr(aws.ec2, call, lambda answer=answer: answer)
    disks = "security: {local_disks: false}\n"
    of_launch = {"role AWSServiceRoleForEMRCleanup", "key of volumes"}
    assert of_launch <= checks(aws, environment(tmp_path, more=disks)).keys()
    monkeypatch.setattr(PreflightContext, "new", {})
    assert not of_launch & checks(aws, environment(tmp_path, more=disks)).keys()


OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


@pytest.mark.parametrize(
    ("account_key", "local_disks", "says"),
    [
        (None, "false", None),
        ("arn:aws:kms:us-east-1:123456789012:alias/aws/ebs", "false", "with AWS's own key"),
        (OWN_KEY, "false", "Client.InternalError"),
        (OWN_KEY, "true", None),
    ],
)
def test_a_default_key_that_emr_may_not_use_is_named(
    tmp_path: Path, account_key: str | None, local_disks: str, says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    with mock_aws():
        aws = clients()
        answer = {"EbsEncryptionByDefault": account_key is not None}
        monkeypatch.setattr(aws.ec2, "get_ebs_encryption_by_default", lambda: answer)
        monkeypatch.setattr(aws.ec2, "get_ebs_default_kms_key_id", lambda: {"KmsKeyId": account_key})
        found = checks(aws, environment(tmp_path, more=f"security: {{local_disks: {local_disks}}}\n"))
    if says is None:
        assert "key of volumes" not in found
    else:
        assert says in found["key of volumes"].detail
        assert not found["key of volumes"].problem


def test_a_zone_without_the_type_is_named(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers_nothing = SimpleNamespace(paginate=lambda **_: [{"InstanceTypeOfferings": []}])
    monkeypatch.setattr(aws.ec2, "get_paginator", lambda _: offers_nothing)
    assert "us-east-1a does not offer" in checks(aws, environment(tmp_path))["instance types"].problem


def existing(directory: Path, vpc: str, subnet: str, zone: str = "us-east-1a") -> Environment:
    network = f"{{availability_zone: {zone}, vpc: {vpc}, subnet: {subnet}}}"
    return environment(directory, ("{availability_zone: us-east-1a}", network))


def test_a_network_that_does_not_exist_is_named_with_its_line(aws: Aws, tmp_path: Path) -> None:
    vpc: str = aws.ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    absent = "route_table: rtb-0a1b0a1b}\naccess: {security_groups: [sg-0a1b0a1b]}"
    named = environment(
        tmp_path,
        (
            "{availability_zone: us-east-1a}",
            f"{{availability_zone: us-east-1a, vpc: {vpc}, subnet: subnet-0a1b0a1b, {absent}",
        ),
    )
    results = checks(aws, named)
    assert results["subnet"].problem == "there is no subnet subnet-0a1b0a1b in us-east-1 of account 123456789012"
    fixes = {name: results[name].fix for name in ("subnet", "route table", "security group")}
    assert fixes == {
        "subnet": "correct network.subnet (line 6 of dev.yaml)",
        "route table": "correct network.route_table (line 6 of dev.yaml)",
        "security group": "correct access.security_groups[0] (line 7 of dev.yaml)",
    }
    assert "VPC" not in results


def test_an_existing_subnet_and_its_vpc_are_checked(aws: Aws, tmp_path: Path) -> None:
    vpc = aws.ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    response: Any = aws.ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/28", AvailabilityZone="us-east-1b")
    subnet = response["Subnet"]["SubnetId"]
    found = existing(tmp_path, vpc, subnet)
    failed = preflight(aws, found, {"blue": launch_of(found, found.active)}, {})
    text = "\n".join(f"{check.problem} | {check.fix}" for check in failed)
    assert "the subnet is not in us-east-1a" in text
    assert "without which EMR cannot start nodes in it" in text
    assert f"aws ec2 create-tags --resources {subnet} --tags Key=for-use-with-amazon-emr" in text
    assert "enableDnsHostnames is off" in text
    assert "nodes cannot reach elasticmapreduce, kms, monitoring, s3" in text
    aws.ec2.create_tags(Resources=[subnet], Tags=[{"Key": "for-use-with-amazon-emr-managed-policies", "Value": "true"}])
    aws.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    for service in ("s3", "kms", "monitoring", "elasticmapreduce"):
        aws.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=f"com.amazonaws.us-east-1.{service}")
    ready = checks(aws, existing(tmp_path, vpc, subnet, "us-east-1b"))
    assert [check for check in ready.values() if check.problem] == []
    assert "free addresses" in ready["subnet"].detail


def test_a_root_bucket_that_does_not_exist_or_is_not_ours_is_a_problem(aws: Aws, tmp_path: Path) -> None:
    more = "\nstorage: {root: s3://our-data/hbase/}\n"
    assert "it does not exist" in checks(aws, environment(tmp_path, more=more))["root bucket"].problem
    elsewhere = boto3.client("s3", region_name="eu-west-1")
    elsewhere.create_bucket(Bucket="our-data", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    assert "the bucket is in another region" in checks(aws, environment(tmp_path, more=more))["root bucket"].problem
    aws.s3.create_bucket(Bucket="warmbase-dev-root-123456789012-us-east-1")
    assert "it may hold data" in checks(aws, environment(tmp_path))["root bucket"].problem


@pytest.mark.parametrize("status", STUCK)
def test_each_stuck_state_of_a_stack_names_the_command_to_leave_it(aws: Aws, tmp_path: Path, status: str) -> None:
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - the one state it cannot be put in

    name = "warmbase-dev-network"
    template = '{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}}'
    aws.cloudformation.create_stack(StackName=name, TemplateBody=template)
    [stack] = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    stack.status = status
    check = checks(aws, environment(tmp_path))[name]
    assert check.problem == STUCK[status][0]
    assert f"--stack-name {name}" in check.fix
    with pytest.raises(OperationFailed, match=f"stack {name}  is {status}(.|\n)*--stack-name {name}"):
        wait_until_stable(aws, name, lambda _: None)
    assert stack.status == status


def test_a_running_stack_operation_is_awaited(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - see above

    monkeypatch.setattr(deployed_stack, "FIRST_POLL_SECONDS", 0.0)
    aws.cloudformation.create_stack(StackName="s", TemplateBody='{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}}')
    [stack] = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    stack.status = "UPDATE_IN_PROGRESS"
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if len(lines) > 3:
            stack.status = "UPDATE_COMPLETE"

    assert wait_until_stable(aws, "s", say) == "UPDATE_COMPLETE"
    assert lines[0] == "s is UPDATE_IN_PROGRESS: waiting until that ends"


def gp3_gib(groups: Sequence[PrimaryGroup | CoreGroup]) -> int:
    volumes = ((group, volume) for group in groups for volume in group.volumes if volume.type == "gp3")
    return sum(group.count * volume.count * volume.size_gib for group, volume in volumes)


@pytest.mark.parametrize("name", ["vCPU quota", "gp3 quota"])
def test_a_quota_must_hold_every_node_of_the_cluster(
    aws: Aws, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quota is large enough when it equals the sum over primary and core nodes, and too small by any less."""
    read = environment(tmp_path)
    plan = launch_of(read, read.active).plan
    groups = (plan.primary, plan.core)
    vcpus = sum(group.count * instance_types()[group.instance_type].vcpus for group in groups)
    needed = {"vCPU quota": float(vcpus), "gp3 quota": gp3_gib(groups) / 1024}
    assert all(group.count and gp3_gib([group]) for group in groups)
    for limit, is_small in ((needed[name], False), (needed[name] - 1e-6, True)):
        answer = {"Quota": {"Value": limit}}
        monkeypatch.setattr(aws.quotas, "get_service_quota", lambda answer=answer, **_: answer)
        check = checks(aws, read)[name]
        assert ("the quota is too small" in check.problem) is is_small
        assert ("request-service-quota-increase" in check.fix) is is_small
