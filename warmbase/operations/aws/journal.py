"""The journals of operations on one cluster, and the commands that have not finished their work on it.

An operation that is killed half-way continues from its journal: a JSON object in the log bucket, where no node can
write it. A journal is decoded with its type, so one that a person or another version has written is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, suppress_codes, translated

T = TypeVar("T", bound=Struct)

COMMANDS: Final[Mapping[str, str]] = {
    "restarts": "warmbase restart {} --rolling",
    "heals": "warmbase heal {}",
    "tables": "warmbase tables {}",
}
"""The command that keeps its journal in each folder of the log bucket; run again, it continues where it stopped."""
OPERATIONS: Final[Mapping[str, str]] = {"restarts": "restart", "heals": "heal", "tables": "table's change"}


class Journal(Protocol[T]):
    """The one place where an operation keeps its journal until it has ended."""

    def read(self) -> T | None:
        """Return the journal of the operation that was interrupted; None where none was. Raises OperationFailed."""

    def write(self, journal: T) -> None:
        """Replace any other journal with this one. Raises OperationFailed."""

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""


class S3Journal(Generic[T]):
    """The journal of a cluster's operation in the log bucket; an SSM parameter would be too small for all regions."""

    def __init__(self, aws: Aws, bucket: str, folder: str, cluster_id: str, of: type[T]) -> None:
        self._s3, self._operation, self._type = aws.s3, OPERATIONS[folder], of
        self._bucket, self._key = bucket, f"{folder}/{cluster_id}.json"
        self.url = f"s3://{bucket}/{self._key}"

    def read(self) -> T | None:
        """Return the journal; None where there is none. Raises OperationFailed, also for one of another type."""
        with translated(f"could not read {self.url}", AGAIN):
            body = None
            with suppress_codes():
                body = self._s3.get_object(Bucket=self._bucket, Key=self._key)["Body"].read()
        if body is None:
            return None
        try:
            return msgspec.json.decode(body, type=self._type)
        except msgspec.DecodeError as error:
            raise OperationFailed.of(
                where=self.url,
                what=f"is not the journal of a {self._operation}",
                why=str(error),
                fix=f"if no {self._operation} was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, journal: T) -> None:
        """Replace any other journal with this one. Raises OperationFailed."""
        with translated(f"could not write {self.url}", AGAIN):
            self._s3.put_object(Bucket=self._bucket, Key=self._key, Body=msgspec.json.encode(journal))

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        with translated(f"could not delete {self.url}", AGAIN):
            self._s3.delete_object(Bucket=self._bucket, Key=self._key)


class _RestartOption(Struct, frozen=True):
    available: bool = False


def unfinished_commands(aws: Aws, launch: Launch, cluster_id: str) -> tuple[str, ...]:
    """Return the commands that run now, or that were interrupted and should run again. Raises botocore's errors."""
    environment = launch.environment
    bucket, name = environment.in_account(environment.log_bucket, aws.account), launch.plan.cluster
    cluster = "" if name == environment.active.name else f" --cluster {name}"
    commands = []
    for folder, command in COMMANDS.items():
        body = None
        with suppress_codes():
            body = aws.s3.get_object(Bucket=bucket, Key=f"{folder}/{cluster_id}.json")["Body"].read()
        if body is not None:
            option = ""
            # A restart that moves regions away: the command refuses to continue the other kind.
            with suppress(msgspec.DecodeError):
                option = " --available" if msgspec.json.decode(body, type=_RestartOption).available else ""
            commands.append(f"{command.format(environment.name)}{option}{cluster}")
    return tuple(commands)
