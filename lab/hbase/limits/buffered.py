"""A limit on the buffered writes to a volume, such as those of a DataNode, which no process's own group counts in v1.

The kernel writes pages back on its own account, so the limit is the topmost group's, for this device alone. Otherwise
gigabytes would wait in the page cache before a writer has to wait, so few dirty pages are allowed for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.hbase.limits.layout import layout_of, write
from lab.hbase.limits.volume import LimitedVolume
from sizing.problem import OperationFailed
from sizing.units import MIB

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


def unavailable() -> str | None:
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
