"""The last 4,096 bytes of a store file: where everything else is. Source: HBase 2.6.2 FixedFileTrailer, HFile.proto."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hfile.codec import Codec
from hfile.cursor import Cursor
from hfile.readable import Unreadable

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
