"""Checks before a deployment: each names what is wrong and how to mend it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from environments.environment import Environment
from environments.reader import read_environment
from facts.instance_types import instance_types
from lint.deployable import deployable_launch
from local_aws.extension import install
from operations import deployed_stack
from operations.aws import Aws
from operations.deployed_stack import STUCK, wait_until_stable
from operations.existing_bucket import needs, set_up
from operations.preflight import PreflightCheck, account, preflight
from operations.preflight.account import BOOTSTRAP
from sizing.plan import CoreGroup, PrimaryGroup
from sizing.problem import OperationFailed
from tests.operations.mocked_aws import clients

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        made = clients()
        made.ssm.put_parameter(Name=BOOTSTRAP, Value="21", Type="String")
        yield made


def environment(directory: Path, *edits: tuple[str, str], more: str = "") -> Environment:
    text = (PROJECT / "environments/dev.yaml").read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    file = directory / "dev.yaml"
    file.write_text(text + more)
    return read_environment(str(file))


def checks(aws: Aws, of: Environment) -> dict[str, PreflightCheck]:
    launches = {"blue": deployable_launch(of, of.active)}
    return {each.name: each for each in preflight(aws, of, launches, {})}


def test_an_account_that_is_ready_is_said_to_be(aws: Aws, tmp_path: Path) -> None:
    found = checks(aws, environment(tmp_path))
    assert [each for each in found.values() if each.problem] == []
    assert found["credentials"].detail == "account 123456789012, us-east-1"
    assert found["cdk bootstrap"].detail == "version 21"
    assert "in us-east-1a" in found["instance types"].detail
    assert found["vCPU quota"].detail.endswith("the quota could not be read")


def test_an_account_without_bootstrap_is_told_the_command(aws: Aws, tmp_path: Path) -> None:
    aws.ssm.delete_parameter(Name=BOOTSTRAP)
    found = checks(aws, environment(tmp_path))["cdk bootstrap"]
    assert found.fix.endswith("npx cdk bootstrap -c environment=dev")


def test_credentials_of_another_account_are_named(aws: Aws, tmp_path: Path) -> None:
    found = checks(aws, environment(tmp_path, ("region:", 'account: "210987654321"\nregion:')))
    assert "is for account 210987654321" in found["credentials"].problem


@pytest.mark.parametrize(("limit", "problem"), [(1.0, "the quota is too small"), (100_000.0, "")])
def test_a_quota_that_can_be_read_is_held_against_the_plan(
    aws: Aws, tmp_path: Path, limit: float, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "_quota", lambda *_: limit)
    found = checks(aws, environment(tmp_path))["vCPU quota"]
    assert found.problem.startswith(problem)
    assert ("request-service-quota-increase" in found.fix) == bool(problem)


def test_a_quota_of_exactly_what_core_and_primary_nodes_need_is_enough(
    aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = environment(tmp_path)
    plan = deployable_launch(small, small.active).plan
    needed = sum(group.count * instance_types()[group.instance_type].vcpus for group in (plan.core, plan.primary))
    limits = {account.STANDARD_VCPUS: float(needed), account.GP3_TIB: 1000.0}
    monkeypatch.setattr(account, "_quota", lambda _, *quota: limits[quota])
    assert checks(aws, small)["vCPU quota"].problem == ""
    limits[account.STANDARD_VCPUS] -= 1
    assert checks(aws, small)["vCPU quota"].problem.startswith("the quota is too small")


def test_a_zone_without_the_type_is_named(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        """An EC2 client that offers no instance type."""

        def paginate(self, **_: object) -> list[Any]:
            return [{"InstanceTypeOfferings": []}]

    monkeypatch.setattr(aws.ec2, "get_paginator", lambda _: Nothing())
    assert "us-east-1a does not offer" in checks(aws, environment(tmp_path))["instance types"].problem


def existing(directory: Path, vpc: str, subnet: str, zone: str = "us-east-1a") -> Environment:
    network = f"{{availability_zone: {zone}, vpc: {vpc}, subnet: {subnet}}}"
    return environment(directory, ("{availability_zone: us-east-1a}", network))


def test_an_existing_subnet_and_its_vpc_are_looked_at(aws: Aws, tmp_path: Path) -> None:
    vpc = aws.ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    made: Any = aws.ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/28", AvailabilityZone="us-east-1b")
    subnet = made["Subnet"]["SubnetId"]
    launches = existing(tmp_path, vpc, subnet)
    found = [
        each
        for each in preflight(aws, launches, {"blue": deployable_launch(launches, launches.active)}, {})
        if each.problem
    ]
    said = "\n".join(f"{each.problem} | {each.fix}" for each in found)
    assert "the subnet is not in us-east-1a" in said
    assert "without which EMR cannot start nodes in it" in said
    assert f"aws ec2 create-tags --resources {subnet} --tags Key=for-use-with-amazon-emr" in said
    assert "enableDnsHostnames is off" in said
    assert "nodes cannot reach elasticmapreduce, kms, monitoring, s3" in said
    aws.ec2.create_tags(Resources=[subnet], Tags=[{"Key": "for-use-with-amazon-emr-managed-policies", "Value": "true"}])
    aws.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    for service in ("s3", "kms", "monitoring", "elasticmapreduce"):
        aws.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=f"com.amazonaws.us-east-1.{service}")
    ready = checks(aws, existing(tmp_path, vpc, subnet, "us-east-1b"))
    assert [each for each in ready.values() if each.problem] == []
    assert "free addresses" in ready["subnet"].detail


def test_a_root_that_is_nowhere_or_not_ours_is_named(aws: Aws, tmp_path: Path) -> None:
    more = "\nstorage: {root: s3://our-data/hbase/}\n"
    assert "it does not exist" in checks(aws, environment(tmp_path, more=more))["root bucket"].problem
    elsewhere = boto3.client("s3", region_name="eu-west-1")
    elsewhere.create_bucket(Bucket="our-data", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    assert "the bucket is in another region" in checks(aws, environment(tmp_path, more=more))["root bucket"].problem
    aws.s3.create_bucket(Bucket="warmbase-dev-root-123456789012-us-east-1")
    assert "it may hold data" in checks(aws, environment(tmp_path))["root bucket"].problem


@pytest.mark.parametrize("status", STUCK)
def test_each_state_in_which_no_update_can_begin_names_its_way_out(aws: Aws, tmp_path: Path, status: str) -> None:
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - the one state it cannot be put in

    name = "warmbase-dev-network"
    template = '{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}}'
    aws.cloudformation.create_stack(StackName=name, TemplateBody=template)
    [stack] = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    stack.status = status
    found = checks(aws, environment(tmp_path))[name]
    assert found.problem == STUCK[status][0]
    assert f"--stack-name {name}" in found.fix
    with pytest.raises(OperationFailed, match=f"stack {name}  is {status}(.|\n)*--stack-name {name}"):
        wait_until_stable(aws, name, lambda _: None)
    assert stack.status == status


def test_an_operation_that_is_under_way_is_waited_for(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - see above

    monkeypatch.setattr(deployed_stack, "FIRST_POLL_SECONDS", 0.0)
    aws.cloudformation.create_stack(StackName="s", TemplateBody='{"Resources": {"T": {"Type": "AWS::SNS::Topic"}}}')
    [stack] = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    stack.status = "UPDATE_IN_PROGRESS"
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) > 3:
            stack.status = "UPDATE_COMPLETE"

    assert wait_until_stable(aws, "s", say) == "UPDATE_COMPLETE"
    assert said[0] == "s is UPDATE_IN_PROGRESS: waiting until that ends"


def test_a_bucket_that_was_there_gets_what_it_lacks_and_keeps_what_it_has(aws: Aws, tmp_path: Path) -> None:
    aws.s3.create_bucket(Bucket="our-data")
    theirs: Any = {"ID": "theirs", "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Expiration": {"Days": 9}}
    aws.s3.put_bucket_lifecycle_configuration(Bucket="our-data", LifecycleConfiguration={"Rules": [theirs]})
    root = environment(tmp_path, more="\nstorage: {root: s3://our-data/teams/hbase/}\n").root
    assert len(list(needs(aws, root))) == 2
    assert set_up(aws, root, lambda _: None) == "2 set"
    assert list(needs(aws, root)) == []
    assert set_up(aws, root, lambda _: None) == "already configured"
    rules = aws.s3.get_bucket_lifecycle_configuration(Bucket="our-data")["Rules"]
    assert [rule["ID"] for rule in rules] == ["theirs", "warmbase-incomplete-uploads-teams-hbase"]
    metrics = aws.s3.get_bucket_metrics_configuration(Bucket="our-data", Id="hbase-root")["MetricsConfiguration"]
    assert metrics["Filter"] == {"Prefix": "teams/hbase/"}


def gp3_gib(groups: Sequence[PrimaryGroup | CoreGroup]) -> int:
    volumes = ((group, volume) for group in groups for volume in group.volumes if volume.type == "gp3")
    return sum(group.count * volume.count * volume.size_gib for group, volume in volumes)


@pytest.mark.parametrize("name", ["vCPU quota", "gp3 quota"])
def test_a_quota_must_hold_every_node_of_the_cluster(
    aws: Aws, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quota is large enough when it equals the sum over primary and core nodes, and too small by any less."""
    read = environment(tmp_path)
    plan = deployable_launch(read, read.active).plan
    groups = (plan.primary, plan.core)
    vcpus = sum(group.count * instance_types()[group.instance_type].vcpus for group in groups)
    needed = {"vCPU quota": float(vcpus), "gp3 quota": gp3_gib(groups) / 1024}
    assert all(group.count and gp3_gib([group]) for group in groups)
    for limit, is_small in ((needed[name], False), (needed[name] - 1e-6, True)):
        monkeypatch.setattr(account, "_quota", lambda *_, limit=limit: limit)
        assert bool(checks(aws, read)[name].problem) is is_small
