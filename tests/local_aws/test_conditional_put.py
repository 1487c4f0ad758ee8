"""S3's conditional writes, which the claim on an HBase root rests on."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tests.local_aws.aws_bench import Bench, error_code
from warmbase.environments.environment import UNCONDITIONAL

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


@pytest.fixture
def protected(aws: Bench) -> Bench:
    """Return a local AWS with the policy that the storage stack puts on a bucket of its own."""
    aws.s3.create_bucket(Bucket="claims")
    statement = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::claims/hbase.warmbase-claim",
        "Condition": UNCONDITIONAL,
    }
    aws.s3.put_bucket_policy(Bucket="claims", Policy=json.dumps({"Version": "2012-10-17", "Statement": statement}))
    return aws


def test_a_write_without_a_condition_is_denied_by_policy(protected: Bench) -> None:
    with pytest.raises(ClientError) as refused:
        put(protected, b"j-1")
    assert error_code(refused.value) == "AccessDenied"
    first = put(protected, b"j-1", IfNoneMatch="*")
    with pytest.raises(ClientError, match="AccessDenied"):
        put(protected, b"j-2")
    put(protected, b"j-2", IfMatch=first)
    protected.s3.put_object(Bucket="claims", Key="hbase/data", Body=b"of HBase")
    with pytest.raises(ClientError, match="AccessDenied"):
        protected.s3.copy_object(**CLAIM, CopySource="claims/hbase/data")
    assert protected.s3.get_object(**CLAIM)["Body"].read() == b"j-2"


def test_an_upload_in_parts_is_checked_when_it_is_completed(protected: Bench) -> None:
    upload = {**CLAIM, "UploadId": protected.s3.create_multipart_upload(**CLAIM)["UploadId"]}
    tag = protected.s3.upload_part(**upload, PartNumber=1, Body=b"j-3")["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": tag}]}
    with pytest.raises(ClientError, match="AccessDenied"):
        protected.s3.complete_multipart_upload(**upload, MultipartUpload=parts)
    protected.s3.complete_multipart_upload(**upload, MultipartUpload=parts, IfNoneMatch="*")
