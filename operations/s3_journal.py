"""A journal of an operation on one cluster: a JSON object in the log bucket, where nodes cannot write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError
from msgspec import Struct

from operations.aws import Aws
from operations.aws_errors import AGAIN, MISSING, error_code, translated


class S3Journal(Struct, frozen=True, kw_only=True):
    """The place of one journal. An SSM parameter would be too small for the homes of all regions."""

    aws: Aws
    bucket: str
    key: str

    def read(self) -> Any:  # noqa: ANN401 - JSON
        """Return the journal; None where there is none. Raises OperationFailed, or ValueError where it is not JSON."""
        with translated(f"could not read {self.url}", AGAIN):
            try:
                body = self.aws.s3.get_object(Bucket=self.bucket, Key=self.key)["Body"].read()
            except ClientError as error:
                if error_code(error) not in MISSING:
                    raise
                return None
        return json.loads(body)

    def write(self, document: Mapping[str, object]) -> None:
        """Keep this journal in place of any other. Raises OperationFailed."""
        with translated(f"could not write {self.url}", AGAIN):
            self.aws.s3.put_object(Bucket=self.bucket, Key=self.key, Body=json.dumps(document).encode())

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        with translated(f"could not delete {self.url}", AGAIN):
            self.aws.s3.delete_object(Bucket=self.bucket, Key=self.key)

    @property
    def url(self) -> str:
        """Return the place of the object."""
        return f"s3://{self.bucket}/{self.key}"
