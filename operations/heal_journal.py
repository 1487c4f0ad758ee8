"""The journal of a cluster's heal, in the log bucket: whether the balancer was on before it."""

from __future__ import annotations

from msgspec import Struct

from operations.aws import Aws
from operations.s3_journal import S3Journal
from sizing.problem import OperationFailed


class S3HealJournal(Struct, frozen=True, kw_only=True):
    """The place of one cluster's journal."""

    aws: Aws
    bucket: str
    cluster_id: str

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return f"heals/{self.cluster_id}.json"

    def read(self) -> bool | None:
        """Return whether the balancer was on; None where no heal was interrupted. Raises OperationFailed."""
        try:
            document = self._object.read()
            return None if document is None else bool(document["balancer_was_on"])
        except (ValueError, TypeError, KeyError) as error:
            raise OperationFailed.of(
                where=self._object.url,
                what="is not the journal of a heal",
                why=str(error),
                fix="if no heal was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, balancer_was_on: bool) -> None:  # noqa: FBT001 - the value of the journal
        """Keep this in place of any other. Raises OperationFailed."""
        self._object.write({"balancer_was_on": balancer_was_on})

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        self._object.clear()

    @property
    def _object(self) -> S3Journal:
        return S3Journal(aws=self.aws, bucket=self.bucket, key=self.key)
