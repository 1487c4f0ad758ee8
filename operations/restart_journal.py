"""The journal of a cluster's rolling restart, in the log bucket."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from operations.aws import Aws
from operations.rolling_restart import RestartJournal
from operations.s3_journal import S3Journal
from sizing.problem import OperationFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class S3RestartJournal:
    """The place of one cluster's journal."""

    aws: Aws
    bucket: str
    cluster_id: str

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return f"restarts/{self.cluster_id}.json"

    def read(self) -> RestartJournal | None:
        """Return the journal of the restart that was interrupted; None where none was. Raises OperationFailed."""
        try:
            document = self._object.read()
            return None if document is None else RestartJournal(**document)
        except (ValueError, TypeError) as error:
            raise OperationFailed.of(
                where=self._object.url,
                what="is not the journal of a restart",
                why=str(error),
                fix="if no restart was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, journal: RestartJournal) -> None:
        """Replace any other journal with this one. Raises OperationFailed."""
        self._object.write(asdict(journal))

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        self._object.clear()

    @property
    def _object(self) -> S3Journal:
        return S3Journal(aws=self.aws, bucket=self.bucket, key=self.key)
