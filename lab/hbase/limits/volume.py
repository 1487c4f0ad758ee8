"""A disk of our own: a file system on a loop device over a sparse file.

The device is what a control group's throttle names, so that one volume is slow and the machine's disk is not. It
reads and writes its file past the page cache (direct I/O): otherwise that file's pages, which no group of ours is
charged for, would answer in the disk's place. Above the file system the page cache is as everywhere: only a memory
limit keeps reads from coming out of it (`groups.Group`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sizing.problem import OperationFailed

SUFFIX: Final = ".warmbase-lab-volume"
"""Of a sparse file: by this, and by its directory, a loop device is known as ours."""
LEAST_XFS_BYTES: Final = 300 << 20  # mkfs.xfs refuses less since xfsprogs 5.19
# judgement: long enough for mkfs and for a mount's log, short enough that a hanging one is noticed.
COMMAND_SECONDS: Final = 60.0
# judgement: a RegionServer that has just been killed lets go of its files within this.
BUSY_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedVolume:
    """A file system of `size_bytes`, mounted at `mount_point` while the `with` lasts; its file is in `directory`.

    The file is sparse: it takes the room of what is written. What was mounted or left there by a killed run of ours
    is removed first. It is gone afterwards, with its data, whatever happened; what still has a file of it open keeps
    a nameless rest until it ends.
    """

    directory: Path
    mount_point: Path
    size_bytes: int

    @property
    def image(self) -> Path:
        """The sparse file."""
        return self.directory.resolve() / f"{self.mount_point.name}{SUFFIX}"

    @property
    def device(self) -> Path:
        """Its loop device. Raises OperationFailed when it is not attached."""
        for device in attached(self.image):
            return Path("/dev") / device.name
        raise OperationFailed(f"{self.image} is attached to no loop device; is the volume in use outside its `with`?")

    @property
    def numbers(self) -> str:
        """The device's major:minor, which is its name in a control group."""
        return (BLOCK_DEVICES / self.device.name / "dev").read_text(encoding="ascii").strip()

    def switch_read_ahead_off(self) -> None:
        """Files that are opened from now on are read as asked for, and no further; by default up to 128 KiB more."""
        (BLOCK_DEVICES / self.device.name / "queue" / "read_ahead_kb").write_text("0", encoding="ascii")

    @property
    def traffic(self) -> Traffic:
        """What the device itself has done: without what the page cache answered, so that a rate can be checked."""
        return traffic_of(BLOCK_DEVICES / self.device.name)

    def __enter__(self) -> Self:
        """Makes it. Raises OperationFailed, and leaves nothing, when a command refuses."""
        _remove(self.image)
        try:
            self._make()
        except BaseException:
            _remove(self.image)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unmounts, detaches and deletes it."""
        _remove(self.image)

    def _make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.mount_point.mkdir(parents=True, exist_ok=True)
        with self.image.open("wb") as file:
            file.truncate(self.size_bytes)
        _run("losetup", "--find", "--direct-io=on", str(self.image))
        if (BLOCK_DEVICES / self.device.name / "loop" / "dio").read_text(encoding="ascii").strip() != "1":
            raise OperationFailed(
                f"{self.device} does not do direct I/O on {self.image}: its file system cannot, and the page cache"
                "\n  would answer for the disk\n  fix: keep the lab's files on ext4 or xfs"
            )
        _run(*_make_file_system(self.size_bytes), str(self.device))
        _run("mount", "-o", "noatime", str(self.device), str(self.mount_point))


def clean(directory: Path) -> tuple[Path, ...]:
    """Return the files of volumes that a killed run left below `directory`: now unmounted, detached and deleted.

    Only ours: a loop device is touched when its backing file lay below this directory and has our ending, be the file
    deleted since or not. A volume in use goes too; call it where no other lab uses the directory.
    """
    here = directory.resolve()
    files = set(here.rglob(f"*{SUFFIX}")) | {
        file for file in map(backing_file, loop_devices()) if here in file.parents and file.name.endswith(SUFFIX)
    }
    for file in files:
        _remove(file)
    return tuple(sorted(files))


def unavailable() -> str | None:
    """Why no volume can be made on this machine; None when one can."""
    if sys.platform != "linux":
        return "a disk of a chosen speed needs Linux: loop devices and control groups"
    if os.geteuid() != 0:
        return "a disk of a chosen speed needs root: it mounts a file system of its own"
    if not Path("/dev/loop-control").exists():
        return "there are no loop devices here (/dev/loop-control): a container needs --privileged for them"
    if missing := [name for name in ("losetup", "mount", "umount") if not shutil.which(name)]:
        return f"{', '.join(missing)} is not installed (util-linux)"
    if not (shutil.which("mkfs.xfs") or shutil.which("mkfs.ext4")):
        return "neither mkfs.xfs nor mkfs.ext4 is installed"
    return None


def _make_file_system(size_bytes: int) -> tuple[str, ...]:
    """xfs, as on a cluster's nodes, else ext4 without what it would go on writing after it is mounted."""
    if shutil.which("mkfs.xfs") and size_bytes >= LEAST_XFS_BYTES:
        return ("mkfs.xfs", "-q", "-K")
    return ("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0")


