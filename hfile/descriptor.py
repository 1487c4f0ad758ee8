"""A table's descriptor: the settings of its families, and the tracker that says which store files are live.

Source: HBase 2.6.2 HBase.proto (TableSchema, ColumnFamilySchema), StoreFileTrackerFactory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hfile.cursor import Cursor

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
