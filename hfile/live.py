"""Which store files of a family are live: tracker FILE keeps lists, and on S3 dead ones stay until they are cleaned.

Source: HBase 2.6.2 StoreFileListFile, StoreFileTracker.proto.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hfile.cursor import Cursor
from hfile.layout import LIST, FileEntry, RootStore
from hfile.readable import Unreadable

MOST_BYTES: Final = 16 << 20  # HBase reads no list that is longer
VERSION: Final = 1
TIMESTAMP, FILE, LIST_VERSION = 1, 2, 3
FILE_NAME: Final = 1


class LiveFiles(Struct, frozen=True):
    """Names, as they were at `timestamp`, in milliseconds."""

    timestamp: int
    names: frozenset[str]


def whole(store: RootStore, stored: FileEntry) -> bytes:
    """All of a small file. Raises Unreadable for one that is none."""
    if stored.size_bytes > MOST_BYTES:
        raise Unreadable(stored.path, 0, f"{stored.size_bytes:,} bytes: HBase keeps none that is so long")
    return store.readable(stored).read_at(0, stored.size_bytes)


def live_files(store: RootStore, lists: Sequence[FileEntry]) -> frozenset[str] | None:
    """By the newest list of one directory; None where there is no list, and no name where each is cut off.

    HBase passes over a list that is cut off, and holds no file for live where it finds no other.

    Raises Unreadable for a list that is damaged: what is live cannot be known.
    """
    by_number: dict[int, list[FileEntry]] = {}
    for listed in lists:
        by_number.setdefault(_number(listed), []).append(listed)
    for number in sorted(by_number, reverse=True):
        readings = [read for listed in by_number[number] if (read := _read(store, listed)) is not None]
        if readings:
            return max(readings, key=lambda listed: listed.timestamp).names
    return frozenset() if lists else None


def _number(stored: FileEntry) -> int:
    match = LIST.fullmatch(stored.path.rpartition("/")[2])
    return int(match["number"] or 0) if match else 0


def _read(store: RootStore, stored: FileEntry) -> LiveFiles | None:
    """None for one that ends before it should."""
    cursor = Cursor(stored.path, 0, whole(store, stored))
    if cursor.remaining_bytes < 4:  # noqa: PLR2004 - its length is not whole
        return None
    length = cursor.count(4, "the length of a list")
    if cursor.remaining_bytes < length + 4:
        return None
    message = cursor.take(length, "a list of live files")
    if zlib.crc32(message) != int.from_bytes(cursor.take(4, "its checksum"), "big"):
        cursor.fail("the CRC32 of a list of live files differs")
    return _parsed(Cursor(stored.path, 4, message))


def _parsed(cursor: Cursor) -> LiveFiles:
    timestamp, names = 0, set()
    for number, value in cursor.fields("a list of live files"):
        if number == TIMESTAMP and isinstance(value, int):
            timestamp = value
        elif number == LIST_VERSION and value != VERSION:
            cursor.fail(f"a list of live files of version {value!r}")
        elif number == FILE and isinstance(value, bytes):
            name = dict(Cursor(cursor.name, cursor.offset, value).fields("an entry")).get(FILE_NAME)
            if isinstance(name, bytes):
                names.add(name.decode(errors="replace"))
    return LiveFiles(timestamp, frozenset(names))
