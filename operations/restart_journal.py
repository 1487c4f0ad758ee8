"""The journal of a cluster's rolling restart: an object in the log bucket, where nodes cannot write it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from botocore.exceptions import ClientError

from operations.aws import Aws
from operations.aws_errors import AGAIN, MISSING, error_code, translated
from operations.rolling_restart import RestartJournal
from sizing.problem import OperationFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class S3RestartJournal:
    """The place of one cluster's journal. An SSM parameter would be too small for the homes of all regions."""

    aws: Aws
    bucket: str
    cluster_id: str

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return f"restarts/{self.cluster_id}.json"

    def read(self) -> RestartJournal | None:
        """Return the journal of the restart that was interrupted; None where none was. Raises OperationFailed."""
        with translated(f"could not read {self.url}", AGAIN):
            try:
                body = self.aws.s3.get_object(Bucket=self.bucket, Key=self.key)["Body"].read()
            except ClientError as error:
                if error_code(error) not in MISSING:
                    raise
                return None
        try:
            return RestartJournal(**json.loads(body))
        except (ValueError, TypeError) as error:
            raise OperationFailed.of(
                where=self.url,
                what="is not the journal of a restart",
                why=str(error),
                fix="if no restart was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, journal: RestartJournal) -> None:
        """Replace any other journal with this one. Raises OperationFailed."""
        with translated(f"could not write {self.url}", AGAIN):
            self.aws.s3.put_object(Bucket=self.bucket, Key=self.key, Body=json.dumps(asdict(journal)).encode())

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        with translated(f"could not delete {self.url}", AGAIN):
            self.aws.s3.delete_object(Bucket=self.bucket, Key=self.key)

    @property
    def url(self) -> str:
        """Return the place of the object."""
        return f"s3://{self.bucket}/{self.key}"
