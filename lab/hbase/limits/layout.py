"""The place for control groups on this machine: cgroup v1 has a hierarchy for each controller, v2 one for all.

A group is made below the one that this process is in, so that limits already set on us still hold. In v2 a group
that has processes cannot pass controllers on ("no internal processes", cgroup-v2.rst), so it is the nearest one above
that can; in a container the topmost it sees has processes, and these are moved aside, into a group beside ours.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from sizing.problem import OperationFailed

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
        mounts = _mounts((proc / "mountinfo").read_text(encoding="utf-8"))
        own = _own((proc / "cgroup").read_text(encoding="utf-8"))
    except OSError as error:
        return f"control groups are Linux's, and {error.filename} cannot be read"
    if "memory" in mounts and "blkio" in mounts:
        memory, disk = (_place(*mounts[name], own.get(name, "/")) for name in ("memory", "blkio"))
        return GroupLayout(version=1, memory=memory, disk=disk)
    if "" not in mounts:
        return "no control groups are mounted here (/sys/fs/cgroup)"
    root, top = mounts[""]
    return _unified(_place(root, top, own.get("", "/")), top)


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


def _unified(own: Path, top: Path) -> GroupLayout | str:
    """Return the nearest group, from our own upwards, that can have children with both controllers."""
    above = [group for group in (own, *own.parents) if group == top or top in group.parents]
    for group in above:
        if written(group / "cgroup.subtree_control") >= CONTROLLERS:
            return GroupLayout(version=2, memory=group, disk=group)
        if written(group / "cgroup.controllers") >= CONTROLLERS:
            # Only the real root has no type, and it may have processes.
            free = not (group / "cgroup.type").exists() or not written(group / "cgroup.procs")
            if free or group == top:
                return GroupLayout(version=2, memory=group, disk=group, crowded=not free)
    missing = " and ".join(sorted(CONTROLLERS - written(top / "cgroup.controllers"))) or "memory and io"
    return f"control groups at {top} have no controller for {missing}"


def _mounts(table: str) -> dict[str, tuple[str, Path]]:
    """Return root and mount point of each v1 controller; "" is the unified hierarchy (v2). proc(5) lists the fields."""
    mounts: dict[str, tuple[str, Path]] = {}
    for line in table.splitlines():
        mount, _, right = line.partition(" - ")
        root, mount_point = mount.split()[3:5]
        kind, _, options = right.split(maxsplit=2)
        if kind == "cgroup2":
            mounts.setdefault("", (root, Path(mount_point)))
        elif kind == "cgroup":
            mounts |= {name: (root, Path(mount_point)) for name in options.split(",") if name in {"memory", "blkio"}}
    return mounts


def _own(table: str) -> dict[str, str]:
    """Return the group of this process by v1 controller; "" is the unified hierarchy's."""
    rows = (line.split(":", 2) for line in table.splitlines())
    return {name: path for _, names, path in rows for name in names.split(",")}


def _place(root: str, mount_point: Path, own: str) -> Path:
    """Return our group under the mount point, or the mount point where a container hides the group."""
    base = "" if root == "/" else root
    inside = own.removeprefix(base).lstrip("/") if own == root or own.startswith(f"{base}/") else ""
    return mount_point / inside if (mount_point / inside).is_dir() else mount_point
