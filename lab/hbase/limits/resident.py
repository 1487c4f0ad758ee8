"""How much of a file lies in the page cache now."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from sizing.problem import OperationFailed

__all__ = ["resident_bytes_of"]


def resident_bytes_of(file: Path) -> int:
    """By mincore(2), which reads nothing; root is told of any file. Raises OperationFailed where it cannot be asked."""
    size = file.stat().st_size
    if size == 0:
        return 0
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
        return sum(each & 1 for each in vector) * mmap.PAGESIZE
