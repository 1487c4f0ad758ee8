"""A table's descriptor: the settings of its families, and the tracker that says which store files are live.

With tracker FILE, HBase keeps lists of the live files of a family; on S3, dead ones stay until they are cleaned.

Source: HBase 2.6.2 HBase.proto (TableSchema, ColumnFamilySchema), StoreFileTrackerFactory, StoreFileListFile,
StoreFileTracker.proto.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from warmbase.hfile.cursor import Cursor, Unreadable
from warmbase.hfile.layout import LIST, FileEntry, RootStore

MAGIC: Final = b"PBUF"
TABLE_ATTRIBUTES, FAMILIES, TABLE_CONFIGURATION = 2, 3, 4
FAMILY_NAME, FAMILY_ATTRIBUTES, FAMILY_CONFIGURATION = 1, 2, 3
KEY, VALUE = 1, 2
TRACKER: Final = "hbase.store.file-tracker.impl"
# HBase 2.6.2 HConstants.CP_HTD_ATTR_KEY_PATTERN and CP_HTD_ATTR_VALUE_PATTERN: PATH|CLASS|PRIORITY|ARGUMENTS.
COPROCESSOR: Final = re.compile(r"coprocessor\$[0-9]+", re.IGNORECASE)
SOURCE: Final = "hbase.store.file-tracker.migration.src.impl"


class Descriptor(Struct, frozen=True):
    """Settings of a table, and of each family, by name: attributes such as BLOCKSIZE, and properties of HBase."""

    settings: Mapping[str, str]
    families: Mapping[str, Mapping[str, str]]

    @property
    def coprocessors(self) -> tuple[str, ...]:
        """Return the classes of the coprocessors that the table asks its RegionServers to load."""
        values = (value for key, value in self.settings.items() if COPROCESSOR.fullmatch(key))
        return tuple(sorted(map(coprocessor_class, values)))

    def keeps_lists(self, family: str) -> bool:
        """Return whether lists say which store files of the family are live: tracker FILE, or on the way from it.

        A table that says nothing goes by its cluster's configuration, which is not here: lists that are there are held
        for valid.
        """
        settings = {**self.settings, **self.families.get(family, {})}
        tracker = settings.get(TRACKER, "FILE")
        kind = settings.get(SOURCE, "FILE") if tracker.upper() == "MIGRATION" else tracker
        return kind.upper() != "DEFAULT" and not kind.endswith(".DefaultStoreFileTracker")


def coprocessor_class(value: str) -> str:
    """Return the class in the value of a table's attribute, which is PATH|CLASS|PRIORITY|ARGUMENTS."""
    return (*value.split("|"), "")[1].strip() or value


def descriptor(cursor: Cursor) -> Descriptor:
    """Read the content of a `.tableinfo` file. Raises Unreadable where it is damaged."""
    if cursor.take(len(MAGIC), "a table's descriptor") != MAGIC:
        cursor.fail("a table's descriptor does not begin with PBUF")
    settings: dict[str, str] = {}
    families: dict[str, Mapping[str, str]] = {}
    for number, value in cursor.fields("a table's descriptor"):
        if isinstance(value, int):
            continue
        if number in {TABLE_ATTRIBUTES, TABLE_CONFIGURATION}:
            settings |= dict(_pair(cursor, value))
        elif number == FAMILIES:
            name, family_settings = _family(cursor, value)
            families[name] = family_settings
    return Descriptor(settings, families)


def _family(cursor: Cursor, message: bytes) -> tuple[str, Mapping[str, str]]:
    name = ""
    settings: dict[str, str] = {}
    for number, value in Cursor(cursor.name, cursor.offset, message).fields("a family"):
        if isinstance(value, int):
            continue
        if number == FAMILY_NAME:
            name = value.decode(errors="replace")
        elif number in {FAMILY_ATTRIBUTES, FAMILY_CONFIGURATION}:
            settings |= dict(_pair(cursor, value))
    return name, settings


def _pair(cursor: Cursor, message: bytes) -> Iterator[tuple[str, str]]:
    parts = dict(Cursor(cursor.name, cursor.offset, message).fields("a setting"))
    key, value = parts.get(KEY), parts.get(VALUE, b"")
    if isinstance(key, bytes) and isinstance(value, bytes):
        yield key.decode(errors="replace"), value.decode(errors="replace")


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
