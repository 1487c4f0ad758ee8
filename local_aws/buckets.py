"""S3 behaviour that moto lacks, and the names of deleted SSM parameters.

Metrics, analytics and tiering configurations are stored as the XML that was put. moto would take DELETE /bucket?metrics
for the deletion of the bucket. It also ignores the conditions of a bucket policy, so that "deny requests without TLS"
would deny every request: here a statement with a condition has no effect, and unconditional statements still count. The
one exception is a statement that denies a write without If-Match or If-None-Match: it is obeyed for PutObject and
CompleteMultipartUpload. moto also ignores the owner that a request expects its bucket to have: here S3 refuses a
request that expects another.

Under the worse reading (`controls.py`), the name of a deleted parameter stays taken for a while.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Final

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.exceptions import S3AccessDeniedError
from moto.s3.models import FakeBucket, S3Backend, s3_backends
from moto.s3.responses import S3Response
from moto.ssm.exceptions import ParameterAlreadyExists
from moto.ssm.models import SimpleSystemManagerBackend

from local_aws import controls
from local_aws.moto_internals import Json, Untyped, replace, wrap

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
    """Answer put, get, list and delete of these configurations, and ignore conditional policy statements.

    Remember when a parameter was deleted, too.
    """
    wrap(SimpleSystemManagerBackend, "delete_parameter", _delete_parameter)
    wrap(SimpleSystemManagerBackend, "put_parameter", _put_parameter)
    wrap(S3Response, "_bucket_response_put", _put)
    wrap(S3Response, "_bucket_response_get", _get)
    wrap(S3Response, "_bucket_response_delete", _delete)
    replace(FakeBucket, "get_permission", permission)
    for operation in ("put_object", "copy_object", "_complete_multipart_body"):
        wrap(S3Response, operation, _write)
    wrap(S3Response, "_authenticate_and_authorize_s3_action", _authorize)
    # S3 accepts the target of access logs unchecked; moto wants its policy first, which a template writes last.
    replace(FakeBucket, "_log_permissions_enabled_policy", staticmethod(lambda **_: True))
    # S3 delivers access logs within hours (User Guide, ServerLogs); moto would fill a bucket that a rollback deletes.
    replace(S3Backend, "log_incoming_request", lambda *_: None)


def _authorize(
    original: Callable[..., Untyped], response: Untyped, bucket_name: str | None = None, **names: Untyped
) -> Untyped:
    """Authorize a request, unless it expects another owner of its bucket than the bucket has."""
    expected = response.headers.get("x-amz-expected-bucket-owner")
    _, owner = s3_backends.bucket_accounts.get(bucket_name, (None, expected))
    if expected not in {None, owner}:
        raise S3AccessDeniedError
    return original(response, bucket_name=bucket_name, **names)


def _stored_configuration(response: Untyped, bucket: str, query: Untyped) -> tuple[str, dict[str, bytes]] | None:
    """Return the list that the request is about, and its entries by id; None for a request of another kind."""
    for name, listing in LISTS.items():
        if name in query:
            return listing, response.backend.get_bucket(bucket).__dict__.setdefault(f"local_{name}", {})
    return None


def _put(original: Callable[..., Untyped], response: Untyped, request: Untyped, bucket: str, query: Untyped) -> Untyped:
    stored = _stored_configuration(response, bucket, query)
    if stored is None:
        answer = original(response, request, bucket, query)
        # moto answers a bucket policy with a word, S3 with nothing.
        return (204, {}, "") if answer == "True" else answer
    stored[1][query["id"][0]] = PROLOGUE.sub(b"", response.body)
    return 200, {}, ""


def _get(original: Callable[..., Untyped], response: Untyped, bucket: str, query: Untyped) -> Untyped:
    stored = _stored_configuration(response, bucket, query)
    if stored is None:
        return original(response, bucket, query)
    listing, configurations = stored
    if "id" not in query:
        listed = b"".join(configurations.values()).decode()
        return 200, {}, f"<{listing}><IsTruncated>false</IsTruncated>{listed}</{listing}>"
    configuration = configurations.get(query["id"][0])
    return (404, {}, MISSING) if configuration is None else (200, {}, configuration.decode())


def _delete(original: Callable[..., Untyped], response: Untyped, bucket: str, query: Untyped) -> Untyped:
    stored = _stored_configuration(response, bucket, query)
    if stored is None:
        return original(response, bucket, query)
    configuration = stored[1].pop(query["id"][0], None)
    return (404, {}, MISSING) if configuration is None else (204, {}, "")


def _write(original: Callable[..., Untyped], response: Untyped, *arguments: Untyped) -> Untyped:
    """Write an object, unless the bucket's policy denies a write without a condition. CopyObject takes none."""
    conditions = () if original.__name__ == "copy_object" else ("If-Match", "If-None-Match")
    if not any(response.headers.get(name) for name in conditions):
        bucket = response.backend.get_bucket(response.bucket_name)
        resource = f"arn:{bucket.partition}:s3:::{bucket.name}/{response.parse_key_name()}"
        statements = [statement for statement in _statements(bucket) if _is_of_unconditional_writes(statement)]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        if statements and IAMPolicy(policy).is_action_permitted("s3:PutObject", resource) is PermissionResult.DENIED:
            raise S3AccessDeniedError
    return original(response, *arguments)


def _is_of_unconditional_writes(statement: Json) -> bool:
    """Return whether a statement denies writes that state neither condition."""
    absent = statement.get("Condition", {}).get("Null", {})
    keys = ("s3:if-match", "s3:if-none-match")
    return statement["Effect"] == "Deny" and all(str(absent.get(key)).lower() == "true" for key in keys)


def _statements(bucket: Untyped) -> list[Json]:
    policy = json.loads(bucket.policy) if bucket.policy else {"Statement": []}
    return policy["Statement"] if isinstance(policy["Statement"], list) else [policy["Statement"]]


def permission(bucket: Untyped, action: str, resource: str) -> Untyped:
    """Return how the unconditional statements of the bucket's policy decide an action."""
    unconditional = [statement for statement in _statements(bucket) if not statement.get("Condition")]
    if not unconditional:
        return PermissionResult.NEUTRAL
    return IAMPolicy(json.dumps({**json.loads(bucket.policy), "Statement": unconditional})).is_action_permitted(
        action, resource
    )


RESERVATION_SECONDS: Final = 1.0
"""AWS asks its users to wait for 30 s; a second is long enough for a command to meet it."""


def _delete_parameter(original: Callable[..., Untyped], backend: Untyped, name: str) -> None:
    original(backend, name)
    backend.__dict__.setdefault("deletions", {})[name] = time.monotonic()


def _put_parameter(
    original: Callable[..., Untyped], backend: Untyped, name: str, *rest: Untyped, **named: Untyped
) -> Untyped:
    deleted = backend.__dict__.get("deletions", {}).get(name)
    if controls.are_worse() and deleted is not None and time.monotonic() - deleted < RESERVATION_SECONDS:
        raise ParameterAlreadyExists
    return original(backend, name, *rest, **named)
