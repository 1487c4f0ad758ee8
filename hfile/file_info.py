"""The named metadata of a store file: its encoding, the kind of its Bloom filter, its largest cell.

Source: HBase 2.6.2 HFileInfo.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hfile.cursor import Cursor

MAGIC: Final = b"PBUF"
FIRST, SECOND = 1, 2


class FileInfo(Struct, frozen=True):
    """Values by name, as bytes."""

    values: Mapping[bytes, bytes]

    @property
    def encoding(self) -> str:
        """Return the encoding of data blocks."""
        return self._text(b"DATA_BLOCK_ENCODING", "NONE")

    @property
    def index_encoding(self) -> str:
        """Return the encoding of index blocks."""
        return self._text(b"INDEX_BLOCK_ENCODING", "NONE")

    @property
    def bloom(self) -> str:
        """Return the kind of the general Bloom filter."""
        return self._text(b"BLOOM_FILTER_TYPE", "NONE")

    @property
    def largest_cell_bytes(self) -> int | None:
        """With its key; None where an older HBase did not say."""
        return self.number(b"hfile.LEN_OF_BIGGEST_CELL")

    def number(self, key: bytes) -> int | None:
        """Read a number of 4 or 8 bytes; returns None where it is missing or has another length."""
        value = self.values.get(key, b"")
        return int.from_bytes(value, "big", signed=True) if len(value) in {4, 8} else None

    def _text(self, key: bytes, absent: str) -> str:
        return self.values.get(key, absent.encode()).decode(errors="replace")


def file_info(cursor: Cursor) -> FileInfo:
    """Read the file info block. Raises Unreadable where it is damaged."""
    if cursor.take(len(MAGIC), "the file info") != MAGIC:
        cursor.fail("the file info does not begin with PBUF: a Hadoop map of HBase 0.94 is not read")
    message = Cursor(cursor.name, cursor.offset, cursor.take(cursor.varint("its length"), "the file info"))
    values: dict[bytes, bytes] = {}
    for number, pair in message.fields("the file info"):
        if number != FIRST or isinstance(pair, int):
            message.fail("the file info has something that is no pair")
        parts = dict(Cursor(cursor.name, cursor.offset, pair).fields("a pair of the file info"))
        key, value = parts.get(FIRST, b""), parts.get(SECOND, b"")
        if isinstance(key, int) or isinstance(value, int):
            message.fail("a pair of the file info has a number")
        values[key] = value
    return FileInfo(values)
