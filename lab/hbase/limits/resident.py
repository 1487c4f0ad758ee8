"""How much of a file lies in the page cache now: in whole stretches, for a read of one lacks nothing only then.

The kernel keeps and drops single pages. Of a cache file with half its pages in memory hardly a block lies there whole,
and what is missing of one is read with all that stands around it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from sizing.problem import OperationFailed

__all__ = ["resident_share_of"]


def resident_share_of(file: Path, stretch_bytes: int) -> float:
    """Share of the stretches of that length, one after the other, of which every page is resident; 0 of none.

    By mincore(2), which reads nothing; root is told of any file. Raises OperationFailed where it cannot be asked.
    """
    size = file.stat().st_size
    if size < stretch_bytes:
        return 0.0
    pages = -(-size // mmap.PAGESIZE)
    private = (mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), size, *private) as mapped:
        start = ctypes.c_char.from_buffer(mapped)
        vector = (ctypes.c_ubyte * pages)()
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), vector)
        del start
        if failed:
            raise OperationFailed(f"{file}: mincore: {os.strerror(ctypes.get_errno())}")
        return _whole(bytes(each & 1 for each in vector), size, stretch_bytes)


def _whole(pages: bytes, size: int, stretch_bytes: int) -> float:
    starts = range(0, size - stretch_bytes + 1, stretch_bytes)
    spans = ((at // mmap.PAGESIZE, -(-(at + stretch_bytes) // mmap.PAGESIZE)) for at in starts)
    return sum(all(pages[first:last]) for first, last in spans) / len(starts)
