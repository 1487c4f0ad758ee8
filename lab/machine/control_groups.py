"""Control groups that limit the memory and the disk speed of the processes in them.

cgroup v1 has a hierarchy for each controller, v2 one for all. A group is made below the one that this process is in, so
that limits already set on us still hold. In v2 a group that has processes cannot pass controllers on ("no internal
processes", cgroup-v2.rst), so it is the nearest one above that can; in a container the topmost it sees has processes,
and these are moved aside, into a group beside ours.

A JVM's limit is more than its heap. Charged to the group are heap (all of it: ZGC touches it early), metaspace and code
(150-250 MiB for a RegionServer), direct buffers, thread stacks, what it has in a tmpfs, and every page of the page
cache that it was the first to touch, mapped files among them. The page cache gives way first, so a limit of heap + 0.5
GiB leaves little of it, which is what a cold cache needs; where the rest alone is more than the limit the kernel kills
the process (OOM), and its log does not say so.

A page stays charged to the group that first touched it. A file that another process has written or read is therefore
served from memory in spite of the limit: write it from within the group. What fits the limit is still cached: of random
reads of 1,500 MiB under 150 MiB one in ten was, and 138 MiB/s were read over a disk of 125 MiB/s.
`LimitedVolume.traffic` has what the disk gave.

The throttle is on the device, each direction by itself, while gp3 has one budget for both: reads and writes together
can be twice what a volume gives. It lends a tenth of a second at most (6 MiB early at 125 MiB/s, made up for within 0.1
s) and saves up nothing while idle. It adds waiting, not latency: below the limit a read takes what this machine's disk
takes, often 0.1 ms where gp3 takes about 1 ms.

v1 counts a buffered write, flushed by fsync too, as the kernel's own and not as the group's: such writes (a filling
BucketCache, HFiles, a WAL) are not slowed, only direct ones are. To throttle the root group as well was tried: the
writer then met its memory limit with pages that could not be written, and the kernel killed it. v2 attributes such
writes to the group, on file systems that can (ext4, xfs, btrfs).

`limited_writes` limits the buffered writes to a volume, such as those of a DataNode, which no process's own group
counts in v1. The kernel writes pages back on its own account, so the limit is the topmost group's, for this device
alone. Otherwise gigabytes would wait in the page cache before a writer has to wait, so few dirty pages are allowed for
the device.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct, field

from lab.machine.volume import LimitedVolume
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import MIB

PREFIX: Final = "warmbase-lab-"
PROC: Final = Path("/proc/self")
CONTROLLERS: Final = frozenset({"memory", "io"})
"""The controllers of v2; v1 calls the second one blkio."""
MOVES: Final = 10
"""How often processes are moved aside, because new ones may start meanwhile."""
ASIDE: Final = f"{PREFIX}aside"
"""The group that, with v2 in a container, holds the processes of the group above ours in the meantime."""


class GroupLayout(Struct, frozen=True, kw_only=True):
    """The groups below which ours are made: for memory and for the disk; in v2 they are the same."""

    version: int
    memory: Path
    disk: Path
    crowded: bool = False
    """With v2, whether the group has processes, which must be moved aside first."""

    @property
    def parents(self) -> tuple[Path, ...]:
        """Return the parent groups, each once."""
        return (self.memory,) if self.memory == self.disk else (self.memory, self.disk)


def layout_of(proc: Path = PROC) -> GroupLayout | str:
    """Return where groups can be created according to `proc`, or else a sentence that says why they cannot."""
    try:
        mountinfo = (proc / "mountinfo").read_text(encoding="utf-8")
        cgroup = (proc / "cgroup").read_text(encoding="utf-8")
    except OSError as error:
        return f"control groups are Linux's, and {error.filename} cannot be read"
    # Root and mount point of each v1 controller, and our group in it; "" is the unified hierarchy (v2). proc(5) lists
    # the fields.
    mounts: dict[str, tuple[str, Path]] = {}
    for line in mountinfo.splitlines():
        mount, _, right = line.partition(" - ")
        root, mount_point = mount.split()[3:5]
        kind, _, options = right.split(maxsplit=2)
        if kind == "cgroup2":
            mounts.setdefault("", (root, Path(mount_point)))
        elif kind == "cgroup":
            mounts |= {name: (root, Path(mount_point)) for name in options.split(",") if name in {"memory", "blkio"}}
    rows = (line.split(":", 2) for line in cgroup.splitlines())
    own = {name: path for _, names, path in rows for name in names.split(",")}
    if "memory" in mounts and "blkio" in mounts:
        memory, disk = (_place(*mounts[name], own.get(name, "/")) for name in ("memory", "blkio"))
        return GroupLayout(version=1, memory=memory, disk=disk)
    if "" not in mounts:
        return "no control groups are mounted here (/sys/fs/cgroup)"
    root, top = mounts[""]
    mine = _place(root, top, own.get("", "/"))
    # Find the nearest group, from our own upwards, that can have children with both controllers.
    for group in (group for group in (mine, *mine.parents) if group == top or top in group.parents):
        if written(group / "cgroup.subtree_control") >= CONTROLLERS:
            return GroupLayout(version=2, memory=group, disk=group)
        if written(group / "cgroup.controllers") >= CONTROLLERS:
            # Only the real root has no type, and it may have processes.
            free = not (group / "cgroup.type").exists() or not written(group / "cgroup.procs")
            if free or group == top:
                return GroupLayout(version=2, memory=group, disk=group, crowded=not free)
    missing = " and ".join(sorted(CONTROLLERS - written(top / "cgroup.controllers"))) or "memory and io"
    return f"control groups at {top} have no controller for {missing}"


def _place(root: str, mount_point: Path, own: str) -> Path:
    """Return our group under the mount point, or the mount point where a container hides the group."""
    base = "" if root == "/" else root
    inside = own.removeprefix(base).lstrip("/") if own == root or own.startswith(f"{base}/") else ""
    return mount_point / inside if (mount_point / inside).is_dir() else mount_point


def written(file: Path) -> frozenset[str]:
    """Return the words of a group's file; none where the file does not exist."""
    try:
        return frozenset(file.read_text(encoding="ascii").split())
    except OSError:
        return frozenset()


