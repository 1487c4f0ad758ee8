"""S3 behaviour that moto lacks: metrics, analytics and tiering configurations, and conditional bucket policies.

The configurations are stored as the XML that was put. moto would take DELETE /bucket?metrics for the deletion of the
bucket. It also ignores the conditions of a bucket policy, so that "deny requests without TLS" would deny every request:
here a statement with a condition has no effect, and unconditional statements still count.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket
from moto.s3.responses import S3Response

from local_aws.moto_internals import Untyped, replace, wrap

if TYPE_CHECKING:
    from collections.abc import Callable


# Sub-resource in the query string: name of the list's XML element, and the error code for an unknown id.
LISTS = {
    "metrics": "ListMetricsConfigurationsResult",
    "analytics": "ListBucketAnalyticsConfigurationResult",
    "intelligent-tiering": "ListBucketIntelligentTieringConfigurationsOutput",
}
PROLOGUE = re.compile(rb"^\s*<\?xml[^>]*\?>")
MISSING = (
    "<Error><Code>NoSuchConfiguration</Code><Message>The specified configuration does not exist.</Message></Error>"
)


def install() -> None:
    """Answer put, get, list and delete of these configurations, and ignore conditional policy statements."""
    wrap(S3Response, "_bucket_response_put", _put)
    wrap(S3Response, "_bucket_response_get", _get)
    wrap(S3Response, "_bucket_response_delete", _delete)
    replace(FakeBucket, "get_permission", permission)
    # S3 accepts the target of access logs unchecked; moto wants its policy first, which a template writes last.
    replace(FakeBucket, "_log_permissions_enabled_policy", staticmethod(lambda **_: True))


def _named(query: dict[str, list[str]]) -> str | None:
    return next((name for name in LISTS if name in query), None)


def _stored_configuration(response: Untyped, bucket: str, name: str) -> dict[str, bytes]:
    configurations: dict[str, bytes] = response.backend.get_bucket(bucket).__dict__.setdefault(f"local_{name}", {})
    return configurations


def _put(original: Callable[..., Untyped], response: Untyped, request: Untyped, bucket: str, query: Untyped) -> Untyped:
    name = _named(query)
    if name is None:
        return original(response, request, bucket, query)
    _stored_configuration(response, bucket, name)[query["id"][0]] = PROLOGUE.sub(b"", response.body)
    return 200, {}, ""


def _get(original: Callable[..., Untyped], response: Untyped, bucket: str, query: Untyped) -> Untyped:
    name = _named(query)
    if name is None:
        return original(response, bucket, query)
    configurations = _stored_configuration(response, bucket, name)
    if "id" not in query:
        listed = b"".join(configurations.values()).decode()
        return 200, {}, f"<{LISTS[name]}><IsTruncated>false</IsTruncated>{listed}</{LISTS[name]}>"
    configuration = configurations.get(query["id"][0])
    return (404, {}, MISSING) if configuration is None else (200, {}, configuration.decode())


def _delete(original: Callable[..., Untyped], response: Untyped, bucket: str, query: Untyped) -> Untyped:
    name = _named(query)
    if name is None:
        return original(response, bucket, query)
    configuration = _stored_configuration(response, bucket, name).pop(query["id"][0], None)
    return (404, {}, MISSING) if configuration is None else (204, {}, "")


def permission(bucket: Untyped, action: str, resource: str) -> Untyped:
    """Return how the unconditional statements of the bucket's policy decide an action."""
    if bucket.policy is None:
        return PermissionResult.NEUTRAL
    policy = json.loads(bucket.policy)
    statements = policy["Statement"] if isinstance(policy["Statement"], list) else [policy["Statement"]]
    unconditional = [statement for statement in statements if not statement.get("Condition")]
    if not unconditional:
        return PermissionResult.NEUTRAL
    return IAMPolicy(json.dumps({**policy, "Statement": unconditional})).is_action_permitted(action, resource)
