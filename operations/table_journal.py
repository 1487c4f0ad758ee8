"""The change of one table, and its journal in the log bucket until every region is open with the new attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from msgspec import Struct, field, to_builtins

from operations.aws import Aws
from operations.s3_journal import S3Journal
from sizing.problem import OperationFailed

Families: TypeAlias = Mapping[str, Mapping[str, str]]
"""Attributes of families, by the name of the family."""


class TableChange(Struct, frozen=True, kw_only=True):
    """The attributes of one table that differ from the plan: their values before the change, and those of the plan.

    `hit_ratios` are those of each server before the change. `passed` is true once the first region has passed its gate,
    and `reopened` once all regions were reopened.
    """

    table: str
    before: Families
    wanted: Families
    hit_ratios: Mapping[str, float] = field(default_factory=dict)
    passed: bool = False
    reopened: bool = False


class TableJournal(Protocol):
    """The record of the change that is being made, until it has ended."""

    def read(self) -> TableChange | None:
        """Return the change that was interrupted; None if none was."""

    def write(self, change: TableChange) -> None:
        """Keep this in place of any other."""

    def clear(self) -> None:
        """Forget it."""


class S3TableJournal(Struct, frozen=True, kw_only=True):
    """The place of one cluster's journal."""

    aws: Aws
    bucket: str
    cluster_id: str

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return f"tables/{self.cluster_id}.json"

    def read(self) -> TableChange | None:
        """Return the change that was interrupted; None if none was. Raises OperationFailed."""
        try:
            document = self._object.read()
            return None if document is None else TableChange(**document)
        except (ValueError, TypeError) as error:
            raise OperationFailed.of(
                where=self._object.url,
                what="is not the journal of a table's change",
                why=str(error),
                fix="if no change was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, change: TableChange) -> None:
        """Keep this in place of any other. Raises OperationFailed."""
        self._object.write(to_builtins(change))

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        self._object.clear()

    @property
    def _object(self) -> S3Journal:
        return S3Journal(aws=self.aws, bucket=self.bucket, key=self.key)
