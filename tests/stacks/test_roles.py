"""The two roles of a cluster, statement by statement. Actions are written out here, so that none goes unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.stacks.template import Templates, allowing, filled, listed, of_type, only

ROOT = "arn:aws:s3:::warmbase-prod-root-ACCOUNT-us-east-1"
USE_OF_THE_KEY = {
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
}


def statements(templates: Templates, role: str) -> list[Any]:
    """Return what the policy of a role of prod's cluster says: Node or Service."""
    policy = only(templates["warmbase-prod-blue-cluster"], "AWS::IAM::Policy", f"Roles{role}")
    return list(policy["PolicyDocument"]["Statement"])


def is_the_roots_key(templates: Templates, resource: Any) -> bool:
    """Return whether it is the ARN that the storage stack exports of its one key."""
    storage = templates["warmbase-prod-storage"]
    [key] = of_type(storage, "AWS::KMS::Key")
    exported = {output["Export"]["Name"]: output["Value"] for output in storage["Outputs"].values()}
    return bool(exported[resource["Fn::ImportValue"]] == {"Fn::GetAtt": [key, "Arn"]})


def test_nodes_do_everything_with_the_root_itself_its_marker_and_what_is_in_it(
    templates: Callable[[str], Templates],
) -> None:
    of_objects = [
        statement
        for statement in statements(templates("prod"), "Node")
        if {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"} <= set(listed(statement["Action"]))
    ]
    [statement] = of_objects
    assert {filled(each) for each in statement["Resource"]} == {
        f"{ROOT}/hbase",
        f"{ROOT}/hbase_$folder$",
        f"{ROOT}/hbase/*",
    }


def test_nodes_use_the_roots_key_and_grant_nobody_its_use(templates: Callable[[str], Templates]) -> None:
    of_keys = [each for each in statements(templates("prod"), "Node") if "kms:" in str(each["Action"])]
    [statement] = of_keys
    assert statement["Effect"] == "Allow"
    assert set(statement["Action"]) == USE_OF_THE_KEY
    assert is_the_roots_key(templates("prod"), statement["Resource"])


def test_emr_uses_the_roots_key_and_grants_its_use_to_aws_alone(templates: Callable[[str], Templates]) -> None:
    said = statements(templates("prod"), "Service")
    [use] = allowing(said, "kms:Decrypt")
    [grant] = allowing(said, "kms:CreateGrant")
    assert set(use["Action"]) == USE_OF_THE_KEY
    assert grant["Action"] == "kms:CreateGrant"
    assert grant["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    assert all(is_the_roots_key(templates("prod"), each["Resource"]) for each in (use, grant))


def test_role_and_instance_profile_share_their_name(templates: Callable[[str], Templates]) -> None:
    stack = templates("prod")["warmbase-prod-blue-cluster"]
    names = {role["Properties"].get("RoleName") for role in of_type(stack, "AWS::IAM::Role").values()}
    assert only(stack, "AWS::IAM::InstanceProfile")["InstanceProfileName"] in names


def test_only_emr_of_this_account_and_region_uses_the_service_role(templates: Callable[[str], Templates]) -> None:
    """Without the condition another account could have EMR act by this role (the confused deputy problem)."""
    role = only(templates("prod")["warmbase-prod-blue-cluster"], "AWS::IAM::Role", "RolesService")
    [statement] = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "elasticmapreduce.amazonaws.com"}
    arn = "arn:${AWS::Partition}:elasticmapreduce:${AWS::Region}:${AWS::AccountId}:*"
    assert statement["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}},
        "ArnLike": {"aws:SourceArn": {"Fn::Sub": arn}},
    }