def _remove(image: Path) -> None:
    """Unmounts and detaches what is on this file, then deletes it. Done twice, it does nothing the second time."""
    for device in attached(image):
        for mount_point in mount_points(device):
            _unmount(mount_point)
        _run("losetup", "--detach", f"/dev/{device.name}")
    image.unlink(missing_ok=True)


def _unmount(mount_point: str) -> None:
    """Waits while it is busy; after that it is taken out of sight, and ends with the last process that uses it."""
    until = time.monotonic() + BUSY_SECONDS
    while time.monotonic() < until:
        try:
            return _run("umount", mount_point)
        except OperationFailed:
            time.sleep(LOOK_SECONDS)
    return _run("umount", "--lazy", mount_point)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip()
        raise OperationFailed(f"`{' '.join(command)}` ended with {error.returncode}: {said}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperationFailed(f"`{' '.join(command)}` could not be run: {error}") from None


BLOCK_DEVICES: Final = Path("/sys/block")
MOUNTS: Final = Path("/proc/self/mountinfo")
SECTOR_BYTES: Final = 512  # Documentation/block/stat.rst, whatever the device's own sectors are


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What a device has done since the machine started: take differences. The page cache's share is not in it."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int


def traffic_of(device: Path) -> Traffic:
    """Of a directory of /sys/block; the fields are those of Documentation/block/stat.rst."""
    fields = [int(part) for part in (device / "stat").read_text(encoding="ascii").split()]
    reads, _, read_sectors, _, writes, _, written_sectors, *_ = fields
    return Traffic(
        reads=reads,
        read_bytes=read_sectors * SECTOR_BYTES,
        writes=writes,
        written_bytes=written_sectors * SECTOR_BYTES,
    )


def attached(image: Path) -> list[Path]:
    """The devices whose backing file this is, were it deleted meanwhile."""
    return [device for device in loop_devices() if backing_file(device) == image]


def loop_devices() -> Iterator[Path]:
    """Return those with a backing file, as directories of /sys/block."""
    return (device for device in sorted(BLOCK_DEVICES.glob("loop*")) if (device / "loop" / "backing_file").exists())


def backing_file(device: Path) -> Path:
    """Of a loop device; the empty path when it has just lost it."""
    try:
        name = (device / "loop" / "backing_file").read_text(encoding="utf-8").rstrip("\n")
    except OSError:  # detached meanwhile
        return Path()
    return Path(name.removesuffix(" (deleted)"))


def mount_points(device: Path) -> list[str]:
    """Where it is mounted, the last first; proc(5): the third field is major:minor, the fifth the mount point."""
    numbers = (device / "dev").read_text(encoding="ascii").strip()
    rows = (line.split() for line in MOUNTS.read_text(encoding="utf-8").splitlines())
    return [_unescaped(row[4]) for row in rows if row[2] == numbers][::-1]


def _unescaped(name: str) -> str:
    r"""A name as proc(5) writes it, where a blank is \040."""
    return name.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" in name else name
