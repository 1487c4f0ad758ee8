"""The bytes of a store file: where they come from, a piece that is read from its beginning, and what cannot be read.

A `Cursor` compares each figure that it reads with what is left of its piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn, Protocol

from msgspec import Struct

from warmbase.ground.errors import InvalidInput, Problem

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


SHORTEST_VINT: Final = -112
NEGATIVE_VINT: Final = -120
LONGEST_VARINT_BITS: Final = 70
CONTINUES: Final = 0x80
VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf."""


class Cursor:
    """Reads on through `data`, which begins at byte `start` of the file, or of the block there once decompressed."""

    __slots__ = ("_at", "_data", "_start", "name")

    def __init__(self, name: str, start: int, data: bytes | memoryview) -> None:
        self.name, self._start, self._data, self._at = name, start, data, 0

    @property
    def remaining_bytes(self) -> int:
        """Bytes that are still to be read."""
        return len(self._data) - self._at

    @property
    def offset(self) -> int:
        """Where it is, in the file."""
        return self._start + self._at

    def fail(self, why: str) -> NoReturn:
        """Raises Unreadable for where it is."""
        raise Unreadable(self.name, self.offset, why)

    def take(self, length: int, what: str) -> bytes:
        """So many bytes. Raises Unreadable where fewer are left."""
        return bytes(self.view(length, what))

    def view(self, length: int, what: str) -> bytes | memoryview:
        """Return the same; of a memoryview not copied."""
        begin = self._at
        if length < 0 or begin + length > len(self._data):
            self.fail(f"{what} would take {length:,} bytes, and {self.remaining_bytes:,} are left")
        self._at += length
        return self._data[begin : self._at]

    def back(self, length: int) -> None:
        """So many bytes are to be read again."""
        self._at -= length

    def integer(self, length: int, what: str) -> int:
        """Read a signed number with its highest byte first, as Java writes it."""
        return int.from_bytes(self.view(length, what), "big", signed=True)

    def count(self, length: int, what: str) -> int:
        """An integer that is not below 0."""
        number = self.integer(length, what)
        if number < 0:
            self.fail(f"{what} is {number:,}")
        return number

    def hadoop_vint(self, what: str) -> int:
        """As Hadoop's WritableUtils writes a number in 1 to 9 bytes, which is not protobuf's way."""
        first = self.integer(1, what)
        if first >= SHORTEST_VINT:
            return first
        negative = first < NEGATIVE_VINT
        length = (NEGATIVE_VINT if negative else SHORTEST_VINT) - first
        number = int.from_bytes(self.view(length, what), "big")
        return ~number if negative else number

    def array(self, what: str) -> bytes:
        """Read bytes that follow their length, as Hadoop's Bytes.writeByteArray writes them."""
        return self.take(self.hadoop_vint(what), what)

    def varint(self, what: str) -> int:
        """Read a variable-length number of Protocol Buffers."""
        number, shift = 0, 0
        while (byte := self.view(1, what)[0]) >= CONTINUES:
            number |= (byte - CONTINUES) << shift
            shift += 7
            if shift >= LONGEST_VARINT_BITS:
                self.fail(f"{what} is longer than ten bytes")
        return number | byte << shift

    def fields(self, what: str) -> Iterator[tuple[int, int | bytes]]:
        """Read a Protocol Buffers message that takes all remaining bytes: the number and value of each field."""
        while self.remaining_bytes:
            tag = self.varint(what)
            kind = tag & 7
            if kind == VARINT:
                yield tag >> 3, self.varint(what)
            elif kind == DELIMITED:
                yield tag >> 3, self.take(self.varint(what), what)
            elif kind in {FIXED32, FIXED64}:
                yield tag >> 3, int.from_bytes(self.view(4 if kind == FIXED32 else 8, what), "little")
            else:
                self.fail(f"{what} has a field of wire type {kind}")
