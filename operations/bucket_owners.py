"""The account that every request to S3 expects to own its bucket, because names of buckets are global.

S3 refuses a request whose expected owner is not the owner (S3 User Guide, bucket-owner-condition). So warmbase never
believes a claim, a record or an answer from a bucket whose name somebody else has taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from operations.aws_errors import MISSING, error_code

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

EXPECTED: Final = "ExpectedBucketOwner"
DENIED: Final = frozenset({"403", "AccessDenied"})
EVENT: Final = "before-parameter-build.s3"
"""botocore emits it before it checks the parameters of a call; each page of a paginator is a call."""


class BucketOwners:
    """The owners of buckets: one account for all buckets except those with a stated owner."""

    def __init__(self, account: Callable[[], str]) -> None:
        """Take the owner from `account`, which is called when the first bucket needs it."""
        self._account = account
        self._others: dict[str, str | None] = {}

    def expect(self, bucket: str, owner: str | None) -> None:
        """State the owner of one bucket; None accepts any owner, for a bucket that is only inspected."""
        self._others[bucket] = owner

    def add(self, params: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401 - botocore's operation
        """Add the expected owner to the parameters of an operation that takes one."""
        bucket = params.get("Bucket")
        if bucket is None or model.input_shape is None or EXPECTED not in model.input_shape.members:
            return
        owner = self._others[bucket] if bucket in self._others else self._account()
        if owner is not None:
            params.setdefault(EXPECTED, owner)


class BucketName(Struct, frozen=True):
    """The use of a bucket's name. `region` is None for a bucket that is not ours or that we may not list."""

    exists: bool
    region: str | None


def bucket_name(s3: S3Client, name: str) -> BucketName:
    """Return whose bucket has the name. Raises botocore's errors, but not for a bucket that we may not list."""
    try:
        return BucketName(exists=True, region=s3.head_bucket(Bucket=name)["BucketRegion"])
    except ClientError as error:
        if error_code(error) in DENIED:
            return BucketName(exists=True, region=None)
        if error_code(error) not in MISSING:
            raise
        return BucketName(exists=False, region=None)
