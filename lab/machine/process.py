"""A process of the lab: in a group of its own, its output in a file, ended by its id, gone when its owner is gone."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from warmbase.ground.errors import OperationFailed

PR_SET_PDEATHSIG: Final = 1  # prctl(2), Linux
POLL_SECONDS: Final = 0.05
KILL_SECONDS: Final = 10.0
INHERITED_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""The variables that a lab process inherits; HBase logs its whole environment when it starts."""


class Command(Struct, frozen=True, kw_only=True):
    """A command to run, whose output goes to `output`. With `stays`, it outlives the process that starts it."""

    name: str
    arguments: Sequence[str]
    directory: Path
    output: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    groups: Sequence[Path] = ()
    """The control groups (their `cgroup.procs`) that it joins before it starts."""
    stays: bool = False


class RunningProcess(Struct, frozen=True):
    """A process that was started here."""

    command: Command
    process: subprocess.Popen[bytes]

    @property
    def id(self) -> int:
        """Return the process id, which is also the id of its group."""
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        """Return whether it has not ended."""
        return self.process.poll() is None

    def stop(self, seconds: float) -> float:
        """Asks it to end, and kills its whole group after that; returns how long it took."""
        return stop_together([self], seconds)

    def kill_unless_ended(self, seconds: float) -> None:
        """Wait for its end, and kill its whole group after that time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends its whole group at once, as `kill -9` does. Raises OperationFailed for one that the kernel holds."""
        _signal(self.id, signal.SIGKILL)
        try:
            self.process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            raise OperationFailed.of(
                where=self.command.name,
                what=f"process {self.id} runs {KILL_SECONDS:.0f} s after kill -9",
                why="the kernel cannot end a process that waits for a disk",
                fix="wait until the disk answers, or restart the machine",
            ) from None

    def wait_for_end(self, seconds: float) -> None:
        """Until it has ended by itself. Raises OperationFailed after that time, when it is killed."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise OperationFailed.of(
                where=self.command.name,
                what=f"did not end within {seconds:.0f} s, and was killed",
                why="",
                fix=f"read {self.command.output}",
            ) from None

    def refuse_end(self, what: str) -> None:
        """Raise OperationFailed if the process has ended before what somebody waits for."""
        if not self.is_alive:
            raise OperationFailed.of(
                where=self.command.name,
                what=f"ended with {self.process.returncode} before {what}",
                why="",
                fix=f"read {self.command.output}",
            )

    def wait_until(self, ready: Callable[[], bool], seconds: float, what: str) -> float:
        """Looks until `ready`; returns how long it took. Raises OperationFailed when it ends or time is up."""
        began = time.monotonic()
        while not ready():
            self.refuse_end(what)
            if time.monotonic() - began > seconds:
                raise OperationFailed.of(
                    where=self.command.name,
                    what=f"no {what} in {seconds:.0f} s",
                    why="",
                    fix=f"read {self.command.output}",
                )
            time.sleep(POLL_SECONDS)
        return time.monotonic() - began


def start(command: Command) -> RunningProcess:
    """Starts it in a session of its own. Raises OperationFailed when it cannot be started."""
    command.output.parent.mkdir(parents=True, exist_ok=True)
    variables = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    owner = os.getpid()
    try:
        with command.output.open("ab") as output:
            process = subprocess.Popen(
                list(command.arguments),
                cwd=command.directory,
                env=variables | dict(command.variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # It runs between fork and exec, where few calls are safe: it only opens files and makes a system call.
                preexec_fn=lambda: _before_exec(command, owner),  # noqa: PLW1509
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise OperationFailed.of(
            where=command.name, what="could not be started", why=str(error), fix="run `warmbase lab setup`"
        ) from None
    return RunningProcess(command, process)


def stop_together(processes: Sequence[RunningProcess], seconds: float) -> float:
    """Ask all of them to end before waiting for the first, and kill those that do not; return the seconds."""
    began = time.monotonic()
    for process in processes:
        if process.is_alive:
            _signal(process.id, signal.SIGTERM)
    for process in processes:
        process.kill_unless_ended(max(0.0, seconds - (time.monotonic() - began)))
    return time.monotonic() - began


def began(process_id: int) -> int:
    """When a process began, in the kernel's clock; 0 where there is none, or only what is left of it.

    Process ids are reused; together with this time, an id is unique.
    """
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (OSError, ProcessLookupError):
        return 0
    return 0 if fields[0] == "Z" else int(fields[19])


def _before_exec(command: Command, owner: int) -> None:
    for group in command.groups:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    if not command.stays:
        die_with(owner)


def die_with(owner: int) -> None:
    """Makes this process, just forked, end with its owner: at once on Linux; elsewhere what has a pipe sees its end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:
        os._exit(1)


def _signal(process_id: int, number: signal.Signals) -> None:
    try:
        os.killpg(process_id, number)
    except ProcessLookupError:
        return
