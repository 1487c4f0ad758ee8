"""The index of data blocks: where each begins, and how long it is on disk. Source: HBase 2.6.2 HFileBlockIndex."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable
from itertools import chain
from operator import add, gt, sub
from typing import Final

from msgspec import Struct

from hfile.cursor import Cursor
from hfile.readable import Unreadable
from sizing.block import HEADER_BYTES

ENTRY: Final = struct.Struct(">qi")
LEAST_ROOT_ENTRY_BYTES: Final = ENTRY.size + 1
PLACE_BYTES: Final = 4
"""Before the entries of an inner block: where each lies, and where the last one ends."""


class Entries(Struct, frozen=True):
    """Blocks that one block of an index names: `offsets`, and `sizes` on disk with header and checksums, side by side.

    No block of a file lies before or within the one that is named before it, and none beyond the block that names it.
    `key_bytes` is of all their keys.
    """

    offsets: array[int]
    sizes: array[int]
    key_bytes: int = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self.offsets)

    @property
    def inner_bytes(self) -> int:
        """Return what a leaf or an intermediate block with just these holds."""
        return 2 * PLACE_BYTES + len(self) * (PLACE_BYTES + ENTRY.size) + self.key_bytes


def root_entries(cursor: Cursor, count: int, limit: int) -> Entries:
    """So many entries of a root index, each with a key after it. Raises Unreadable where they are not all there.

    What is named ends before `limit`.
    """
    if count * LEAST_ROOT_ENTRY_BYTES > cursor.remaining_bytes:
        cursor.fail(f"an index of {count:,} entries does not fit into {cursor.remaining_bytes:,} bytes")
    offsets, sizes, key_bytes = array("q"), array("q"), 0
    for _ in range(count):
        offset, size = ENTRY.unpack(cursor.view(ENTRY.size, "an entry of the index"))
        key_bytes += len(cursor.array("a key of the index"))
        offsets.append(offset)
        sizes.append(size)
    return _in_order(cursor, Entries(offsets, sizes, key_bytes), limit)


def inner_entries(cursor: Cursor, limit: int) -> Entries:
    """Read the entries of a leaf or intermediate block, which begins with their offsets; there is at least one."""
    count = cursor.count(4, "entries of a block of the index")
    if not count or (count + 1) * PLACE_BYTES + count * ENTRY.size > cursor.remaining_bytes:
        cursor.fail(f"an index block of {count:,} entries does not fit into {cursor.remaining_bytes:,} bytes")
    places = array("i", cursor.take(PLACE_BYTES * (count + 1), "places of entries"))
    if sys.byteorder == "little":
        places.byteswap()
    body = cursor.take(cursor.remaining_bytes, "entries")
    if places[0] < 0 or min(map(sub, places[1:], places)) < ENTRY.size or places[-1] > len(body):
        cursor.fail(f"{count:,} entries lie from {places[0]:,} to {places[-1]:,} of {len(body):,} bytes")
    offsets, sizes = array("q"), array("q")
    for begin in places[:-1]:
        offset, size = ENTRY.unpack_from(body, begin)
        offsets.append(offset)
        sizes.append(size)
    return _in_order(cursor, Entries(offsets, sizes, places[-1] - count * ENTRY.size), limit)


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


def _in_order(cursor: Cursor, named: Entries, limit: int) -> Entries:
    """The same. Raises Unreadable for a block that begins before the one before it ended, or ends after `limit`."""
    ends, begins = chain([0], map(add, named.offsets, named.sizes)), chain(named.offsets, [limit])
    if any(map(gt, ends, begins)) or min(named.sizes, default=HEADER_BYTES) < HEADER_BYTES:
        _find(cursor, named, limit)
    return named


def _find(cursor: Cursor, named: Entries, limit: int) -> None:
    """Says which one it is."""
    end = 0
    for offset, size in zip(named.offsets, named.sizes, strict=True):
        if offset < end or size < HEADER_BYTES or offset + size > limit:
            where = f"and there is room from {end:,} to {limit:,}"
            cursor.fail(f"the index names a block of {size:,} bytes at {offset:,}, {where}")
        end = offset + size
