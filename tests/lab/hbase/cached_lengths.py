"""What a RegionServer's persisted index says of each block that it has cached. Source: HBase BucketCacheEntry.proto."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from hfile.cursor import Cursor

MAGIC, PLAIN_MAGIC = b"V2UF", b"PBUF"
CHUNKS = struct.Struct(">qq")
DATA = {0, 1}
"""Kinds of data blocks, plain and encoded."""


def cached_lengths(index: Path) -> dict[tuple[str, int], int]:
    """Of data blocks: bytes in the cache, by store file and offset."""
    cursor = Cursor(str(index), 0, index.read_bytes())
    if cursor.take(len(MAGIC), "magic") != PLAIN_MAGIC:
        cursor.take(CHUNKS.size, "numbers of chunks")
    found = {}
    while cursor.remaining_bytes:
        for entry in entries(nested(cursor, cursor.take(cursor.varint("length"), "chunk"))):
            parts = dict(nested(cursor, entry))
            key, value = (dict(nested(cursor, inner)) for inner in (parts[1], parts[2]) if isinstance(inner, bytes))
            name, offset, length = key[1], key.get(2, 0), value[2]
            assert isinstance(name, bytes)
            assert isinstance(offset, int)
            assert isinstance(length, int)
            if key[3] in DATA:
                found[name.decode(), offset] = length
    return found


def nested(cursor: Cursor, message: bytes) -> list[tuple[int, int | bytes]]:
    """Its fields."""
    return list(Cursor(cursor.name, cursor.offset, message).fields("a message"))


def entries(fields: list[tuple[int, int | bytes]]) -> Iterator[bytes]:
    """Of a chunk, which is a map of blocks, or describes the cache and has one."""
    whole = dict(fields)
    if isinstance(whole.get(1), int):
        inner = whole.get(5, b"")
        assert isinstance(inner, bytes)
        fields = list(Cursor("", 0, inner).fields("a map"))
    for number, value in fields:
        if number == 1 and isinstance(value, bytes):
            yield value
