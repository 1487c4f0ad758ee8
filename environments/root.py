"""The place of the HBase root: a prefix of a bucket that the storage stack creates or that exists already."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

INCOMPLETE_UPLOAD_DAYS: Final = 3  # judgement: no upload of a store file takes as long

ACCOUNT_PSEUDO_PARAMETER = "${AWS::AccountId}"
"""The placeholder that CloudFormation replaces with the account, in the names of a file that states no account."""
SOME_ACCOUNT: Final = re.compile(rf"[0-9]{{12}}|{re.escape(ACCOUNT_PSEUDO_PARAMETER)}")

METRICS_ID_LENGTH: Final = 64  # S3 API Reference, PutBucketMetricsConfiguration: letters, digits, ".", "-" and "_"
RULE_ID_LENGTH: Final = 255  # S3 API Reference, LifecycleRule
HASH_LENGTH: Final = 16  # judgement: 64 bits, and S3 allows a bucket 1,000 ids of either kind
UNCONDITIONAL: Final[Mapping[str, Mapping[str, str]]] = {
    "Null": {"s3:if-match": "true", "s3:if-none-match": "true"},
    # The parts of an upload carry no condition; the request that completes it does.
    "Bool": {"s3:ObjectCreationOperation": "true"},
}
"""The condition of a write that states none, which could take a claim from a cluster that still writes.

Source: Amazon S3 User Guide, conditional-writes-enforce.
"""
NOT_PLAIN: Final = re.compile(rb"[^A-Za-z0-9/-]")


class Root(Struct, frozen=True, kw_only=True):
    """`bucket` may carry `${AWS::AccountId}` for CloudFormation to fill in; `prefix` has no slash at its end.

    `existing`: the bucket was there before, and is its owner's to set up. `key`: the ARN of the KMS key that encrypts
    what is in it already; without one, or where the bucket is new, the environment's own key encrypts what is written.
    `owner`: the account that an existing bucket belongs to, if it is not that of the environment.
    """

    bucket: str
    prefix: str
    existing: bool = False
    key: str | None = None
    owner: str | None = None

    @property
    def url(self) -> str:
        """`hbase.rootdir`. The slash at the end matters: EMR asks for it."""
        return f"s3://{self.bucket}/{self.prefix}/"

    def bucket_in(self, account: str) -> str:
        """Return the name of the bucket, with this account if the file states none."""
        return self.bucket.replace(ACCOUNT_PSEUDO_PARAMETER, account)

    def owner_in(self, account: str) -> str:
        """Return the account that the bucket belongs to, for an environment in this account."""
        return self.owner or account

    @property
    def metrics_id(self) -> str:
        """Return the id of the bucket's request metrics for the prefix; no two prefixes share one.

        Every bucket that warmbase creates has the prefix `hbase`, and its id stays as it was.
        """
        return "hbase-root" if self.prefix == "hbase" else prefix_id("hbase-root", self.prefix, METRICS_ID_LENGTH)

    @property
    def uploads_rule_id(self) -> str:
        """Return the id of the lifecycle rule that deletes incomplete uploads below the prefix."""
        return prefix_id("warmbase-incomplete-uploads", self.prefix, RULE_ID_LENGTH)

    @property
    def claim_key(self) -> str:
        """The object beside the root that names the one cluster that may write to it."""
        return f"{self.prefix}.warmbase-claim"

    @property
    def objects(self) -> tuple[str, ...]:
        """Return patterns that match the keys that HBase's file systems request.

        The root is asked for by the key without its slash (S3A); EMRFS marks it and each directory above it by a key of
        its own.
        """
        parts = self.prefix.split("/")
        marks = (f"{'/'.join(parts[:count])}_$folder$" for count in range(1, len(parts) + 1))
        return (self.prefix, *marks, f"{self.prefix}/*")

    def overlaps(self, other: Root) -> bool:
        """Return whether one root is inside the other, or both are the same."""
        mine, theirs = self.url, other.url
        if ACCOUNT_PSEUDO_PARAMETER in mine + theirs:
            # A file that names no account may be deployed in any.
            mine, theirs = (SOME_ACCOUNT.sub("*", url) for url in (mine, theirs))
        return mine.startswith(theirs) or theirs.startswith(mine)


def prefix_id(name: str, prefix: str, length: int) -> str:
    """Return an id of letters, digits, ".", "-" and "_" that no other prefix has under this name.

    A slash becomes a dot, and each other byte that is not a letter, a digit or a dash becomes `_XX`, so that the prefix
    can be read back. An id that would be too long ends with `__`, which no shorter one contains, and a hash.
    """
    text = NOT_PLAIN.sub(lambda match: b"_%02X" % match[0][0], prefix.encode()).decode().replace("/", ".")
    whole = f"{name}.{text}"
    if len(whole) <= length:
        return whole
    return f"{whole[: length - HASH_LENGTH - 2]}__{hashlib.sha256(prefix.encode()).hexdigest()[:HASH_LENGTH]}"
