"""Requests to S3 name the owner of their bucket, so that nobody gets one by taking the bucket's name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.s3.models import s3_backends
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.mocked_aws import VARIABLES
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import EXPECTED, Aws, any_call, environment_aws
from warmbase.operations.aws.root_bucket import S3Root
from warmbase.operations.cluster.claims import claim_of
from warmbase.operations.deploy.preflight import ROOT_CHECKS, PreflightCheck, PreflightContext

STRANGER = "666666666666"
ROOT = "warmbase-dev-root-123456789012-us-east-1"
LOGS = "warmbase-dev-logs-123456789012-us-east-1"


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        yield Aws(VARIABLES, any_call)


def take(bucket: str) -> None:
    """Create a bucket in a stranger's account."""
    s3_backends[STRANGER]["aws"].create_bucket(bucket, "us-east-1")


def root_checks(aws: Aws, environment: Environment) -> list[PreflightCheck]:
    context = PreflightContext(aws=aws, environment=environment, records={}, launches={})
    return [check for root_check in ROOT_CHECKS for check in root_check(context)]


def with_root(environment: Environment, owner: str | None = None) -> Environment:
    return replace(environment, root=replace(environment.root, bucket="our-data", existing=True, owner=owner))


def test_every_operation_that_takes_an_owner_gets_one(aws: Aws) -> None:
    model = aws.s3.meta.service_model
    without = set()
    for name in model.operation_names:
        operation = model.operation_model(name)
        members = operation.input_shape.members if operation.input_shape else {}
        params = {"Bucket": "any"} if "Bucket" in members else {}
        aws.bucket_owners.add(params, operation)
        if params and EXPECTED not in params:
            without.add(name)
    # Of those that warmbase calls, each can name the owner.
    called = {"GetObject", "PutObject", "DeleteObject", "HeadBucket", "ListObjectsV2", "GetBucketEncryption"}
    assert not without & called


def test_a_bucket_whose_name_a_stranger_took_is_refused(aws: Aws) -> None:
    take(ROOT)
    with pytest.raises(ClientError, match="AccessDenied"):
        aws.s3.put_object(Bucket=ROOT, Key="hbase.warmbase-claim", Body=b"{}")
    with pytest.raises(ClientError, match="AccessDenied"):
        list(aws.s3.get_paginator("list_objects_v2").paginate(Bucket=ROOT))


@pytest.mark.usefixtures("aws")
def test_a_root_of_another_account_is_used_if_the_file_names_that_account() -> None:
    take("our-data")
    environment = with_root(read_environment("dev"), owner=STRANGER)
    aws = environment_aws(environment, VARIABLES, any_call)
    assert claim_of(aws, environment.root) is None
    [check] = [check for check in root_checks(aws, environment) if check.name == "root bucket"]
    assert not check.problem


def test_a_bucket_that_is_inspected_may_be_anybodys(aws: Aws) -> None:
    take("their-data")
    assert list(S3Root(aws, "their-data", "hbase").files()) == []


def test_nobody_is_advised_to_use_a_strangers_bucket(aws: Aws) -> None:
    take(ROOT)
    take(LOGS)
    problems = {check.name: check for check in root_checks(aws, read_environment("dev")) if check.problem}
    assert problems.keys() == {"root bucket", "log bucket"}
    for check in problems.values():
        assert "does not belong to account 123456789012" in check.problem
        assert "do not use it" in check.fix
        assert "storage:" not in check.fix


def test_an_existing_root_must_belong_to_the_account_or_to_the_one_that_the_file_names(aws: Aws) -> None:
    take("our-data")
    [check] = [check for check in root_checks(aws, with_root(read_environment("dev"))) if check.name == "root bucket"]
    assert check.problem == "it does not belong to account 123456789012, or you may not list it"
    assert "`storage: {owner: ...}`" in check.fix
