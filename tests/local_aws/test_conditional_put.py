"""S3's conditional writes, which the claim on an HBase root rests on."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.local_aws.aws_bench import Bench, error_code

CLAIM = {"Bucket": "claims", "Key": "hbase.warmbase-claim"}


def put(aws: Bench, body: bytes, **condition: str) -> str:
    return str(aws.s3.put_object(**CLAIM, Body=body, **condition)["ETag"])


def test_first_claim_wins(aws: Bench) -> None:
    aws.s3.create_bucket(Bucket="claims")
    put(aws, b"j-1", IfNoneMatch="*")
    with pytest.raises(ClientError) as refused:
        put(aws, b"j-2", IfNoneMatch="*")
    assert error_code(refused.value) == "PreconditionFailed"
    assert aws.s3.get_object(**CLAIM)["Body"].read() == b"j-1"


def test_claim_is_used_over_only_from_what_was_read(aws: Bench) -> None:
    aws.s3.create_bucket(Bucket="claims")
    read = put(aws, b"j-1")
    put(aws, b"j-2", IfMatch=read)
    with pytest.raises(ClientError) as refused:
        put(aws, b"j-3", IfMatch=read)
    assert error_code(refused.value) == "PreconditionFailed"


def test_takeover_of_nothing_is_not_detected(aws: Bench) -> None:
    aws.s3.create_bucket(Bucket="claims")
    with pytest.raises(ClientError) as refused:
        put(aws, b"j-1", IfMatch='"0"')
    assert error_code(refused.value) in {"NoSuchKey", "404"}
