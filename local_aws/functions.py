"""Functions of Lambda whose source stands in a template: they run in this process, with the permissions of their role.

moto would run a function in a container. This runs only what a stack of the local AWS has created from inline Python,
and gives it clients that the policies of the function's role limit.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace

import boto3
from botocore.exceptions import ClientError
from moto.cloudformation.models import cloudformation_backends
from moto.emr.models import emr_backends
from moto.iam.models import iam_backends

from local_aws import api
from local_aws.moto_internals import Json, Untyped
from local_aws.stack_state import state

TYPE = "AWS::Lambda::Function"


def find(account: str, region: str, arn: str) -> Json | None:
    """Return the properties of the function with this ARN; None where no stack has it."""
    for stack in cloudformation_backends[account][region].stacks.values():
        for entry in state(stack).resources.values():
            if entry.request.resource_type == TYPE and entry.resource.attributes["Arn"] == arn:
                properties: Json = entry.request.properties
                return properties
    return None


def invoke(account: str, region: str, arn: str, event: Json) -> None:
    """Run the function for an event. As an asynchronous invocation does, it tells nobody if the function fails."""
    properties = find(account, region, arn)
    if properties is None:
        return

    def client(service: str) -> Untyped:
        make: Untyped = boto3.client
        aws = make(service, region_name=region, aws_access_key_id="local", aws_secret_access_key=api.SECRET)
        aws.meta.events.register(f"before-parameter-build.{service}.*", permitted)
        return aws

    def permitted(params: Json, model: Untyped, **_: Untyped) -> None:
        """Raise AccessDeniedException where the role does not allow the call on each cluster that it names."""
        clusters = emr_backends[account][region].clusters
        for cluster in params.get("JobFlowIds", [None]):
            tags = {tag["Key"]: tag["Value"] for tag in clusters[cluster].tags} if cluster else {}
            if not allows(account, properties["Role"], f"elasticmapreduce:{model.name}", tags):
                raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": str(params)}}, model.name)

    def imported(name: str, *rest: Untyped) -> Untyped:
        return SimpleNamespace(client=client) if name == "boto3" else builtins.__import__(name, *rest)

    module: Json = {"__builtins__": {**vars(builtins), "__import__": imported}}
    source = compile(properties["Code"]["ZipFile"], arn, "exec")
    exec(source, module)  # noqa: S102 - the source of a template of ours
    with suppress(ClientError, RuntimeError):
        module[properties["Handler"].rpartition(".")[2]](event, None)


def allows(account: str, role_arn: str, action: str, tags: Mapping[str, str]) -> bool:
    """Return whether a statement allows the action, and every tag that its condition names has the stated value."""
    iam = next(iter(iam_backends[account].values()))
    [holder] = [role for role in iam.roles.values() if role.name == role_arn.rpartition("/")[2]]
    texts = [*holder.policies.values(), *(policy.document for policy in holder.managed_policies.values())]
    for statement in (statement for text in texts for statement in _statements(text)):
        wanted = statement.get("Condition", {}).get("StringEquals", {})
        matches = all(tags.get(key.partition("ResourceTag/")[2]) == value for key, value in wanted.items())
        actions = statement["Action"]
        if action in ([actions] if isinstance(actions, str) else actions) and matches:
            return True
    return False


def _statements(text: Untyped) -> list[Json]:
    document: Json = json.loads(text) if isinstance(text, str) else text
    statements = document["Statement"]
    return statements if isinstance(statements, list) else [statements]
