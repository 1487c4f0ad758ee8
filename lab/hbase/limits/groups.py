"""Control groups that limit the memory and the disk speed of the processes in them.

A JVM's limit is more than its heap. Charged to the group are heap (all of it: ZGC touches it early), metaspace and
code (150-250 MiB for a RegionServer), direct buffers, thread stacks, what it has in a tmpfs, and every page of the
page cache that it was the first to touch, mapped files among them. The page cache gives way first, so a limit of
heap + 0.5 GiB leaves little of it, which is what a cold cache needs; where the rest alone is more than the limit the
kernel kills the process (OOM), and its log does not say so.

A page stays charged to the group that first touched it. A file that another process has written or read is therefore
served from memory in spite of the limit: write it from within the group. What fits the limit is still cached: of random
reads of 1,500 MiB under 150 MiB one in ten was, and 138 MiB/s were read over a disk of 125 MiB/s. `Volume.traffic` has
what the disk gave.

The throttle is on the device, each direction by itself, while gp3 has one budget for both: reads and writes together
can be twice what a volume gives. It lends a tenth of a second at most (6 MiB early at 125 MiB/s, made up for within
0.1 s) and saves up nothing while idle. It adds waiting, not latency: below the limit a read takes what this machine's
disk takes, often 0.1 ms where gp3 takes about 1 ms.

v1 counts a buffered write, flushed by fsync too, as the kernel's own and not as the group's: such writes (a filling
BucketCache, HFiles, a WAL) are not slowed, only direct ones are. To throttle the root group as well was tried: the
writer then met its memory limit with pages that could not be written, and the kernel killed it. v2 attributes such
writes to the group, on file systems that can (ext4, xfs, btrfs).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct, field

from lab.hbase.limits.layout import (
    PREFIX,
    GroupLayout,
    alone,
    layout_of,
    pass_on_controllers,
    removed,
    take_back_controllers,
    write,
    written,
)
from lab.hbase.limits.volume import LimitedVolume
from sizing.problem import OperationFailed

# judgement: killed processes are reaped within this time, even with gigabytes of heap to release.
EMPTY_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.1
V1_FILES: Final = {
    "read_bytes_per_second": "blkio.throttle.read_bps_device",
    "write_bytes_per_second": "blkio.throttle.write_bps_device",
    "read_iops": "blkio.throttle.read_iops_device",
    "write_iops": "blkio.throttle.write_iops_device",
}
V2_KEYS: Final = {
    "read_bytes_per_second": "rbps",
    "write_bytes_per_second": "wbps",
    "read_iops": "riops",
    "write_iops": "wiops",
}


class DiskLimits(Struct, frozen=True, kw_only=True):
    """The disk rates that a group may use of a volume; None sets no limit."""

    read_bytes_per_second: int | None = None
    write_bytes_per_second: int | None = None
    read_iops: int | None = None
    write_iops: int | None = None

    @classmethod
    def of_volume(cls, bytes_per_second: int, iops: int) -> DiskLimits:
        """Return limits that are the same in both directions, as EBS states throughput and IOPS."""
        return cls(
            read_bytes_per_second=bytes_per_second,
            write_bytes_per_second=bytes_per_second,
            read_iops=iops,
            write_iops=iops,
        )


def _layout() -> GroupLayout:
    layout = layout_of()
    if isinstance(layout, str):
        raise OperationFailed.of(
            where="control groups",
            what="this machine offers none with limits",
            why=layout,
            fix="run as root, or in a container with --privileged",
        )
    return layout


class ControlGroups(Struct, frozen=True, kw_only=True):
    """Control groups named `warmbase-lab-<id>-<process id of its owner>` while the `with` lasts, at first unlimited.

    A process joins by writing its id into `cgroup.procs` of each of `paths`, before it takes memory. On leaving
    nothing is killed: the groups are removed once they are empty, and stay when they do not become so in time. What
    stayed, or was left by a killed owner, is removed before the next one is made, if it is empty by then. Raises
    OperationFailed where `unavailable` has a reason.
    """

    id: str
    layout: GroupLayout = field(default_factory=_layout)
    owner: int = field(default_factory=os.getpid)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return its directories: memory and disk (v1), or one (v2)."""
        return tuple(parent / f"{PREFIX}{self.id}-{self.owner}" for parent in self.layout.parents)

    @property
    def processes(self) -> frozenset[int]:
        """Return the ids of the processes in it."""
        return frozenset(int(id_) for path in self.paths for id_ in written(path / "cgroup.procs"))

    @property
    def memory_bytes(self) -> int:
        """Return the memory that is charged to the group now, page cache included."""
        name = "memory.usage_in_bytes" if self.layout.version == 1 else "memory.current"
        return int((self.paths[0] / name).read_text(encoding="ascii"))

    @property
    def anonymous_bytes(self) -> int:
        """Return the memory that no limit can reclaim: heap (all of ZGC's is a memfd), stacks and tmpfs files."""
        statistics = self._statistics
        return statistics["rss" if self.layout.version == 1 else "anon"] + statistics["shmem"]

    @property
    def page_cache_bytes(self) -> int:
        """Return the pages of files on a disk. The kernel includes tmpfs pages in its figure; this one does not."""
        statistics = self._statistics
        return statistics["cache" if self.layout.version == 1 else "file"] - statistics["shmem"]

    @property
    def _statistics(self) -> dict[str, int]:
        rows = (line.split() for line in (self.paths[0] / "memory.stat").read_text(encoding="ascii").splitlines())
        return {name: int(value) for name, value in rows}

    def limit_memory(self, limit_bytes: int) -> None:
        """Limit the group to this much memory, without swap; the module lists what is charged.

        May be changed at run time: a lower limit drops page cache, and fails where that is not enough.
        """
        if self.layout.version == 1:
            write(self.paths[0] / "memory.limit_in_bytes", str(limit_bytes))
            write(self.paths[0] / "memory.swappiness", "0")
            return
        write(self.paths[0] / "memory.max", str(limit_bytes))
        with suppress(OperationFailed):  # missing in a kernel without swap
            write(self.paths[0] / "memory.swap.max", "0")

    def limit_disk(self, volume: LimitedVolume, limits: DiskLimits) -> None:
        """Limit the group to these rates on this volume at once, replacing an earlier limit."""
        if self.layout.version == 1:
            for name, file in V1_FILES.items():
                write(self.paths[-1] / file, f"{volume.numbers} {getattr(limits, name) or 0}")
            return
        words = (f"{key}={getattr(limits, name) or 'max'}" for name, key in V2_KEYS.items())
        write(self.paths[-1] / "io.max", f"{volume.numbers} {' '.join(words)}")

    def __enter__(self) -> Self:
        """Create the group. Raises OperationFailed without permission, or when processes of another run are in it."""
        if self.processes:
            raise OperationFailed.of(
                where=str(self.paths[0]),
                what=f"has processes {sorted(self.processes)}",
                why="an earlier run left them",
                fix="end these processes, and run the same command again",
            )
        self._remove()
        try:
            with alone(self.layout):
                _remove_abandoned(self.layout)
                if self.layout.version > 1:
                    pass_on_controllers(self.layout)
                for path in self.paths:
                    path.mkdir()
        except OSError as error:
            self._remove()
            raise OperationFailed.of(
                where=str(self.paths[0]),
                what="the control group could not be made",
                why=str(error),
                fix="run as root, or in a container with --privileged",
            ) from None
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the group once it is empty."""
        _waited(lambda: not self.processes, EMPTY_SECONDS)
        self._remove()

    def _remove(self) -> None:
        for path in self.paths:
            # The kernel counts an ended process for a moment longer than it lists it.
            _waited(partial(removed, path), 0 if self.processes else EMPTY_SECONDS)
        if self.layout.version > 1:
            with alone(self.layout):
                take_back_controllers(self.layout)


def unavailable(proc: Path | None = None) -> str | None:
    """Return why this machine cannot limit a group, found by creating one; None when it can."""
    layout = layout_of(proc) if proc else layout_of()
    if isinstance(layout, str):
        return layout
    try:
        with ControlGroups(id="try", layout=layout) as tried:
            if not all((path / "cgroup.procs").exists() for path in tried.paths):
                return f"{layout.memory} holds no control groups"
    except OperationFailed as error:
        return f"{error.summary}; {error.problems[0].fix}"
    return None


def remove_abandoned() -> None:
    """Remove the groups whose owner has ended, if control groups exist here."""
    layout = layout_of()
    if isinstance(layout, str):
        return
    with suppress(OSError), alone(layout):
        _remove_abandoned(layout)


def _remove_abandoned(layout: GroupLayout) -> None:
    """Remove the groups whose owner has ended; the kernel keeps a group that still has processes."""
    for parent in layout.parents:
        for group in parent.glob(f"{PREFIX}*-*"):
            owner = group.name.rpartition("-")[2]
            if owner.isdecimal() and not Path("/proc", owner).exists():
                removed(group)


def _waited(condition: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (so := condition()) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return so
