"""The layout of a Parquet file: where its column chunks and its footer are.

The footer is a struct of Thrift's compact protocol; only its lengths and offsets are used here.
Source: parquet-format, parquet.thrift; Thrift's compact protocol specification.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from msgspec import Struct

from sizing.engines.trino.pages import ByteRange

MAGIC: Final = b"PAR1"
TAIL_BYTES: Final = 8
"""The length of the footer, in 4 bytes, and the magic number."""
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
INTEGERS: Final = (4, 5, 6)
LONG_LIST: Final = 15
MORE: Final = 0x80


class ColumnChunk(Struct, frozen=True, kw_only=True):
    """The values of one column in one row group."""

    column: str
    range: ByteRange


class ParquetLayout(Struct, frozen=True, kw_only=True):
    """The parts of a Parquet file, column chunks in the order of the file."""

    object_bytes: int
    footer_bytes: int
    """The length of the footer with its tail."""
    chunks: tuple[ColumnChunk, ...]


def parquet_layout(content: bytes) -> ParquetLayout:
    """Return the layout of a whole file. Raises ValueError for what is not a Parquet file."""
    if content[-len(MAGIC) :] != MAGIC:
        raise ValueError("this is no Parquet file: it does not end with PAR1")
    footer_bytes = int.from_bytes(content[-TAIL_BYTES : -len(MAGIC)], "little") + TAIL_BYTES
    footer = CompactReader(content[-footer_bytes:-TAIL_BYTES]).struct()
    chunks = [_chunk(chunk[3]) for group in footer[4] for chunk in group[1]]
    return ParquetLayout(
        object_bytes=len(content),
        footer_bytes=footer_bytes,
        chunks=tuple(sorted(chunks, key=lambda chunk: chunk.range.begin)),
    )


def _chunk(metadata: dict[int, Any]) -> ColumnChunk:
    """Return a column chunk; it begins with its dictionary where it has one."""
    begin = min(metadata[9], metadata.get(11) or metadata[9])
    path = b".".join(metadata[3]).decode()
    return ColumnChunk(column=path, range=ByteRange(begin, begin + metadata[7]))


class CompactReader:
    """Reads values of Thrift's compact protocol; a struct is a dict by the numbers of its fields."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self) -> dict[int, Any]:
        """Read a struct."""
        fields, number = dict[int, Any](), 0
        while kind := self._byte():
            step, kind = divmod(kind, 16)
            number = number + step if step else self._integer()
            fields[number] = kind == TRUE if kind in {TRUE, FALSE} else self._value(kind)
        return fields

    def _value(self, kind: int) -> object:
        if kind in INTEGERS:
            return self._integer()
        if kind in {TRUE, FALSE, BYTE}:
            return self._byte()
        if kind == DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind == BINARY:
            return self._take(self._unsigned())
        if kind in {LIST, SET}:
            count, kind = divmod(self._byte(), 16)
            return [self._value(kind) for _ in range(self._unsigned() if count == LONG_LIST else count)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"Thrift type {kind} in the footer of a Parquet file")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= MORE:
            value |= (byte - MORE) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        """Read an integer in zigzag encoding."""
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
