"""A file that is kept out of the page cache is read from its device."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lab.hbase.scenarios.volume_bound import uncached

SIZE = 4 << 20


def _read_from_device() -> int:
    """Bytes that this process has had fetched from a device, not from the page cache."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """On a device: files in memory cannot be dropped."""
    file = tmp_path / "blocks"
    file.write_bytes(os.urandom(SIZE))
    os.sync()
    before = _read_from_device()
    with file.open("rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        opened.read()
    if _read_from_device() - before < SIZE:
        pytest.skip("the file system here keeps its files in memory, or does not count")
    return file


def test_read_again_it_comes_from_the_device_again(file: Path) -> None:
    before = _read_from_device()
    file.read_bytes()
    assert _read_from_device() == before
    with uncached(file, every_seconds=0.01):
        for _ in range(3):
            time.sleep(0.1)
            file.read_bytes()
    assert _read_from_device() - before >= 3 * SIZE


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), uncached(tmp_path / "none"):
        pass
