"""The journals of the operations on one cluster's HBase, and what each operation does about another's journal.

An operation that is killed half-way continues from its journal: a JSON object in the log bucket, where no node can
write it. A journal is decoded with its type, so one that a person or another version has written is refused.

Three operations have a journal. What one of them does when another was interrupted:

| | restart interrupted | heal interrupted | table change interrupted |
|---|---|---|---|
| restart | continues | takes its place | is refused: first `warmbase tables` |
| heal | moves regions; the balancer stays off | continues | is refused: first `warmbase tables` |
| tables | changes tables | changes tables | undoes or finishes that change first |
| compact | is refused | is refused | is refused |

If the balancer was on before, whichever of restart and heal ends last switches it on again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from warmbase.configurations.launch import Launch
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, suppress_codes, translated
from warmbase.operations.cluster.hbase_control import Families, HBaseState


class OperationJournal(Struct, frozen=True):
    """The journal of an operation: what is interrupted, and the command that continues it."""

    OPERATION: ClassVar[str]
    COMMAND: ClassVar[str]

    @property
    def command(self) -> str:
        """Return the command with the options that continue it."""
        return self.COMMAND


class RestartJournal(OperationJournal, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cluster before the restart: start time and hit ratio of each server, and the server of each region.

    A server whose node published no reads has no hit ratio. `available` is true if regions move away for the restart.
    """

    balancer_was_on: bool
    starts: Mapping[str, int]
    hit_ratios: Mapping[str, float]
    homes: Mapping[str, str]
    available: bool = False
    OPERATION: ClassVar[str] = "restart"
    COMMAND: ClassVar[str] = "warmbase restart ENV --rolling"

    @property
    def command(self) -> str:
        """Return the command with its option: a restart of one kind does not continue one of the other."""
        return f"{self.COMMAND}{' --available' if self.available else ''}"

    def restarted(self, server: str, state: HBaseState) -> bool:
        """Return whether that server is back from the restart."""
        return server in state.servers and state.servers[server] != self.starts.get(server)

    def finished(self, server: str, state: HBaseState) -> bool:
        """Return whether that server is back, with all its regions that exist."""
        regions = [name for name, home in self.homes.items() if home == server and name in state.regions]
        return self.restarted(server, state) and all(state.homes.get(name) == server for name in regions)


class HealJournal(OperationJournal, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record of whether the balancer was on before the moves, until the heal has ended."""

    balancer_was_on: bool
    OPERATION: ClassVar[str] = "heal"
    COMMAND: ClassVar[str] = "warmbase heal ENV"


class TableChange(OperationJournal, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    OPERATION: ClassVar[str] = "table's change"
    COMMAND: ClassVar[str] = "warmbase tables ENV"


T = TypeVar("T", bound=OperationJournal)


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
        self._s3, self._type = aws.s3, of
        self._bucket, self._key = bucket, f"{folder}/{cluster_id}.json"
        self.url = f"s3://{bucket}/{self._key}"

    def body(self) -> bytes | None:
        """Return the object as it is; None where there is none. Raises botocore's errors."""
        with suppress_codes():
            return self._s3.get_object(Bucket=self._bucket, Key=self._key)["Body"].read()
        return None

    def command(self) -> str | None:
        """Return the command that ends the interrupted operation; None where none was. Raises botocore's errors."""
        body = self.body()
        if body is None:
            return None
        command = self._type.COMMAND
        # If a person has written the object, that command says what is wrong with it.
        with suppress(msgspec.DecodeError):
            command = msgspec.json.decode(body, type=self._type).command
        return command

    def read(self) -> T | None:
        """Return the journal; None where there is none. Raises OperationFailed, also for one of another type."""
        with translated(f"could not read {self.url}", AGAIN):
            body = self.body()
        if body is None:
            return None
        try:
            return msgspec.json.decode(body, type=self._type)
        except msgspec.DecodeError as error:
            raise OperationFailed.of(
                where=self.url,
                what=f"is not the journal of a {self._type.OPERATION}",
                why=str(error),
                fix=f"if no {self._type.OPERATION} was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, journal: T) -> None:
        """Replace any other journal with this one. Raises OperationFailed."""
        with translated(f"could not write {self.url}", AGAIN):
            self._s3.put_object(Bucket=self._bucket, Key=self._key, Body=msgspec.json.encode(journal))

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        with translated(f"could not delete {self.url}", AGAIN):
            self._s3.delete_object(Bucket=self._bucket, Key=self._key)


def s3_journals(
    aws: Aws, log_bucket: str, cluster_id: str
) -> tuple[S3Journal[RestartJournal], S3Journal[HealJournal], S3Journal[TableChange]]:
    """Return the three journals of a cluster, which are in the log bucket of its environment."""
    return (
        S3Journal(aws, log_bucket, "restarts", cluster_id, RestartJournal),
        S3Journal(aws, log_bucket, "heals", cluster_id, HealJournal),
        S3Journal(aws, log_bucket, "tables", cluster_id, TableChange),
    )


class Journals(Struct, frozen=True, kw_only=True):
    """The journals of one cluster."""

    restart: Journal[RestartJournal]
    heal: Journal[HealJournal]
    table: Journal[TableChange]

    @classmethod
    def of(cls, aws: Aws, log_bucket: str, cluster_id: str) -> Self:
        """Return the journals of a cluster, which are in the log bucket of its environment."""
        restart, heal, table = s3_journals(aws, log_bucket, cluster_id)
        return cls(restart=restart, heal=heal, table=table)

    def note_balancer(self, state: HBaseState) -> None:
        """Record that the balancer is to be on in the end, because somebody has switched it on meanwhile."""
        if not state.balancer_is_on:
            return
        restart, heal = self.restart.read(), self.heal.read()
        if restart is not None and not restart.balancer_was_on:
            self.restart.write(replace(restart, balancer_was_on=True))
        if heal is not None and not heal.balancer_was_on:
            self.heal.write(replace(heal, balancer_was_on=True))

    def refuse_interrupted(self) -> None:
        """Raise Refused while any of the three operations is interrupted."""
        self.refuse_interrupted_table()
        for journal in (self.restart.read(), self.heal.read()):
            if journal is not None:
                raise Refused.of(
                    where=f"a {journal.OPERATION}",
                    what="was interrupted",
                    why="regions may be away from the caches that hold their blocks",
                    fix=f"finish it first: {journal.command}; or end it where it is: {journal.COMMAND} --abandon",
                )

    def refuse_interrupted_table(self) -> None:
        """Raise Refused while a region may not open with the attributes of its table: then none is moved or closed."""
        change = self.table.read()
        if change is not None:
            raise Refused.of(
                where=change.table,
                what="has a change that was interrupted",
                why="a region of it may be closed, and may not open with its new attributes",
                fix=f"undo or finish that change first: {change.COMMAND}",
            )


def unfinished_commands(aws: Aws, launch: Launch, cluster_id: str) -> tuple[str, ...]:
    """Return the commands that run now, or that were interrupted and should run again. Raises botocore's errors."""
    environment, name = launch.environment, launch.plan.cluster
    cluster = "" if name == environment.active.name else f" --cluster {name}"
    bucket = environment.in_account(environment.log_bucket, aws.account)
    commands = [journal.command() for journal in s3_journals(aws, bucket, cluster_id)]
    return tuple(f"{command.replace('ENV', environment.name)}{cluster}" for command in commands if command)
