"""Credentials of another account, partition or region see nothing of an environment, so they are refused first."""

from __future__ import annotations

import ast
import json

import boto3
import pytest

from tests.operations.deployed import PROJECT, Deployed
from tests.operations.mocked_aws import VARIABLES
from warmbase.environments.launch_record import record_directory
from warmbase.ground.errors import Refused
from warmbase.operations.aws.clients import Aws, environment_aws, refuse_others


def variables_of(account: str) -> dict[str, str]:
    """Return credentials of another account: the mocked AWS takes the account from the role."""
    sts = boto3.client("sts", region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local")
    role = f"arn:aws:iam::{account}:role/operator"
    credentials = sts.assume_role(RoleArn=role, RoleSessionName="operator")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": credentials["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": credentials["SecretAccessKey"],
        "AWS_SESSION_TOKEN": credentials["SessionToken"],
    }


def test_credentials_of_the_record_are_accepted(here: Deployed) -> None:
    aws = environment_aws(here.environment, VARIABLES | {"AWS_REGION": "eu-west-1"})
    assert (aws.account, aws.partition, aws.region) == ("123456789012", "aws", "us-east-1")


def test_credentials_of_another_account_than_the_record_are_refused(here: Deployed) -> None:
    with pytest.raises(
        Refused,
        match=r"of account 999999999999, partition aws(.|\n)*record .*names account 123456789012, region us-eas",
    ):
        environment_aws(here.environment, variables_of("999999999999"))


def test_a_damaged_record_still_names_its_account(here: Deployed) -> None:
    file = record_directory(here.environment, "blue") / "launch.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"cluster_id": "j-EDITED"}))
    with pytest.raises(Refused, match="names account 123456789012"):
        environment_aws(here.environment, variables_of("999999999999"))


def test_credentials_of_another_account_than_the_file_are_refused(here: Deployed) -> None:
    here.edit("name: dev", 'name: dev\naccount: "111111111111"')
    with pytest.raises(Refused, match=r"dev.yaml names account 111111111111(.|\n)*fix: use credentials"):
        environment_aws(here.environment, VARIABLES)


def test_credentials_of_another_partition_are_refused(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Aws, "partition", "aws-cn")
    with pytest.raises(Refused, match="region us-east-1 of partition aws"):
        environment_aws(here.environment, VARIABLES)


def test_a_record_of_another_region_is_refused(here: Deployed) -> None:
    file = record_directory(here.environment, "blue") / "launch.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"identity": document["identity"] | {"region": "eu-west-1"}}))
    with pytest.raises(Refused, match="account 123456789012, region eu-west-1"):
        refuse_others(here.aws, here.environment)


def test_no_command_makes_clients_by_itself() -> None:
    """Every client of an environment comes from `environment_aws`, which compares the identity first."""
    for file in sorted((PROJECT / "warmbase" / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Aws":
                # An inspection reads a bucket that belongs to no environment.
                assert file.name == "inspect.py", file
