"""The metadata of a store file: its trailer, its named entries, and the figures of its Bloom filter.

- `Trailer`: the last 4,096 bytes, which say where everything else is. Source: HBase 2.6.2 FixedFileTrailer,
  HFile.proto.
- `FileInfo`: its encoding, the kind of its Bloom filter, its largest cell. Source: HBase 2.6.2 HFileInfo.
- `Bloom`: the length of the filter's chunks, and the number of keys. Source: HBase 2.6.2 CompoundBloomFilter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from warmbase.hfile.codec import Codec
from warmbase.hfile.cursor import Cursor, Unreadable

TRAILER_BYTES: Final = 4096
VERSION_BYTES: Final = 4
MAGIC: Final = b'TRABLK"$'
MAJOR: Final = 3
NUMBERS: Final = {
    1: "file_info_offset",
    2: "load_on_open_offset",
    3: "index_bytes",
    4: "total_uncompressed_bytes",
    5: "root_entries",
    6: "meta_entries",
    7: "cells",
    8: "index_levels",
    9: "first_data_block",
    10: "last_data_block",
}
"""Fields of FileTrailerProto, by what we call them."""
COMPARATOR, CODEC, ENCRYPTION_KEY = 11, 12, 13


class Trailer(Struct, frozen=True, kw_only=True):
    """As the file has it. Offsets are bytes from its beginning.

    `index_bytes` are of all levels of the data index, decompressed.
    `total_uncompressed_bytes` sums what all blocks hold, still encoded, with headers, and the trailer.
    """

    major: int
    minor: int
    file_info_offset: int
    load_on_open_offset: int
    index_bytes: int
    total_uncompressed_bytes: int
    root_entries: int
    meta_entries: int
    cells: int
    index_levels: int
    first_data_block: int
    last_data_block: int
    comparator: str
    codec: Codec


def trailer(name: str, size_bytes: int, tail: bytes) -> Trailer:
    """Read the trailer of a file of that size that ends with `tail`. Raises Unreadable for anything but version 3."""
    if len(tail) < TRAILER_BYTES:
        raise Unreadable(name, 0, f"it has {size_bytes:,} bytes, and a store file has {TRAILER_BYTES:,} at least")
    start = size_bytes - TRAILER_BYTES
    version = Cursor(name, size_bytes - VERSION_BYTES, tail[-VERSION_BYTES:])
    minor, major = version.count(1, "the version"), version.count(3, "the version")
    cursor = Cursor(name, start, tail[-TRAILER_BYTES:-VERSION_BYTES])
    if major != MAJOR:
        raise Unreadable(
            name, size_bytes - VERSION_BYTES, f"it ends with version {major}, and store files have {MAJOR}"
        )
    if cursor.take(len(MAGIC), "the trailer's magic") != MAGIC:
        raise Unreadable(name, start, "no trailer begins here: it is no store file, or cut off")
    message = Cursor(name, cursor.offset, cursor.take(cursor.varint("the trailer's length"), "the trailer"))
    fields = dict(message.fields("the trailer"))
    if ENCRYPTION_KEY in fields:
        fix = "nothing: without its key nobody reads it; the report names it"
        raise Unreadable(name, start, "it is encrypted", fix)
    numbers = {figure: _number(cursor, figure, fields.get(field, 0)) for field, figure in NUMBERS.items()}
    comparator = fields.get(COMPARATOR, b"")
    trailing = Trailer(
        major=major,
        minor=minor,
        comparator=comparator.decode(errors="replace") if isinstance(comparator, bytes) else "",
        codec=_codec(cursor, fields.get(CODEC, int(Codec.NONE))),
        **numbers,
    )
    _check(cursor, trailing, start)
    return trailing


def _number(cursor: Cursor, figure: str, value: int | bytes) -> int:
    if isinstance(value, bytes):
        cursor.fail(f"{figure} of the trailer is no number")
    return value


def _codec(cursor: Cursor, value: int | bytes) -> Codec:
    if isinstance(value, bytes) or value not in list(Codec):
        cursor.fail(f"codec {value!r} is none that we know")
    return Codec(value)


def _check(cursor: Cursor, trailing: Trailer, start: int) -> None:
    if not trailing.load_on_open_offset <= trailing.file_info_offset <= start:
        cursor.fail(
            f"the section that is read on opening begins at {trailing.load_on_open_offset:,}, the file info at"
            f" {trailing.file_info_offset:,}, and the trailer at {start:,}"
        )
    if not trailing.index_levels:
        cursor.fail("an index of 0 levels")


FILE_INFO_MAGIC: Final = b"PBUF"
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
    if cursor.take(len(FILE_INFO_MAGIC), "the file info") != FILE_INFO_MAGIC:
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


VERSION: Final = 3  # CompoundBloomFilterBase.VERSION


class Bloom(Struct, frozen=True, kw_only=True):
    """`chunk_bytes` is of all chunks together; `keys` were added, of `most_keys` that would have been well."""

    chunk_bytes: int
    hashes: int
    keys: int
    most_keys: int
    chunks: int


def bloom(cursor: Cursor) -> Bloom:
    """Read the metadata block of a Bloom filter. Raises Unreadable where it is damaged."""
    version = cursor.count(4, "the version of a Bloom filter")
    if version != VERSION:
        cursor.fail(f"a Bloom filter of version {version}")
    chunk_bytes = cursor.count(8, "bytes of a Bloom filter")
    hashes = cursor.count(4, "hashes of a Bloom filter")
    cursor.integer(4, "the hash of a Bloom filter")
    return Bloom(
        chunk_bytes=chunk_bytes,
        hashes=hashes,
        keys=cursor.count(8, "keys of a Bloom filter"),
        most_keys=cursor.count(8, "room of a Bloom filter"),
        chunks=cursor.count(4, "chunks of a Bloom filter"),
    )
