"""An existing root bucket: the settings that dashboard and bill need, and that warmbase sets on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from dashboards.reads import ROOT_METRICS_FILTER
from environments.root import INCOMPLETE_UPLOAD_DAYS, Root
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code
from operations.progress import Say

RULE: Final = "warmbase-incomplete-uploads"


def needs(aws: Aws, root: Root) -> Iterator[str]:
    """Yield what is not set there, each in words; nothing of a bucket that the storage stack makes.

    Raises botocore's errors.
    """
    if not root.existing:
        return
    if _metrics(aws, root) != _filter(root):
        yield f"request metrics {ROOT_METRICS_FILTER} for {root.prefix}/, which the dashboards and alarms read"
    if _rule(root) not in _rules(aws, root):
        yield f"incomplete uploads to {root.prefix}/ are deleted after {INCOMPLETE_UPLOAD_DAYS} days"


def set_up(aws: Aws, root: Root, say: Say) -> str:
    """Sets what is not set, and leaves all else as it is; the outcome in a line. Raises botocore's errors."""
    missing = list(needs(aws, root))
    for need in missing:
        say(need)
    if _metrics(aws, root) != _filter(root):
        configuration: Any = {"Id": ROOT_METRICS_FILTER, "Filter": _filter(root)}
        aws.s3.put_bucket_metrics_configuration(
            Bucket=root.bucket, Id=ROOT_METRICS_FILTER, MetricsConfiguration=configuration
        )
    rules = _rules(aws, root)
    if _rule(root) not in rules:
        rule: Any = _rule(root)
        others: Any = [other for other in rules if other.get("ID") != rule["ID"]]
        aws.s3.put_bucket_lifecycle_configuration(Bucket=root.bucket, LifecycleConfiguration={"Rules": [*others, rule]})
    return f"{len(missing)} set" if missing else "already configured"


def _filter(root: Root) -> Mapping[str, Any]:
    return {"Prefix": f"{root.prefix}/"}


def _rule(root: Root) -> dict[str, Any]:
    return {
        "ID": f"{RULE}-{root.prefix.replace('/', '-')}"[:255],
        "Status": "Enabled",
        "Filter": {"Prefix": f"{root.prefix}/"},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": INCOMPLETE_UPLOAD_DAYS},
    }


def _metrics(aws: Aws, root: Root) -> Mapping[str, Any] | None:
    try:
        answer = aws.s3.get_bucket_metrics_configuration(Bucket=root.bucket, Id=ROOT_METRICS_FILTER)
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return None
    metrics_filter: Mapping[str, Any] = answer["MetricsConfiguration"].get("Filter", {})
    return metrics_filter


def _rules(aws: Aws, root: Root) -> list[Mapping[str, Any]]:
    """Every lifecycle rule of the bucket: S3 takes them as a whole."""
    try:
        rules: Any = aws.s3.get_bucket_lifecycle_configuration(Bucket=root.bucket)["Rules"]
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return []
    return list(rules)
