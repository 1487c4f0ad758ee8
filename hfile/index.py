"""The index of data blocks: where each begins, and how long it is on disk. Source: HBase 2.6.2 HFileBlockIndex."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from hfile.cursor import Cursor
from hfile.readable import Unreadable

__all__ = ["ENTRY", "PLACE_BYTES", "Entries", "inner_entries", "joined", "root_entries"]

ENTRY: Final = struct.Struct(">qi")
LEAST_ROOT_ENTRY_BYTES: Final = ENTRY.size + 1
PLACE_BYTES: Final = 4
"""Before the entries of an inner block: where each lies, and where the last one ends."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Blocks that one block of an index names: `offsets`, and `sizes` on disk with header and checksums, side by side.

    No block of a file lies before or within the one that is named before it. `key_bytes` is of all their keys.
    """

    offsets: array[int]
    sizes: array[int]
    key_bytes: int = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self.offsets)

    @property
    def inner_bytes(self) -> int:
        """What a leaf or an intermediate block with just these holds."""
        return 2 * PLACE_BYTES + len(self) * (PLACE_BYTES + ENTRY.size) + self.key_bytes


def root_entries(cursor: Cursor, count: int) -> Entries:
    """So many entries of a root index, each with a key after it. Raises Unreadable where they are not all there."""
    if count * LEAST_ROOT_ENTRY_BYTES > cursor.left:
        cursor.fail(f"an index of {count:,} entries does not fit into {cursor.left:,} bytes")
    offsets, sizes, key_bytes, end = array("q"), array("q"), 0, 0
    for _ in range(count):
        offset, size = ENTRY.unpack(cursor.take(ENTRY.size, "an entry of the index"))
        end = _end(cursor, end, offset, size)
        key_bytes += len(cursor.array("a key of the index"))
        offsets.append(offset)
        sizes.append(size)
    return Entries(offsets, sizes, key_bytes)


def inner_entries(cursor: Cursor) -> Entries:
    """Of a leaf or an intermediate block, which has the places of its entries first."""
    count = cursor.count(4, "entries of a block of the index")
    if (count + 1) * PLACE_BYTES + count * ENTRY.size > cursor.left:
        cursor.fail(f"an index block of {count:,} entries does not fit into {cursor.left:,} bytes")
    places = struct.unpack(f">{count + 1}i", cursor.take(PLACE_BYTES * (count + 1), "places of entries"))
    body = cursor.take(cursor.left, "entries")
    offsets, sizes, end = array("q"), array("q"), 0
    for begin, after in pairwise(places):
        if not (begin >= 0 and begin + ENTRY.size <= after <= len(body)):
            cursor.fail(f"an entry lies from {begin:,} to {after:,} of {len(body):,} bytes")
        offset, size = ENTRY.unpack_from(body, begin)
        end = _end(cursor, end, offset, size)
        offsets.append(offset)
        sizes.append(size)
    return Entries(offsets, sizes, places[-1] - count * ENTRY.size)


def joined(cursor_name: str, parts: Iterable[Entries]) -> Entries:
    """One after the other. Raises Unreadable where one begins before the end of the one before."""
    offsets, sizes, key_bytes, end = array("q"), array("q"), 0, 0
    for part in parts:
        if part and part.offsets[0] < end:
            raise Unreadable(cursor_name, part.offsets[0], f"the index names a block before the one at {end:,} ended")
        if part:
            end = part.offsets[-1] + part.sizes[-1]
        offsets.extend(part.offsets)
        sizes.extend(part.sizes)
        key_bytes += part.key_bytes
    return Entries(offsets, sizes, key_bytes)


def _end(cursor: Cursor, before: int, offset: int, size: int) -> int:
    if offset < before or size <= 0:
        cursor.fail(f"the index names {size:,} bytes at {offset:,}, and the block before ends at {before:,}")
    return offset + size
