"""The lock of an environment: of all commands that change it, one runs at a time.

The lock is an SSM parameter that is created only if it does not exist, and never written again. It names the command
that holds it, and every call that changes something first reads it again. It does not expire, because only you can tell
whether that command is still working; a second parameter says when the command was last alive.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct
from msgspec.structs import asdict, fields

from warmbase.environments.environment import Environment
from warmbase.environments.names import lock_parameter, renewal_parameter
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws, is_reading
from warmbase.operations.aws.errors import suppress_codes, translated
from warmbase.operations.aws.progress import turns

RENEWAL_SECONDS: Final = 60.0  # judgement: recent enough to show that a command is alive, and one call a minute
# A parameter should be created again only 30 s after its deletion (SSM API Reference, DeleteParameter).
VISIBLE_SECONDS: Final = 60.0
FIRST_POLL_SECONDS: Final = 0.2
POLL_SECONDS: Final = 5.0


class LockContent(Struct, frozen=True, kw_only=True):
    """The holder of a lock: `owner` is the ARN of its credentials; `since` is in ISO 8601."""

    token: str
    owner: str
    host: str
    pid: str
    command: str
    since: str

    @classmethod
    def parse(cls, text: str) -> LockContent:
        """Return the content of the parameter. Text in any other form is also a lock, whose holder is unknown."""
        document: object = None
        with suppress(ValueError):
            document = json.loads(text)
        known = document if isinstance(document, dict) else {"token": text}
        return cls(**{field.name: str(known.get(field.name, "unknown")) for field in fields(cls)})

    def __str__(self) -> str:
        """Return the holder in one line."""
        return f"`{self.command}` of {self.owner}, process {self.pid} on {self.host}, since {self.since}"


class Lock(Struct, kw_only=True):
    """A lock that this process holds. Until it is released, the AWS clients ask it before each call."""

    aws: Aws
    environment: str
    content: LockContent
    renewed: float

    def __call__(self, operation: str) -> None:
        """Renew the lock now and then; before a change, make sure that it is still this command's."""
        if not is_reading(operation):
            self.check()
        elif time.monotonic() - self.renewed >= RENEWAL_SECONDS:
            self.renewed = time.monotonic()
            # Record the time at which the command was last alive. A failure to record it does not end the command.
            with suppress(ClientError, BotoCoreError, OperationFailed):
                now = current_lock(self.aws, self.environment)
                if now is not None and now.token == self.content.token:
                    text = json.dumps({"token": self.content.token, "renewed": _now()})
                    name = renewal_parameter(self.environment)
                    self.aws.lock_client.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)

    def check(self) -> None:
        """Raise Refused if another command holds the lock now, OperationFailed if that is unknown."""
        now = current_lock(self.aws, self.environment)
        if now is None or now.token != self.content.token:
            raise Refused.of(
                where=f"environment {self.environment}",
                what="is no longer locked by this command, which stops here",
                why=f"somebody removed its lock; {f'now it is held by {now}' if now else 'nobody holds it now'}",
                fix="wait until no other command changes the environment, then run the same command again: it skips"
                " what is already done",
            )


@contextmanager
def environment_lock(aws: Aws, environment: Environment, command: str) -> Iterator[Lock]:
    """Hold the lock of the environment, so that only this command can change it.

    Raises Refused where another command holds it, OperationFailed where AWS does not answer. A process that is killed
    leaves the lock behind. If the lock cannot be removed, or nobody knows whether it was created, the error says how to
    remove it.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may have no user
        user = str(os.getuid())
    content = LockContent(
        token=uuid.uuid4().hex[:16],
        owner=aws.caller,
        host=socket.gethostname(),
        pid=f"{os.getpid()} ({user})",
        command=f"warmbase {command}",
        since=_now(),
    )
    removal = f"once your credentials work, remove the lock: {_unlock(environment)} --token {content.token}"
    lock, before = Lock(aws=aws, environment=environment.name, content=content, renewed=time.monotonic()), aws.gate
    state = "may still be"
    try:
        # A signal or an outage may come when the parameter exists and nobody has read it yet.
        with translated(f"could not lock environment {environment.name}", "run the same command again"):
            _take(aws, environment, content)
        state, aws.gate = "is still", lock
        yield lock
    except BaseException as error:
        aws.gate = before
        try:
            remove_lock(aws, environment.name, content.token)
        except OperationFailed:
            error.add_note(f"environment {environment.name} {state} locked: {removal}")
        raise
    aws.gate = before
    try:
        removed = remove_lock(aws, environment.name, content.token)
    except OperationFailed as error:
        raise OperationFailed.of(
            where=f"environment {environment.name}",
            what="is still locked, although the command has finished its changes",
            why=f"{error.summary}\n{error.problems[0].why}",
            fix=removal,
        ) from error
    if not removed:
        lock.check()


def current_lock(aws: Aws, environment: str) -> LockContent | None:
    """Return the holder of the lock; None where nobody holds it. Raises OperationFailed where AWS does not answer."""
    what, fix = f"could not read the lock of environment {environment}", "run the same command again to continue"
    with translated(what, fix), suppress_codes():
        parameter = aws.lock_client.get_parameter(Name=lock_parameter(environment))["Parameter"]
        return LockContent.parse(parameter["Value"])
    return None


def holder_text(aws: Aws, environment: str, holder: LockContent) -> str:
    """Return the holder of the lock in one line, with its last renewal as far as it can be read."""
    with suppress(ClientError, BotoCoreError, ValueError, KeyError, TypeError):
        parameter = aws.lock_client.get_parameter(Name=renewal_parameter(environment))["Parameter"]
        renewal = json.loads(parameter["Value"])
        if renewal["token"] == holder.token:
            return f"{holder}, last renewed at {renewal['renewed']}"
    return str(holder)


def remove_lock(aws: Aws, environment: str, token: str) -> bool:
    """Remove the lock if it has this token, and return whether it had. Raises OperationFailed."""
    now = current_lock(aws, environment)
    if now is None or now.token != token:
        return False
    with translated(f"could not remove the lock of environment {environment}", "run warmbase unlock"):
        aws.lock_client.delete_parameter(Name=lock_parameter(environment))
    # The renewal means nothing without its lock, and often there is none.
    with suppress(ClientError, BotoCoreError):
        aws.lock_client.delete_parameter(Name=renewal_parameter(environment))
    return True


def _take(aws: Aws, environment: Environment, content: LockContent) -> None:
    """Create the parameter and wait until it can be read. Raises Refused if another command holds the lock."""
    for _ in turns(VISIBLE_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
        with suppress(aws.lock_client.exceptions.ParameterAlreadyExists):
            text = json.dumps(asdict(content))
            aws.lock_client.put_parameter(Name=lock_parameter(environment.name), Value=text, Type="String")
        holder = current_lock(aws, environment.name)
        if holder is not None and holder.token == content.token:
            return
        if holder is not None:
            raise Refused.of(
                where=f"environment {environment.name}",
                what="is being changed by another command",
                why=f"the lock is held by {holder_text(aws, environment.name, holder)}",
                fix=f"wait until that command has ended; if it was killed, remove its lock: {_unlock(environment)}",
            )
    raise OperationFailed.of(
        where=f"SSM parameter {lock_parameter(environment.name)}",
        what=f"could not be created within {VISIBLE_SECONDS:.0f} seconds",
        why="Systems Manager says that it exists, but does not return it",
        fix=f"run the same command again; if that does not help: {_unlock(environment)}",
    )


def _unlock(environment: Environment) -> str:
    return f"warmbase unlock {environment.argument}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
