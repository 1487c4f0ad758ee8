"""Roles and instance profiles of AWS::IAM: moto makes them; changes and deletions happen here.

AWS's own managed policies are loaded when a role first attaches one, because moto would load all of them or none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial

from moto.iam.models import (
    AWSManagedPolicy,
    IAMBackend,
    InstanceProfile,
    Role,
    aws_managed_policies_data,
)

from local_aws.moto_internals import Json, Untyped, wrap
from local_aws.resources import MotoType, ResourceRequest

PREFIX = ":iam::aws:policy/"


class RoleType(MotoType):
    """A role whose trust, policies and tags follow the template."""

    model = Role

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new role; its managed policies must exist."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same role with the requested trust, policies and tags."""
        iam, properties = partial(request.call, "iam", RoleName=resource.name), request.properties
        trust = json.dumps({"Version": "2012-10-17", **properties["AssumeRolePolicyDocument"]})  # moto wants a version
        iam("update_assume_role_policy", PolicyDocument=trust)
        # Only policies inside the role: AWS::IAM::Policy manages its own.
        inline = {one["PolicyName"]: one["PolicyDocument"] for one in properties.get("Policies", [])}
        for policy, document in inline.items():
            iam("put_role_policy", PolicyName=policy, PolicyDocument=json.dumps(document))
        for policy in sorted(getattr(resource, "template_policies", set()) - inline.keys()):
            iam("delete_role_policy", PolicyName=policy)
        resource.template_policies = set(inline)
        wanted = set(properties.get("ManagedPolicyArns", []))
        have = {one["PolicyArn"] for one in iam("list_attached_role_policies")["AttachedPolicies"]}
        for arn in sorted(wanted - have):
            iam("attach_role_policy", PolicyArn=arn)
        # A policy resource may have attached itself, so only AWS's own policies are detached.
        for arn in sorted(arn for arn in have - wanted if PREFIX in arn):
            iam("detach_role_policy", PolicyArn=arn)
        iam("tag_role", Tags=properties.get("Tags", []))
        described = properties.get("Description", "")
        iam("update_role", Description=described)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Detach every policy from the role and delete it."""
        listed = request.call("iam", "list_attached_role_policies", RoleName=resource.name)
        for one in listed["AttachedPolicies"]:
            attachment = {"RoleName": resource.name, "PolicyArn": one["PolicyArn"]}
            request.call("iam", "detach_role_policy", **attachment)
        super().delete(resource, request)


class InstanceProfileType(MotoType):
    """An instance profile, which names one role."""

    model = InstanceProfile

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same profile with the requested role."""
        profile = resource.name
        for role in list(resource.roles):
            parameters = {"InstanceProfileName": profile, "RoleName": role.name}
            request.call("iam", "remove_role_from_instance_profile", **parameters)
        for name in request.properties["Roles"]:
            parameters = {"InstanceProfileName": profile, "RoleName": name}
            request.call("iam", "add_role_to_instance_profile", **parameters)
        return resource


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
