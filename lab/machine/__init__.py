"""The machine that runs the lab: its cores, memory, disk and idle processor time; and disks and memories with limits.

A limited disk or memory is what a cluster's nodes have, in miniature. Linux states the resources in /proc. Elsewhere,
what cannot be read is None, and a run says so instead of guessing.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from warmbase.ground.errors import Problem

PROC: Final = Path("/proc")
KIB: Final = 1 << 10
GIB: Final = 1 << 30
LEAST_CORES: Final = 2
"""The minimum of cores: on one core, the lab would measure only processor time."""
IDLE_FIELDS: Final = slice(3, 5)
"""The fields of the cpu line of /proc/stat (proc(5)) for idle time and for waiting for a disk."""
IO_WAIT_FIELDS: Final = slice(4, 5)
"""The field for waiting for a disk alone."""
ALL_FIELDS: Final = slice(0, 8)
"""The fields of all time, without guest time, which user time already includes."""


class MachineMemory(Struct, frozen=True, kw_only=True):
    """The machine's memory; what is available is None where the system does not report it."""

    total_bytes: int
    available_bytes: int | None


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def kernel() -> str:
    """Return its name and release, such as Linux 6.1.0."""
    return f"{platform.system()} {platform.release()}"


def memory(proc: Path = PROC) -> MachineMemory:
    """Return the machine's memory; page cache that can be dropped counts as available."""
    rows = (line.split() for line in _text(proc / "meminfo").splitlines())
    fields = {row[0].rstrip(":"): int(row[1]) * KIB for row in rows}
    if "MemTotal" in fields:
        return MachineMemory(total_bytes=fields["MemTotal"], available_bytes=fields.get("MemAvailable"))
    return MachineMemory(total_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), available_bytes=None)


def free_disk_bytes(path: Path) -> int:
    """Return the free bytes on the file system of a path, which need not exist yet."""
    there = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    return shutil.disk_usage(there).free


class IdleCpu(Struct, kw_only=True, dict=True):
    """Samples how much of the machine's processor time is idle; waiting for a disk counts as idle.

    With `IO_WAIT_FIELDS` it samples only the time of waiting for a disk.
    """

    proc: Path = PROC
    counted: slice = IDLE_FIELDS

    def __post_init__(self) -> None:
        """Begin to count."""
        self._last = _counted_and_all(self.proc, self.counted)

    def fraction(self) -> float | None:
        """Return the idle share since the last call, from 0 to 1; None outside Linux, or where no time has passed."""
        before, self._last = self._last, _counted_and_all(self.proc, self.counted)
        if before is None or self._last is None:
            return None
        idle, all_ = (now - earlier for now, earlier in zip(self._last, before, strict=True))
        return min(max(idle / all_, 0.0), 1.0) if all_ > 0 else None


class OwnCpu(Struct, kw_only=True, dict=True):
    """Samples the processor time of this process and of its children, such as all processes of a lab."""

    proc: Path = PROC

    def __post_init__(self) -> None:
        """Begin to count."""
        self._last = self._now()

    def cores(self) -> float:
        """Return the mean number of cores that they have used since the last call."""
        (seconds, used), self._last = self._last, self._now()
        return (self._last[1] - used) / (self._last[0] - seconds)

    def _now(self) -> tuple[float, float]:
        """Return the time, and the processor time until then; a child that has ended counts as this process's."""
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        # The fields that follow a process's name, which may have blanks; proc(5) numbers them from 3. They contain
        # the parent's id, and the processor time of a process and of its ended children, until the process ends.
        processes = [_text(file).rpartition(")")[2].split() for file in self.proc.glob("[0-9]*/stat")]
        children = [fields for fields in processes if fields and fields[1] == str(os.getpid())]
        ticks = sum(int(word) for fields in children for word in fields[11:15])
        return time.monotonic(), own + ticks / os.sysconf("SC_CLK_TCK")


def needs(memory_bytes: int, disk_bytes: int, directory: Path) -> tuple[Problem, ...]:
    """Return everything that this machine lacks for a run with so much memory, and so much disk below `directory`."""
    problems, machine_memory, free = list[Problem](), memory(), free_disk_bytes(directory)
    available = machine_memory.total_bytes if machine_memory.available_bytes is None else machine_memory.available_bytes
    if cores() < LEAST_CORES:
        what = f"{cores()} processor core; the lab needs {LEAST_CORES}"
        why = "HBase, the S3 server and the load generator share it and distort each other's figures"
        fix = "run on a machine with at least 2 cores, preferably 4"
        problems.append(Problem(where="this machine", what=what, why=why, fix=fix))
    if available < memory_bytes:
        what = f"{_gib(available)} of memory available; this run needs {_gib(memory_bytes)}"
        why = "measurements are worthless on a machine that swaps or kills processes for memory"
        fix = f"end other programs, or choose a smaller run; the machine has {_gib(machine_memory.total_bytes)}"
        problems.append(Problem(where="this machine", what=what, why=why, fix=fix))
    if free < disk_bytes:
        what = f"{_gib(free)} free; this run needs {_gib(disk_bytes)}"
        why = "the lab stores its tables, its cache and its logs there"
        fix = "free some space, or choose another directory"
        problems.append(Problem(where=str(directory), what=what, why=why, fix=fix))
    return tuple(problems)


def _gib(amount_bytes: int) -> str:
    return f"{amount_bytes / GIB:.1f} GiB"


def _counted_and_all(proc: Path, counted: slice) -> tuple[int, int] | None:
    fields = _text(proc / "stat").partition("\n")[0].split()[1:]
    ticks = [int(field) for field in fields]
    return (sum(ticks[counted]), sum(ticks[ALL_FIELDS])) if ticks else None


def _text(file: Path) -> str:
    """Return the text of a file of /proc; empty where it does not exist, as after a process ends."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except (OSError, ProcessLookupError):
        return ""
