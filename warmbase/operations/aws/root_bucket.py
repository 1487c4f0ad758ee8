"""An HBase root in S3: its files, and the settings of its bucket.

Files are read by ranged GETs: nothing is written, and no file is read whole. The settings of an existing root bucket
are those that dashboard and bill need, and that warmbase sets on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from botocore.exceptions import ClientError, IncompleteReadError, ReadTimeoutError, ResponseStreamingError
from msgspec import Struct
from urllib3.exceptions import HTTPError

from warmbase.environments.environment import INCOMPLETE_UPLOAD_DAYS, RULE_ID_LENGTH, Root
from warmbase.ground.errors import OperationFailed
from warmbase.hfile.cursor import DELETED, Unreadable
from warmbase.hfile.layout import FileEntry
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import MISSING, error_code, suppress_codes, translated
from warmbase.operations.aws.progress import Say

CHANGED: Final = MISSING | {"412", "PreconditionFailed"}
"""It is gone, or another by now."""
ATTEMPTS: Final = 4
BROKEN_OFF: Final = (IncompleteReadError, ReadTimeoutError, ResponseStreamingError, HTTPError)
OF_ONE: Final = ("AccessDenied", "InvalidObjectState", "KMS.")
"""How codes begin by which S3 refuses one object and not all: it is archived, or encrypted with another key."""


class S3File(Struct, frozen=True):
    """One object, as it was when it was listed: one that was replaced since is another."""

    aws: Aws
    bucket: str
    key: str
    size_bytes: int
    etag: str

    @property
    def name(self) -> str:
        """Return its URL."""
        return f"s3://{self.bucket}/{self.key}"

    def read_at(self, offset: int, length: int) -> bytes:
        """One GET. Raises Unreadable where the object is not that any more, OperationFailed where S3 refuses."""
        if not length:
            return b""
        with translated(f"could not read {self.name}", "run the same command again to continue"):
            try:
                # If the answer breaks off, the request is repeated; botocore repeats it only until the answer begins.
                data, piece = b"", f"bytes={offset}-{offset + length - 1}"
                for remaining in reversed(range(ATTEMPTS)):
                    with suppress(*(BROKEN_OFF if remaining else ())):
                        answer = self.aws.s3.get_object(
                            Bucket=self.bucket, Key=self.key, Range=piece, IfMatch=self.etag
                        )
                        data = answer["Body"].read()
                        break
            except ClientError as error:
                if error_code(error) in CHANGED:
                    raise Unreadable(self.name, offset, DELETED) from None
                if error_code(error).startswith(OF_ONE):
                    raise Unreadable(self.name, offset, str(error)) from None
                raise
            except HTTPError as error:
                raise OperationFailed.of(
                    where=self.name, what="could not be read", why=str(error), fix="run the same command again"
                ) from error
        if len(data) != length:
            raise Unreadable(self.name, offset + len(data), f"{length:,} bytes expected, but the file ends here")
        return data


class S3Root(Struct, frozen=True):
    """As `Store` has it. `prefix` has no slash at its end; empty for a whole bucket."""

    aws: Aws
    bucket: str
    prefix: str

    def __post_init__(self) -> None:
        """Accept any owner of the bucket, because this root is only read for a report."""
        self.aws.bucket_owners.expect(self.bucket, None)

    @property
    def url(self) -> str:
        """Return its URL, which ends in a slash."""
        return f"s3://{self.bucket}/{self.prefix}/" if self.prefix else f"s3://{self.bucket}/"

    def files(self) -> Iterator[FileEntry]:
        """A thousand for each request. Raises OperationFailed where S3 refuses."""
        start = f"{self.prefix}/" if self.prefix else ""
        with translated(f"could not list {self.url}", "name an existing bucket and prefix"):
            pages: Any = self.aws.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=start)
            for page in pages:
                for entry in page.get("Contents", ()):
                    yield FileEntry(entry["Key"][len(start) :], entry["Size"], entry.get("ETag", "*"))

    def readable(self, stored: FileEntry) -> S3File:
        """Return one of its files, ready to be read."""
        key = f"{self.prefix}/{stored.path}" if self.prefix else stored.path
        return S3File(self.aws, self.bucket, key, stored.size_bytes, stored.stamp)


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
        # Replace a rule with today's id, and one with the id of earlier versions. In those versions `a/b` and `a-b`
        # shared an id, so the earlier rule is replaced only if its filter is that of this root.
        earlier = f"warmbase-incomplete-uploads-{root.prefix.replace('/', '-')}"[:RULE_ID_LENGTH]
        future: Any = [
            rule
            for rule in rules
            if rule.get("ID") != root.uploads_rule_id
            and not (rule.get("ID") == earlier and rule.get("Filter") == _filter(root))
        ]
        future.append(_rule(root))
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


def _metrics(aws: Aws, root: Root) -> Mapping[str, Any] | None:
    with suppress_codes():
        answer = aws.s3.get_bucket_metrics_configuration(Bucket=root.bucket, Id=root.metrics_id)
        metrics_filter: Mapping[str, Any] = answer["MetricsConfiguration"].get("Filter", {})
        return metrics_filter
    return None


def _rules(aws: Aws, root: Root) -> list[Mapping[str, Any]]:
    """Every lifecycle rule of the bucket: S3 takes them as a whole."""
    rules: Any = []
    with suppress_codes():
        rules = aws.s3.get_bucket_lifecycle_configuration(Bucket=root.bucket)["Rules"]
    return list(rules)
