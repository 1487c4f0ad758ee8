"""AWS's own managed policies, each brought in when a role first asks for it: moto would load all of them or none."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from moto.iam.models import AWSManagedPolicy, IAMBackend, aws_managed_policies_data

from local_aws.moto_border import Json, Untyped, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = ":iam::aws:policy/"


def install() -> None:
    """Lets roles attach any managed policy that AWS has; a misspelt one is refused as in AWS."""
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
