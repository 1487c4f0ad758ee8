"""Bucket policies: kept whole, but their conditional statements are not evaluated.

moto ignores `Condition`, so that "deny what is not TLS" would deny everything. Unconditional statements still count.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

from local_aws.moto_border import Untyped, replace

if TYPE_CHECKING:
    from local_aws.moto_border import Json


def install() -> None:
    """Makes moto's buckets leave out conditional statements when they decide."""
    replace(FakeBucket, "get_permission", permission)
    # S3 takes the target of access logs on trust; moto wants its policy first, which a template writes last.
    replace(FakeBucket, "_log_permissions_enabled_policy", staticmethod(lambda **_: True))


def permission(bucket: Untyped, action: str, resource: str) -> Untyped:
    """Return what the unconditional statements of the bucket's policy say to an action."""
    if bucket.policy is None:
        return PermissionResult.NEUTRAL
    unconditional = _unconditional(json.loads(bucket.policy))
    if not unconditional["Statement"]:
        return PermissionResult.NEUTRAL
    return IAMPolicy(json.dumps(unconditional)).is_action_permitted(action, resource)


def _unconditional(policy: Json) -> Json:
    statements = policy["Statement"]
    listed = statements if isinstance(statements, list) else [statements]
    return {**policy, "Statement": [one for one in listed if not one.get("Condition")]}
