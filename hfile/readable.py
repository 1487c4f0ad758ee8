"""Where the bytes of a store file come from, and what is said of one that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from sizing.problem import InvalidInput, Problem

DELETED: Final = "it is gone by now: HBase has compacted it since it was listed"


class Readable(Protocol):
    """A file whose size is known, read in pieces: each read is one request where it lies in S3."""

    @property
    def name(self) -> str:
        """Return the name that messages use."""

    @property
    def size_bytes(self) -> int:
        """Return the size of the whole file."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly that piece, which lies within the file."""


class Unreadable(InvalidInput):
    """A file that is cut off, damaged, encrypted, or of a kind that we do not know; `offset` is where that shows."""

    def __init__(self, name: str, offset: int, why: str, fix: str = "") -> None:
        self.name, self.offset, self.why = name, offset, why
        fix = fix or "look at it with HBase's own tool: hbase hfile -m -f FILE"
        super().__init__([Problem(where=name, what=f"at byte {offset:,}", why=why, fix=fix)])


class LocalFile(Struct, frozen=True):
    """A file on this machine."""

    path: Path

    @property
    def name(self) -> str:
        """Return the path of the file."""
        return str(self.path)

    @property
    def size_bytes(self) -> int:
        """As it is now."""
        return self.path.stat().st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Raises Unreadable where it ends before that, or is gone: somebody has changed it."""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                data = file.read(length)
        except FileNotFoundError:
            raise Unreadable(self.name, offset, DELETED) from None
        except OSError as error:
            raise Unreadable(self.name, offset, str(error)) from None
        if len(data) != length:
            raise Unreadable(self.name, offset + len(data), f"{length:,} bytes were to be read, and it ends here")
        return data
