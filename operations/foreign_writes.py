"""Traces that a writer leaves in a root without a claim: HBase's own mark of the active cluster, and fresh files.

Source: HBASE-29081, MasterFileSystem.negotiateActiveClusterSuffixFile; HBase Reference Guide, Read Replica Cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from botocore.exceptions import ClientError

from environments.root import Root
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code

ACTIVE: Final = "active.cluster.suffix.id"
"""The file in which open HBase names the one cluster that may write; releases without read replicas ignore it."""
MAGIC: Final = b"PBUF"
# Every active cluster flushes both while it runs. The meta table of a replica has the replica's id in its name.
FLUSHED: Final = ("data/hbase/meta/", "MasterData/")


def active_elsewhere(aws: Aws, root: Root, suffix: str) -> str | None:
    """Return the cluster that HBase's file names; None if it is one like ours, or if there is no such file.

    HBase compares the id of the root and the suffix of hbase:meta, and so does this. Raises botocore's errors.
    """
    content = _read(aws, root, ACTIVE)
    if content is None:
        return None
    names, own = list(_texts(content)), list(_texts(_read(aws, root, "hbase.id") or b""))
    if names and names[:1] == own[:1] and (names[1:] or [""]) == [suffix]:
        return None
    cluster, *suffixes = names or ["a cluster that cannot be read"]
    return f"{cluster} (suffix {suffixes[0]})" if suffixes and suffixes[0] else cluster


def written_since_release(aws: Aws, root: Root) -> datetime | None:
    """Return when a cluster last wrote to the root, if that is later than the claim; S3 has both times."""
    bucket = root.bucket_in(aws.account)
    released = aws.s3.get_object(Bucket=bucket, Key=root.claim_key)["LastModified"]
    pages: Any = aws.s3.get_paginator("list_objects_v2")
    written = (
        file["LastModified"]
        for directory in FLUSHED
        for page in pages.paginate(Bucket=bucket, Prefix=f"{root.prefix}/{directory}")
        for file in page.get("Contents", ())
    )
    last = max(written, default=released)
    return last if last > released else None


def _read(aws: Aws, root: Root, name: str) -> bytes | None:
    try:
        return aws.s3.get_object(Bucket=root.bucket_in(aws.account), Key=f"{root.prefix}/{name}")["Body"].read()
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return None


def _texts(content: bytes) -> Iterator[str]:
    """Yield the strings of a message of HBase, in the order of its fields; nothing where it is no such message."""
    rest = content.removeprefix(MAGIC)
    # Each field is a tag, a length of one byte (these texts are shorter than 128 bytes), and the text.
    while rest != content and len(rest) > 1 and rest[1] < 128 and len(rest) >= 2 + rest[1]:  # noqa: PLR2004
        yield rest[2 : 2 + rest[1]].decode(errors="replace")
        rest = rest[2 + rest[1] :]
