"""Loop devices as the kernel shows them in /sys/block: their files, where they are mounted, what went over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["BLOCK_DEVICES", "Traffic", "attached", "backing_file", "loop_devices", "mount_points", "traffic_of"]

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
