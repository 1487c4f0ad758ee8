"""S3's per-bucket lists of metrics, analytics and tiering configurations, kept as the XML that was put.

moto has none of them, and would take DELETE /bucket?metrics for the deletion of the bucket.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from moto.s3.responses import S3Response

from local_aws.moto_border import Untyped, wrap

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
    """Answers put, get, list and delete of these configurations."""
    wrap(S3Response, "_bucket_response_put", _put)
    wrap(S3Response, "_bucket_response_get", _get)
    wrap(S3Response, "_bucket_response_delete", _delete)


def _named(query: dict[str, list[str]]) -> str | None:
    return next((name for name in LISTS if name in query), None)


def _stored_configuration(response: Untyped, bucket: str, name: str) -> dict[str, bytes]:
    kept: dict[str, bytes] = response.backend.get_bucket(bucket).__dict__.setdefault(f"local_{name}", {})
    return kept


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
    kept = _stored_configuration(response, bucket, name)
    if "id" not in query:
        listed = b"".join(kept.values()).decode()
        return 200, {}, f"<{LISTS[name]}><IsTruncated>false</IsTruncated>{listed}</{LISTS[name]}>"
    found = kept.get(query["id"][0])
    return (404, {}, MISSING) if found is None else (200, {}, found.decode())


def _delete(original: Callable[..., Untyped], response: Untyped, bucket: str, query: Untyped) -> Untyped:
    name = _named(query)
    if name is None:
        return original(response, bucket, query)
    found = _stored_configuration(response, bucket, name).pop(query["id"][0], None)
    return (404, {}, MISSING) if found is None else (204, {}, "")
