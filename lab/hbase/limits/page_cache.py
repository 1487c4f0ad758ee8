"""A file kept out of the page cache, so that its device answers each read.

A cache of some hundred GB has hardly a page of it in a node's page cache; one small enough for this machine would have
a third, though its memory is limited: the kernel keeps what it likes of what the limit allows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["uncached"]

# judgement: at 100 MiB/s a twentieth of a second leaves 5 MiB behind, of files of some hundred.
EVERY_SECONDS: Final = 0.05


@contextmanager
def uncached(file: Path, every_seconds: float = EVERY_SECONDS) -> Iterator[None]:
    """Drops the file's clean pages again and again while the block runs. Raises OSError where it cannot be opened."""
    ended = threading.Event()
    handle = os.open(file, os.O_RDONLY)

    def drop() -> None:
        while True:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            if ended.wait(every_seconds):
                return

    try:
        # Pages that are not written yet would stay.
        os.fsync(handle)
        thread = threading.Thread(target=drop, name=f"drop-{file.name}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
    finally:
        os.close(handle)
