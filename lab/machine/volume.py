"""A disk of the lab's own: a file system on a loop device over a sparse file.

The device is what a control group's throttle names, so that one volume is slow and the machine's disk is not. It reads
and writes its file past the page cache (direct I/O): otherwise that file's pages, which no group of ours is charged
for, would answer in the disk's place. Above the file system the page cache is as everywhere: only a memory limit keeps
reads from coming out of it (`control_groups.ControlGroups`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from warmbase.ground.errors import OperationFailed

SUFFIX: Final = ".warmbase-lab-volume"
"""The suffix of a sparse file, which together with its directory identifies a loop device as ours."""
LEAST_XFS_BYTES: Final = 300 << 20  # mkfs.xfs refuses less since xfsprogs 5.19
# judgement: long enough for mkfs and for a mount's log, short enough to notice a command that hangs.
COMMAND_SECONDS: Final = 60.0
PRIVILEGED: Final = "run as root, or in a container with --privileged"
# judgement: a RegionServer that was just killed releases its files within this time.
BUSY_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.2


class LimitedVolume(Struct, frozen=True, kw_only=True):
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
        """Return the path of the sparse file."""
        return self.directory.resolve() / f"{self.mount_point.name}{SUFFIX}"

    @property
    def device(self) -> Path:
        """Return its loop device. Raises OperationFailed when it is not attached."""
        for device in attached(self.image):
            return Path("/dev") / device.name
        raise OperationFailed.of(
            where=str(self.image),
            what="is attached to no loop device",
            why="the volume is used outside its `with`",
            fix="use the volume inside its `with`",
        )

    @property
    def numbers(self) -> str:
        """Return the device's major:minor, which names it in a control group."""
        return (BLOCK_DEVICES / self.device.name / "dev").read_text(encoding="ascii").strip()

    def switch_read_ahead_off(self) -> None:
        """Turn read-ahead off for files that are opened from now on; the default is up to 128 KiB."""
        (BLOCK_DEVICES / self.device.name / "queue" / "read_ahead_kb").write_text("0", encoding="ascii")

    @property
    def traffic(self) -> Traffic:
        """Return the device's own totals, without reads that the page cache answered."""
        return traffic_of(BLOCK_DEVICES / self.device.name)

    def __enter__(self) -> Self:
        """Create the volume. Raises OperationFailed, and leaves nothing, when a command fails."""
        _remove(self.image)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.mount_point.mkdir(parents=True, exist_ok=True)
            with self.image.open("wb") as file:
                file.truncate(self.size_bytes)
            _run("losetup", "--find", "--direct-io=on", str(self.image))
            if (BLOCK_DEVICES / self.device.name / "loop" / "dio").read_text(encoding="ascii").strip() != "1":
                raise OperationFailed.of(  # noqa: TRY301 - whatever fails, nothing is left
                    where=str(self.device),
                    what=f"does not do direct I/O on {self.image}",
                    why="the file system cannot, and the page cache would answer for the disk",
                    fix="keep the lab's files on ext4 or xfs",
                )
            # Use xfs, as on a cluster's nodes, or else ext4 without deferred initialisation.
            if shutil.which("mkfs.xfs") and self.size_bytes >= LEAST_XFS_BYTES:
                _run("mkfs.xfs", "-q", "-K", str(self.device))
            else:
                options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
                _run("mkfs.ext4", "-q", "-E", options, str(self.device))
            _run("mount", "-o", "noatime", str(self.device), str(self.mount_point))
        except BaseException:
            _remove(self.image)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unmount, detach and delete the volume."""
        _remove(self.image)


def clean(directory: Path) -> tuple[Path, ...]:
    """Unmount, detach and delete the volumes that a killed run left below `directory`; return their files.

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
    """Return why no volume can be created on this machine; None when one can."""
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


def _remove(image: Path) -> None:
    """Unmount and detach everything on this file, then delete it; a second call does nothing."""
    for device in attached(image):
        # In proc(5), field 3 is major:minor, and field 5 the mount point with a blank as \040. The last mount is
        # unmounted first.
        numbers = (device / "dev").read_text(encoding="ascii").strip()
        rows = [line.split() for line in MOUNTS.read_text(encoding="utf-8").splitlines()]
        for name in [row[4] for row in rows if row[2] == numbers][::-1]:
            _unmount(name.encode("latin-1", "backslashreplace").decode("unicode_escape") if "\\" in name else name)
        _run("losetup", "--detach", f"/dev/{device.name}")
    image.unlink(missing_ok=True)


def _unmount(mount_point: str) -> None:
    """Waits while it is busy; after that it is taken out of sight, and ends with the last process that uses it."""
    until = time.monotonic() + BUSY_SECONDS
    while time.monotonic() < until:
        try:
            return _run("umount", mount_point)
        except OperationFailed:
            time.sleep(POLL_SECONDS)
    return _run("umount", "--lazy", mount_point)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    except subprocess.CalledProcessError as error:
        output = (error.stderr or error.stdout).strip()
        raise OperationFailed.of(
            where=" ".join(command), what=f"ended with {error.returncode}", why=output, fix=PRIVILEGED
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperationFailed.of(
            where=" ".join(command), what="could not be run", why=str(error), fix=PRIVILEGED
        ) from None


BLOCK_DEVICES: Final = Path("/sys/block")
MOUNTS: Final = Path("/proc/self/mountinfo")
SECTOR_BYTES: Final = 512  # Documentation/block/stat.rst, whatever the device's own sectors are


class Traffic(Struct, frozen=True, kw_only=True):
    """A device's totals since the machine started, so take differences; reads from the page cache are not included."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int


def traffic_of(device: Path) -> Traffic:
    """Return the totals of a directory of /sys/block; Documentation/block/stat.rst lists the fields."""
    fields = [int(part) for part in (device / "stat").read_text(encoding="ascii").split()]
    reads, _, read_sectors, _, writes, _, written_sectors, *_ = fields
    return Traffic(
        reads=reads,
        read_bytes=read_sectors * SECTOR_BYTES,
        writes=writes,
        written_bytes=written_sectors * SECTOR_BYTES,
    )


def attached(image: Path) -> list[Path]:
    """Return the devices whose backing file this is, even if it has been deleted."""
    return [device for device in loop_devices() if backing_file(device) == image]


def loop_devices() -> Iterator[Path]:
    """Return the loop devices with a backing file, as directories of /sys/block."""
    return (device for device in sorted(BLOCK_DEVICES.glob("loop*")) if (device / "loop" / "backing_file").exists())


def backing_file(device: Path) -> Path:
    """Return the backing file of a loop device; the empty path when it has just been detached."""
    try:
        name = (device / "loop" / "backing_file").read_text(encoding="utf-8").rstrip("\n")
    except OSError:  # it was detached in the meantime
        return Path()
    return Path(name.removesuffix(" (deleted)"))
