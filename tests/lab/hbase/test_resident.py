"""What of a file is in the page cache, by whole stretches."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from lab.hbase.limits.resident import _whole, resident_share_of

PAGE = mmap.PAGESIZE


@pytest.mark.parametrize(
    ("pages", "stretch", "share"),
    [
        ((1, 1, 1, 1), 2 * PAGE, 1.0),
        ((1, 0, 1, 1), 2 * PAGE, 0.5),
        ((0, 1, 0, 1), 2 * PAGE, 0.0),
        ((1, 1, 0, 1), PAGE + 1, 1 / 3),
        ((1, 1, 1, 0), 3 * PAGE, 1.0),
    ],
)
def test_a_stretch_counts_only_if_no_page_of_it_is_missing(pages: tuple[int, ...], stretch: int, share: float) -> None:
    assert _whole(bytes(pages), len(pages) * PAGE, stretch) == pytest.approx(share)


def test_a_file_just_read_is_there_and_one_just_dropped_is_not(tmp_path: Path) -> None:
    file = tmp_path / "blocks"
    file.write_bytes(os.urandom(64 * PAGE))
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        opened.read()
        assert resident_share_of(file, 3 * PAGE) == 1.0
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if Path("/proc/mounts").read_text().count(f" {tmp_path} tmpfs"):
        pytest.skip("files in memory cannot be dropped")
    assert resident_share_of(file, 3 * PAGE) < 1.0
    assert resident_share_of(file, 65 * PAGE) == 0.0