@contextmanager
def alone(layout: GroupLayout) -> Iterator[None]:
    """Keep other labs from creating groups there, or taking controllers back, until the block ends."""
    directory = os.open(layout.memory, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def pass_on_controllers(layout: GroupLayout) -> None:
    """Give groups below it both controllers, after moving its own processes out of the way."""
    above = layout.memory
    lacking = CONTROLLERS - written(above / "cgroup.subtree_control")
    if not lacking:
        return
    if layout.crowded:
        (above / ASIDE).mkdir(exist_ok=True)
        _move(above, above / ASIDE)
    write(above / "cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(lacking)))


def take_back_controllers(layout: GroupLayout) -> None:
    """Restore the controllers as they were before our first group, once our last group is gone."""
    above, aside = layout.memory, layout.memory / ASIDE
    if not aside.exists() or any(group != aside for group in above.glob(f"{PREFIX}*")):
        return
    with suppress(OperationFailed):
        write(above / "cgroup.subtree_control", " ".join(f"-{name}" for name in sorted(CONTROLLERS)))
        _move(aside, above)
    removed(aside)


def _move(source: Path, target: Path) -> None:
    for _ in range(MOVES):
        if not (ids := written(source / "cgroup.procs")):
            return
        for id_ in ids:
            with suppress(ProcessLookupError):
                (target / "cgroup.procs").write_text(id_, encoding="ascii")


def removed(group: Path) -> bool:
    """Remove the group and return whether it is gone: the kernel refuses while it has processes."""
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def write(file: Path, text: str) -> None:
    """Write the text to a kernel file. Raises OperationFailed with the kernel's answer when it refuses."""
    try:
        file.write_text(text, encoding="ascii")
    except OSError as error:
        raise OperationFailed.of(
            where=str(file),
            what=f"does not take {text!r}",
            why=error.strerror or str(error),
            fix="run as root, or in a container with --privileged",
        ) from None


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
        return self._statistic("rss", "anon") + self._statistic("shmem", "shmem")

    @property
    def page_cache_bytes(self) -> int:
        """Return the pages of files on a disk. The kernel includes tmpfs pages in its figure; this one does not."""
        return self._statistic("cache", "file") - self._statistic("shmem", "shmem")

    def _statistic(self, version_1: str, version_2: str) -> int:
        name = version_1 if self.layout.version == 1 else version_2
        lines = (self.paths[0] / "memory.stat").read_text(encoding="ascii").splitlines()
        return int(dict(line.split() for line in lines)[name])

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


BACKING_DEVICES: Final = Path("/sys/class/bdi")
DIRTY_BYTES: Final = 16 * MIB
"""The dirty pages that may wait for the device. With 8 MiB, a device of 2 MiB/s was idle for a tenth of the time."""
FILE: Final = "blkio.throttle.write_bps_device"


@contextmanager
def limited_writes(volume: LimitedVolume, bytes_per_second: int) -> Iterator[Callable[[int], None]]:
    """Limit all writes to the volume to this rate while the block runs, and yield a function that changes the rate.

    Raises OperationFailed where the kernel cannot limit them.
    """
    throttle = _throttle()
    if isinstance(throttle, str):
        raise OperationFailed.of(
            where=str(volume.mount_point),
            what="the writes to the volume cannot be limited",
            why=throttle,
            fix="run as root on Linux with control groups v1",
        )
    device = BACKING_DEVICES / volume.numbers
    write(device / "strict_limit", "1")
    write(device / "max_bytes", str(DIRTY_BYTES))

    def limit(rate: int) -> None:
        write(throttle, f"{volume.numbers} {rate}")

    limit(bytes_per_second)
    try:
        yield limit
    finally:
        limit(0)


def buffered_limit_unavailable() -> str | None:
    """Return why buffered writes cannot be limited here; None where they can."""
    throttle = _throttle()
    return throttle if isinstance(throttle, str) else None


def _throttle() -> Path | str:
    """Return the file that takes the limit, in the topmost group that is mounted here, or why there is none."""
    layout = layout_of()
    if isinstance(layout, str):
        return layout
    if layout.version != 1:
        return "the lab limits buffered writes with control groups v1 only, and here they are v2"
    groups = (layout.disk, *layout.disk.parents)
    file = next(group for group in reversed(groups) if (group / "cgroup.procs").exists()) / FILE
    if not file.exists():
        return f"there is no {file}"
    if not any(BACKING_DEVICES.glob("*/strict_limit")):
        return "the kernel cannot limit the dirty pages of one device (strict_limit, since Linux 6.2)"
    return file
