"""Reads the length of each cached block from a RegionServer's persisted index. Source: HBase BucketCacheEntry.proto."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from warmbase.hfile.cursor import Cursor

MAGIC, PLAIN_MAGIC = b"V2UF", b"PBUF"
CHUNKS = struct.Struct(">qq")
DATA = {0, 1}
"""Kinds of data blocks, plain and encoded."""


def cached_lengths(index: Path) -> dict[tuple[str, int], int]:
    """Return the bytes that each data block takes in the cache, by store file and offset."""
    cursor = Cursor(str(index), 0, index.read_bytes())
    if cursor.take(len(MAGIC), "magic") != PLAIN_MAGIC:
        cursor.take(CHUNKS.size, "numbers of chunks")
    result = {}
    while cursor.remaining_bytes:
        for entry in entries(nested(cursor, cursor.take(cursor.varint("length"), "chunk"))):
            parts = dict(nested(cursor, entry))
            key, value = (dict(nested(cursor, inner)) for inner in (parts[1], parts[2]) if isinstance(inner, bytes))
            name, offset, length = key[1], key.get(2, 0), value[2]
            assert isinstance(name, bytes)
            assert isinstance(offset, int)
            assert isinstance(length, int)
            if key[3] in DATA:
                result[name.decode(), offset] = length
    return result


def nested(cursor: Cursor, message: bytes) -> list[tuple[int, int | bytes]]:
    """Return the fields of the nested message."""
    return list(Cursor(cursor.name, cursor.offset, message).fields("a message"))


def entries(fields: list[tuple[int, int | bytes]]) -> Iterator[bytes]:
    """Return the entries of a chunk, which maps blocks or describes the cache and contains such a map."""
    whole = dict(fields)
    if isinstance(whole.get(1), int):
        inner = whole.get(5, b"")
        assert isinstance(inner, bytes)
        fields = list(Cursor("", 0, inner).fields("a map"))
    for number, value in fields:
        if number == 1 and isinstance(value, bytes):
            yield value
