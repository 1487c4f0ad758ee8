"""The endpoints of a new VPC let through what nodes need and nothing else, evaluated as IAM does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest
from aws_cdk.assertions import Template
from msgspec.structs import replace

from tests.stacks.template import filled, listed, of_type
from warmbase.configurations.launch import Launch
from warmbase.environments.environment import Environment, Network, Wal
from warmbase.stacks import network as endpoint_policies
from warmbase.stacks.app import new_app
from warmbase.stacks.network import INTERFACE_ENDPOINTS, WAL_ENDPOINT, NetworkStack

OURS, PARTNER, STRANGER, AWS = "ACCOUNT", "210987654321", "666666666666", "aws-itself"
CERTIFICATES = "s3://central-keys/hbase.zip"
# Action, object or bucket, owner of the bucket, whether a node can do it.
REQUESTS = [
    ("s3:PutObject", "warmbase-prod-root-ACCOUNT-us-east-1/hbase/data/a", OURS, True),
    ("s3:DeleteObject", "warmbase-prod-root-ACCOUNT-us-east-1/hbase/data/a", OURS, True),
    ("s3:ListBucket", "warmbase-prod-root-ACCOUNT-us-east-1", OURS, True),
    ("s3:PutObject", "warmbase-prod-logs-ACCOUNT-us-east-1/emr/j-1/node", OURS, True),
    ("s3:GetObject", "cdk-hnb659fds-assets-ACCOUNT-us-east-1/0123.sh", OURS, True),
    ("s3:PutObject", "partners-root/hbase/data/a", PARTNER, True),
    ("s3:GetObject", "central-keys/hbase.zip", STRANGER, True),
    ("s3:GetObject", "central-keys/other.zip", STRANGER, False),
    ("s3:GetObject", "al2023-repos-us-east-1-de612dc2/core/mirrors/latest/aarch64/mirror.list", AWS, True),
    ("s3:GetObject", "repo.us-east-1.emr.amazonaws.com/apps-repository/emr-7.14.0/a.rpm", AWS, True),
    ("s3:GetObject", "us-east-1.elasticmapreduce/libs/script-runner/script-runner.jar", AWS, True),
    ("s3:GetObject", "amazon-ssm-us-east-1/latest/linux_arm64/amazon-ssm-agent.rpm", AWS, True),
    ("s3:PutObject", "aws157-logs-prod/j-1/log", AWS, True),
    ("s3:PutObject", "repo.us-east-1.emr.amazonaws.com/a", AWS, False),
    ("s3:GetObject", "aws157-logs-prod/j-2/log", AWS, False),
    ("s3:PutObject", "anybodys-bucket/data", STRANGER, False),
    ("s3:GetObject", "anybodys-bucket/data", STRANGER, False),
    # The bucket was deleted, and somebody else took its name.
    ("s3:PutObject", "warmbase-prod-root-ACCOUNT-us-east-1/hbase/data/a", STRANGER, False),
]


@pytest.fixture(scope="module")
def environment(launches: Callable[[str], Launch]) -> Environment:
    """Return an environment whose network is new and which asks for all that an endpoint may have to let through."""
    base = launches("prod").environment
    root = replace(base.root, bucket="partners-root", existing=True, owner=PARTNER)
    return replace(base, root=root, certificates=CERTIFICATES, wal=Wal.EMR_WAL)


@pytest.fixture(scope="module")
def policies(environment: Environment) -> dict[str, Any]:
    """Return the policies of that environment, synthesised once."""
    return endpoint_policies_of(environment)


def endpoint_policies_of(environment: Environment) -> dict[str, Any]:
    """Return the policy of each endpoint by its name in the VPC; None where it has AWS's default."""
    template = Template.from_stack(NetworkStack(new_app(), environment)).to_json()
    names = {"S3", *INTERFACE_ENDPOINTS, *WAL_ENDPOINT}
    return {
        max((name for name in names if logical_id.startswith(f"Vpc{name}")), key=len): endpoint["Properties"].get(
            "PolicyDocument"
        )
        for logical_id, endpoint in of_type(template, "AWS::EC2::VPCEndpoint").items()
    }


def is_allowed(policy: Any, action: str, resource: str, **keys: str) -> bool:
    """Return whether one of the policy's statements allows a request; there is none that denies."""
    assert {statement["Effect"] for statement in policy["Statement"]} == {"Allow"}
    return any(
        any(fnmatchcase(action, pattern) for pattern in listed(statement["Action"]))
        and any(fnmatchcase(resource, _text(pattern)) for pattern in listed(statement["Resource"]))
        and _has_condition(statement.get("Condition", {}), keys)
        for statement in policy["Statement"]
    )


def _has_condition(conditions: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    assert conditions.keys() <= {"StringEquals"}
    return all(
        keys[name] in [_text(value) for value in listed(values)]
        for name, values in conditions.get("StringEquals", {}).items()
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return OURS if value == {"Ref": "AWS::AccountId"} else filled(value)


@pytest.mark.parametrize(("action", "resource", "owner", "possible"), REQUESTS)
def test_s3_answers_for_our_buckets_and_for_what_emr_reads(
    action: str, resource: str, owner: str, *, possible: bool, policies: dict[str, Any]
) -> None:
    allowed = is_allowed(policies["S3"], action, f"arn:aws:s3:::{resource}", **{"aws:ResourceAccount": owner})
    assert allowed is possible


def test_other_services_answer_to_our_credentials_alone(policies: dict[str, Any]) -> None:
    """Else somebody on a node could put metrics, and so data, into an account of their own."""
    assert policies.keys() == {"S3", *INTERFACE_ENDPOINTS, *WAL_ENDPOINT}
    for name in {**INTERFACE_ENDPOINTS, **WAL_ENDPOINT}:
        for account in (OURS, STRANGER):
            allowed = is_allowed(policies[name], "cloudwatch:PutMetricData", "*", **{"aws:PrincipalAccount": account})
            assert allowed is (account == OURS), name


def test_the_bucket_of_system_logs_is_that_of_the_region(environment: Environment) -> None:
    policy = endpoint_policies_of(replace(environment, region="eu-west-1"))["S3"]
    [logs] = [statement for statement in policy["Statement"] if statement["Sid"] == "SystemLogs"]
    assert filled(logs["Resource"]) == "arn:aws:s3:::aws157-logs-prod-eu-west-1/*"


def test_the_file_turns_the_policies_off(environment: Environment) -> None:
    network = replace(environment.network, endpoint_policies=False)
    assert set(endpoint_policies_of(replace(environment, network=network)).values()) == {None}


def test_an_endpoint_in_an_existing_vpc_has_no_policy(environment: Environment) -> None:
    """Other programs may use the same route table."""
    network = Network(
        availability_zone="us-east-1b",
        vpc="vpc-0123456789abcdef0",
        subnet="subnet-0123456789abcdef0",
        route_table="rtb-0123456789abcdef0",
    )
    assert endpoint_policies_of(replace(environment, network=network)) == {"S3": None}


def test_a_statement_without_a_reason_is_no_statement() -> None:
    with pytest.raises(KeyError, match="Anything"):
        endpoint_policies._allowed("Anything", ["s3:*"], ["*"])
