"""Figures of a Bloom filter that are read from its metadata: the length of its chunks, and the number of keys.

Source: HBase 2.6.2 CompoundBloomFilter.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hfile.cursor import Cursor

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
