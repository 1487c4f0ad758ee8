"""An HBase root in S3, read by ranged GETs: nothing is written, and no file whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from botocore.exceptions import ClientError, IncompleteReadError, ReadTimeoutError, ResponseStreamingError
from msgspec import Struct
from urllib3.exceptions import HTTPError

from hfile.layout import FileEntry
from hfile.readable import DELETED, Unreadable
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code, translated
from sizing.problem import OperationFailed

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
                data = self._got(f"bytes={offset}-{offset + length - 1}")
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

    def _got(self, piece: str) -> bytes:
        """An answer that breaks off is asked for again: botocore does so only until it begins."""
        for remaining in reversed(range(ATTEMPTS)):
            with suppress(*(BROKEN_OFF if remaining else ())):
                answer = self.aws.s3.get_object(Bucket=self.bucket, Key=self.key, Range=piece, IfMatch=self.etag)
                return answer["Body"].read()
        raise AssertionError


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
