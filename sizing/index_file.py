"""How long an entry of the persisted index is: one for each cached block, of protobuf fields.

Numbers are varints, seven bits to a byte, so an entry is as long as its numbers are large: offsets grow with the store
files and with the cache, the access counter with reads, the time with how long the node is up. Source: HBase 2.6.2
BucketCacheEntry.proto and BucketProtoUtils; checked against the index of a real RegionServer.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.units import GIB, KIB, TIB

__all__ = [
    "FILE_NAME_CHARACTERS",
    "INDEX_BYTES_PER_BLOCK",
    "Numbers",
    "entry_bytes",
    "mean_varint_bytes",
    "varint_bytes",
]

BITS_PER_BYTE: Final = 7
FILE_NAME_CHARACTERS: Final = 32
"""The length of a store file's name, which each entry repeats; bulk-loaded files have longer ones."""
FLAG_BYTES: Final = 2
"""A field of a small number: tag and value."""


class Numbers(Struct, frozen=True, kw_only=True):
    """How large the numbers of an index are: offsets and counters are spread evenly below these.

    `file_bytes` is the size of a store file, `cache_bytes` that of the cache, `block_bytes` a block's cached length,
    `accesses` how often blocks were cached or read since the server started, `up_seconds` how long the node is up.
    """

    file_bytes: float
    cache_bytes: float
    block_bytes: float
    accesses: float
    up_seconds: float


def entry_bytes(numbers: Numbers, name_characters: int = FILE_NAME_CHARACTERS) -> float:
    """Mean length of one block's entry, with its own tag and length."""
    key = [
        _delimited(name_characters),
        1 + mean_varint_bytes(numbers.file_bytes),
        FLAG_BYTES,  # the block's type
        FLAG_BYTES,  # whether it is a primary replica's
    ]
    value = [
        1 + mean_varint_bytes(numbers.cache_bytes),
        1 + varint_bytes(numbers.block_bytes),
        1 + mean_varint_bytes(numbers.accesses),
        FLAG_BYTES,  # the deserialiser
        FLAG_BYTES,  # the priority
        1 + varint_bytes(1e9 * numbers.up_seconds),
        1 + varint_bytes(numbers.block_bytes),  # as it is in the store file
    ]
    return _delimited(_delimited(sum(key)) + _delimited(sum(value)))


def varint_bytes(number: float) -> int:
    """Return the length of one number, at least 0, as a varint."""
    return max(1, -(-int(number).bit_length() // BITS_PER_BYTE))


def mean_varint_bytes(limit: float) -> float:
    """Return the mean length of numbers that are spread evenly from 0 to the limit."""
    longer = (1 - float(1 << BITS_PER_BYTE * count) / limit for count in range(1, varint_bytes(limit)))
    return 1 + sum(max(0.0, share) for share in longer)


def _delimited(length: float) -> float:
    return 1 + varint_bytes(length) + length


# judgement: a large cache and its numbers after months: what is planned must find room then.
LARGE: Final = Numbers(
    file_bytes=10 * GIB, cache_bytes=TIB, block_bytes=64 * KIB, accesses=2**32, up_seconds=90 * 86_400
)
INDEX_BYTES_PER_BLOCK: Final = round(entry_bytes(LARGE), 1)
