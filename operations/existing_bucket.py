"""An existing root bucket: the settings that dashboard and bill need, and that warmbase sets on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from environments.root import INCOMPLETE_UPLOAD_DAYS, RULE_ID_LENGTH, Root
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code
from operations.progress import Say


def needs(aws: Aws, root: Root) -> Iterator[str]:
    """Yield what is not set there, each in words; nothing of a bucket that the storage stack makes.

    Raises botocore's errors.
    """
    if not root.existing:
        return
    if _metrics(aws, root) != _filter(root):
        yield f"request metrics {root.metrics_id} for {root.prefix}/, which the dashboards and alarms read"
    if not _has_rule(root, _rules(aws, root)):
        yield f"incomplete uploads to {root.prefix}/ are deleted after {INCOMPLETE_UPLOAD_DAYS} days"


def set_up(aws: Aws, root: Root, say: Say) -> str:
    """Sets what is not set, and leaves all else as it is; the outcome in a line. Raises botocore's errors."""
    missing = list(needs(aws, root))
    for need in missing:
        say(need)
    if _metrics(aws, root) != _filter(root):
        configuration: Any = {"Id": root.metrics_id, "Filter": _filter(root)}
        aws.s3.put_bucket_metrics_configuration(
            Bucket=root.bucket, Id=root.metrics_id, MetricsConfiguration=configuration
        )
    rules = _rules(aws, root)
    if not _has_rule(root, rules):
        future: Any = [*(rule for rule in rules if not _is_replaced(root, rule)), _rule(root)]
        aws.s3.put_bucket_lifecycle_configuration(Bucket=root.bucket, LifecycleConfiguration={"Rules": future})
    return f"{len(missing)} set" if missing else "already configured"


def _filter(root: Root) -> Mapping[str, Any]:
    return {"Prefix": f"{root.prefix}/"}


def _rule(root: Root) -> dict[str, Any]:
    return {
        "ID": root.uploads_rule_id,
        "Status": "Enabled",
        "Filter": {"Prefix": f"{root.prefix}/"},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": INCOMPLETE_UPLOAD_DAYS},
    }


def _has_rule(root: Root, rules: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a rule does what is needed; its id may be of an earlier version, or its owner's."""
    return any({**rule, "ID": root.uploads_rule_id} == _rule(root) for rule in rules)


def _is_replaced(root: Root, rule: Mapping[str, Any]) -> bool:
    """Return whether the rule makes way for `_rule`: one that has its id, or had it in earlier versions.

    In those versions `a/b` and `a-b` shared an id, so the rule may be of the other.
    """
    earlier = f"warmbase-incomplete-uploads-{root.prefix.replace('/', '-')}"[:RULE_ID_LENGTH]
    identity = rule.get("ID")
    return identity == root.uploads_rule_id or (identity == earlier and rule.get("Filter") == _filter(root))


def _metrics(aws: Aws, root: Root) -> Mapping[str, Any] | None:
    try:
        answer = aws.s3.get_bucket_metrics_configuration(Bucket=root.bucket, Id=root.metrics_id)
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
