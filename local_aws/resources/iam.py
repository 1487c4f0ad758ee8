"""Roles and instance profiles of AWS::IAM: moto makes them; changes and deletions happen here.

AWS's own managed policies are loaded when a role first attaches one, because moto would load all of them or none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from moto.iam.models import (
    AWSManagedPolicy,
    IAMBackend,
    InstanceProfile,
    Role,
    aws_managed_policies_data,
)

from local_aws import moto_internals
from local_aws.moto_internals import Json, Untyped, wrap
from local_aws.resources import MotoType, ResourceRequest


class RoleType(MotoType):
    """A role whose trust, policies and tags follow the template."""

    def __init__(self) -> None:
        super().__init__(Role)

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new role; its managed policies must exist."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same role with the requested trust, policies and tags."""
        name, region, properties = resource.name, request.region, request.properties
        trust = json.dumps({"Version": "2012-10-17", **properties["AssumeRolePolicyDocument"]})  # moto wants a version
        moto_internals.call("iam", region, "update_assume_role_policy", RoleName=name, PolicyDocument=trust)
        _follow_inline(resource, region, properties)
        _follow_managed(name, region, properties)
        moto_internals.call("iam", region, "tag_role", RoleName=name, Tags=properties.get("Tags", []))
        described = properties.get("Description", "")
        moto_internals.call("iam", region, "update_role", RoleName=name, Description=described)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Detach every policy from the role and delete it."""
        listed = moto_internals.call("iam", request.region, "list_attached_role_policies", RoleName=resource.name)
        for one in listed["AttachedPolicies"]:
            attachment = {"RoleName": resource.name, "PolicyArn": one["PolicyArn"]}
            moto_internals.call("iam", request.region, "detach_role_policy", **attachment)
        super().delete(resource, request)


class InstanceProfileType(MotoType):
    """An instance profile, which names one role."""

    def __init__(self) -> None:
        super().__init__(InstanceProfile)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same profile with the requested role."""
        profile = resource.name
        for role in list(resource.roles):
            parameters = {"InstanceProfileName": profile, "RoleName": role.name}
            moto_internals.call("iam", request.region, "remove_role_from_instance_profile", **parameters)
        for name in request.properties["Roles"]:
            parameters = {"InstanceProfileName": profile, "RoleName": name}
            moto_internals.call("iam", request.region, "add_role_to_instance_profile", **parameters)
        return resource


def _follow_inline(role: Untyped, region: str, properties: Json) -> None:
    # Only policies inside the role: AWS::IAM::Policy manages its own.
    wanted = {one["PolicyName"]: one["PolicyDocument"] for one in properties.get("Policies", [])}
    for name, document in wanted.items():
        parameters = {"RoleName": role.name, "PolicyName": name, "PolicyDocument": json.dumps(document)}
        moto_internals.call("iam", region, "put_role_policy", **parameters)
    for name in sorted(getattr(role, "template_policies", set()) - wanted.keys()):
        moto_internals.call("iam", region, "delete_role_policy", RoleName=role.name, PolicyName=name)
    role.template_policies = set(wanted)


def _follow_managed(role: str, region: str, properties: Json) -> None:
    wanted = set(properties.get("ManagedPolicyArns", []))
    listed = moto_internals.call("iam", region, "list_attached_role_policies", RoleName=role)["AttachedPolicies"]
    have = {one["PolicyArn"] for one in listed}
    for arn in sorted(wanted - have):
        moto_internals.call("iam", region, "attach_role_policy", RoleName=role, PolicyArn=arn)
    # A policy resource may have attached itself, so only AWS's own policies are detached.
    for arn in sorted(arn for arn in have - wanted if ":iam::aws:policy/" in arn):
        moto_internals.call("iam", region, "detach_role_policy", RoleName=role, PolicyArn=arn)


PREFIX = ":iam::aws:policy/"


def install() -> None:
    """Let roles attach any managed policy of AWS; a misspelt one is refused as in AWS."""
    wrap(IAMBackend, "attach_role_policy", _attach)


def _attach(original: Callable[..., None], backend: Untyped, policy_arn: str, role_name: str) -> None:
    name = policy_arn.rsplit("/", maxsplit=1)[-1]
    if PREFIX in policy_arn and policy_arn not in backend.managed_policies and name in _texts():
        policy = AWSManagedPolicy.from_data(name, backend.account_id, backend.region_name, _texts()[name])
        backend.managed_policies[policy.arn] = policy
    original(backend, policy_arn, role_name)


@cache
def _texts() -> Json:
    texts: Json = json.loads(aws_managed_policies_data)
    return texts
