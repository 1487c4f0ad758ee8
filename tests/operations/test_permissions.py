"""docs/operations.md lists what the commands ask of AWS themselves: as many actions as the code has, and no more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import boto3

from warmbase.operations.aws.errors import IAM_NAMES

PROJECT = Path(__file__).parents[2]
SERVICES = {
    "cloudformation": "cloudformation",
    "cloudwatch": "cloudwatch",
    "ec2": "ec2",
    "emr": "elasticmapreduce",
    "iam": "iam",
    "keys": "kms",
    "logs": "logs",
    "quotas": "servicequotas",
    "s3": "s3",
    "scheduler": "scheduler",
    "sns": "sns",
    "ssm": "ssm",
    "lock_client": "ssm",
}
CLIENTS = {"keys": "kms", "quotas": "service-quotas", "lock_client": "ssm"}


def requested_actions() -> Iterator[str]:
    """Yield each API call in operations/, by IAM's name."""
    for file in sorted((PROJECT / "warmbase" / "operations").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            method, owner = node.func.attr, node.func.value
            if not (isinstance(owner, ast.Attribute) and owner.attr in SERVICES and _is_aws(owner.value)):
                continue
            if method == "get_paginator":
                [argument] = node.args
                assert isinstance(argument, ast.Constant)
                method = str(argument.value)
            service = owner.attr
            client = boto3.client(CLIENTS.get(service, service), region_name="us-east-1")  # type: ignore[call-overload]
            action = f"{SERVICES[service]}:{client.meta.method_to_api_mapping[method]}"
            yield IAM_NAMES.get(action, action)


def _is_aws(node: ast.expr) -> bool:
    """Return whether it is `aws`, or `self.aws` and the like."""
    return (isinstance(node, ast.Name) and node.id == "aws") or (
        isinstance(node, ast.Attribute) and node.attr in {"aws", "_aws"}
    )


def test_what_is_asked_of_aws_is_listed() -> None:
    page = (PROJECT / "docs" / "operations.md").read_text()
    prefixes = "|".join(SERVICES.values())
    listed = set(re.findall(rf"`((?:{prefixes}):[A-Za-z]+)`", page))
    # A call of EventBridge Scheduler passes a role, and none of ours is called PassRole.
    assert listed - {"iam:PassRole"} == set(requested_actions())
