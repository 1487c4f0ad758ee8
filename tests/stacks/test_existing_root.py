"""A root that was there before: nothing of its bucket is made or set up, and the cluster may use it all the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stacks.template import allowing, filled, listed, of_type, only
from warmbase.app import environment_app
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.linter.lint import check_deployable

PROJECT = Path(__file__).parents[2]
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
STORAGE = f"\nstorage: {{root: s3://our-data/teams/a/, key: {KEY}}}\n"

Assembly = Mapping[str, Mapping[str, Any]]


def written(directory: Path, name: str, storage: str) -> Path:
    text = (PROJECT / "environments/dev.yaml").read_text()
    [old] = [line for line in text.splitlines() if line.startswith("storage:")] or [""]
    file = directory / f"{name}.yaml"
    file.write_text(text.replace(old, "").replace("name: dev", f"name: {name}") + storage)
    return file


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    directory = tmp_path_factory.mktemp("existing")
    environment_app(str(written(directory, "old", STORAGE)), str(directory / "cdk.out")).synth()
    files = (directory / "cdk.out").glob("*.template.json")
    return {file.name.removesuffix(".template.json"): json.loads(file.read_text()) for file in files}


def statements(assembly: Assembly) -> list[Any]:
    policy = only(assembly["warmbase-old-blue-cluster"], "AWS::IAM::Policy", "RolesNode")
    return list(policy["PolicyDocument"]["Statement"])


def test_its_bucket_is_not_made(assembly: Assembly) -> None:
    assert [name[:4] for name in of_type(assembly["warmbase-old-storage"], "AWS::S3::Bucket")] == ["Logs"]


def test_dashboards_and_alarms_read_the_request_metrics_of_the_prefix(assembly: Assembly) -> None:
    monitoring = assembly["warmbase-old-blue-monitoring"]
    dimensions = [
        dimension
        for alarm in of_type(monitoring, "AWS::CloudWatch::Alarm").values()
        for dimension in alarm["Properties"].get("Dimensions", [])
    ]
    assert {"Name": "FilterId", "Value": "hbase-root.teams.a"} in dimensions
    boards = [json.dumps(board) for board in of_type(monitoring, "AWS::CloudWatch::Dashboard").values()]
    assert sum(board.count("hbase-root.teams.a") for board in boards) == 2
    assert json.dumps(monitoring).count("hbase-root") == 3


def test_nodes_may_use_the_prefix_and_its_marks_and_no_more(assembly: Assembly) -> None:
    [objects] = allowing(statements(assembly), "s3:DeleteObject")
    assert {filled(each) for each in objects["Resource"]} == {
        "arn:aws:s3:::our-data/teams/a",
        "arn:aws:s3:::our-data/teams_$folder$",
        "arn:aws:s3:::our-data/teams/a_$folder$",
        "arn:aws:s3:::our-data/teams/a/*",
    }


def test_the_claim_lies_beside_the_prefix(assembly: Assembly) -> None:
    claims = [
        statement
        for statement in statements(assembly)
        if listed(statement["Action"]) == ["s3:GetObject", "s3:PutObject"]
    ]
    assert [filled(each["Resource"]) for each in claims] == ["arn:aws:s3:::our-data/teams/a.warmbase-claim"]
    cluster = only(assembly["warmbase-old-blue-cluster"], "AWS::EMR::Cluster")
    claim = cluster["BootstrapActions"][0]["ScriptBootstrapAction"]["Args"]
    assert {"--bucket=our-data", "--key=teams/a.warmbase-claim"} <= {each for each in claim if isinstance(each, str)}


def test_its_own_key_encrypts_the_root_and_ours_the_disks(assembly: Assembly) -> None:
    of_disks, of_root = allowing(statements(assembly), "kms:GenerateDataKey")
    assert of_root["Resource"] == KEY
    assert of_disks["Resource"].keys() == {"Fn::ImportValue"}
    # Others may use the same key: nodes use it for what is in S3, and for nothing else.
    assert of_root["Condition"] == {"StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"}}
    assert "Condition" not in of_disks
    security = only(assembly["warmbase-old-blue-cluster"], "AWS::EMR::SecurityConfiguration")
    at_rest = security["SecurityConfiguration"]["EncryptionConfiguration"]["AtRestEncryptionConfiguration"]
    assert at_rest["S3EncryptionConfiguration"]["AwsKmsKey"] == KEY
    assert at_rest["LocalDiskEncryptionConfiguration"]["AwsKmsKey"] != KEY


def test_a_bucket_of_another_account_is_used_only_if_the_file_names_that_account(tmp_path: Path) -> None:
    shared = STORAGE.replace("key:", "owner: '210987654321', key:")
    environment_app(str(written(tmp_path, "shared", shared)), str(tmp_path / "cdk.out")).synth()
    template = json.loads((tmp_path / "cdk.out" / "warmbase-shared-blue-cluster.template.json").read_text())
    accounts = {
        statement["Sid"]: statement["Condition"]["StringEquals"]["aws:ResourceAccount"]
        for statement in only(template, "AWS::IAM::Policy", "RolesNode")["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow" and any(action.startswith("s3:") for action in listed(statement["Action"]))
    }
    theirs, ours = "210987654321", {"Ref": "AWS::AccountId"}
    assert accounts == {
        "RootObjects": theirs,
        "RootBucket": theirs,
        "Claim": theirs,
        "Logs": ours,
        "BootstrapFiles": ours,
    }


def test_another_file_over_the_same_root_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    written(tmp_path, "first", STORAGE)
    environment = read_environment(str(written(tmp_path, "second", STORAGE.replace("teams/a/", "teams/a/deeper/"))))
    with pytest.raises(InvalidInput, match="two writers corrupt it") as caught:
        check_deployable(launch_of(environment, environment.active))
    assert "first.yaml" in str(caught.value)
