"""An HBase root in S3: listed by pages, read by ranges, and what is replaced or gone meanwhile is said."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from io import BytesIO
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import IncompleteReadError
from moto import mock_aws

from tests.hfile.printed import readable
from tests.operations.mocked_aws import clients
from warmbase.ground.errors import OperationFailed
from warmbase.hfile.cursor import LocalFile, Unreadable
from warmbase.hfile.file_stats import Depth, read_stats
from warmbase.operations.aws.root_bucket import S3File, S3Root

BUCKET = "our-root"
FILES = readable()[:6]


@pytest.fixture
def root() -> Iterator[S3Root]:
    with mock_aws():
        aws = clients()
        aws.s3.create_bucket(Bucket=BUCKET)
        for file in FILES:
            name = hashlib.sha256(file.name.encode()).hexdigest()[:32]
            key = f"hbase/data/default/t/{'a' * 32}/f/{name}"
            aws.s3.put_object(Bucket=BUCKET, Key=key, Body=file.read_bytes())
        aws.s3.put_object(Bucket=BUCKET, Key="hbase2/data/x", Body=b"of another")
        yield S3Root(aws, BUCKET, "hbase")


def test_what_is_read_by_ranges_is_what_a_local_file_has(root: S3Root) -> None:
    found = {stored.size_bytes: root.readable(stored) for stored in root.files()}
    assert len(found) == len(FILES)
    for file in FILES:
        depth = Depth(leaves=4, headers=4, trials=1)
        assert read_stats(found[file.stat().st_size], depth, Random(1)) == read_stats(LocalFile(file), depth, Random(1))


def test_only_what_is_below_the_prefix_is_listed(root: S3Root) -> None:
    assert all(stored.path.startswith("data/default/t/") for stored in root.files())
    assert root.url == "s3://our-root/hbase/"
    whole = S3Root(root.aws, BUCKET, "")
    assert {stored.path for stored in whole.files()} >= {"hbase2/data/x"}
    assert whole.url == "s3://our-root/"


def test_a_file_that_is_replaced_or_gone_is_not_read_on(root: S3Root) -> None:
    first, second, *_ = root.files()
    root.aws.s3.put_object(Bucket=BUCKET, Key=f"hbase/{first.path}", Body=b"another")
    root.aws.s3.delete_object(Bucket=BUCKET, Key=f"hbase/{second.path}")
    for stored in (first, second):
        with pytest.raises(Unreadable, match="it is gone by now"):
            root.readable(stored).read_at(0, 5)


class BreakingOff:
    """An S3 whose first answers break off."""

    def __init__(self, times: int) -> None:
        self.left = times

    def get_object(self, **_: str) -> dict[str, BreakingOff]:
        return {"Body": self}

    def read(self) -> bytes:
        self.left -= 1
        if self.left >= 0:
            raise IncompleteReadError(actual_bytes=2, expected_bytes=5)
        return b"whole"


@pytest.mark.parametrize(("times", "comes"), [(3, True), (4, False)])
def test_an_answer_that_breaks_off_is_asked_for_again(times: int, comes: bool) -> None:  # noqa: FBT001 - a case
    aws: Any = SimpleNamespace(s3=BreakingOff(times))
    file = S3File(aws, BUCKET, "x", 5, "etag")
    if comes:
        assert file.read_at(0, 5) == b"whole"
    else:
        with pytest.raises(OperationFailed, match="could not read"):
            file.read_at(0, 5)


def test_a_bucket_that_is_not_there_is_said(root: S3Root) -> None:
    with pytest.raises(OperationFailed, match=r"could not list s3://nobodys/hbase/(.|\n)*fix: name an existing bucket"):
        list(S3Root(root.aws, "nobodys", "hbase").files())


def test_an_answer_that_is_too_short_is_unreadable() -> None:
    short = SimpleNamespace(get_object=lambda **_: {"Body": BytesIO(b"abc")})
    file = S3File(cast("Any", SimpleNamespace(s3=short)), BUCKET, "hbase/f", 100, "etag")
    with pytest.raises(Unreadable, match="at byte 13") as raised:
        file.read_at(10, 4)
    assert raised.value.offset == 13
    assert file.read_at(10, 3) == b"abc"
