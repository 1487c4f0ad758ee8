"""Blocks of a store file: the header of each, the contents that are read at all, and the index of data blocks.

The index says where each data block begins, and how long it is on disk. Source: HBase 2.6.2 HFileBlock and
HFileBlockIndex; checked against files that it wrote.
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable
from enum import IntEnum
from itertools import chain
from operator import add, gt, sub
from typing import Final

import google_crc32c
from msgspec import Struct

from warmbase.ground.block import HEADER_BYTES
from warmbase.hfile.codec import Codec, decompressed
from warmbase.hfile.cursor import Cursor, Unreadable

MAGICS: Final = {
    b"DATABLK*": "DATA",
    b"DATABLKE": "ENCODED_DATA",
    b"IDXLEAF2": "LEAF_INDEX",
    b"BLMFBLK2": "BLOOM_CHUNK",
    b"METABLKc": "META",
    b"IDXINTE2": "INTERMEDIATE_INDEX",
    b"IDXROOT2": "ROOT_INDEX",
    b"FILEINF2": "FILE_INFO",
    b"BLMFMET2": "GENERAL_BLOOM_META",
    b"DFBLMET2": "DELETE_FAMILY_BLOOM_META",
}
"""By the first eight bytes of a block. Source: HBase 2.6.2 BlockType."""
CHECKSUM_BYTES: Final = 4
FREE_BYTES: Final = 1 << 20
"""The bytes that a block may hold beyond its file's size: index blocks have 128 KiB, unless a table says otherwise."""


class Checksum(IntEnum):
    """Kinds of checksum by their code in a block header. Source: HBase 2.6.2 ChecksumType."""

    NULL = 0
    CRC32 = 1
    CRC32C = 2


class BlockHeader(Struct, frozen=True, kw_only=True):
    """`on_disk_bytes` is all of it, header and checksums too; `data_bytes` is without checksums.

    `payload_bytes` is what it holds once decompressed, still encoded. `previous` is the offset of the block of that
    kind before it, -1 for the first. There is a checksum for each `checksum_chunk_bytes`.
    """

    kind: str
    offset: int
    on_disk_bytes: int
    data_bytes: int
    payload_bytes: int
    previous: int
    checksum: Checksum
    checksum_chunk_bytes: int


class Block(Struct, frozen=True):
    """A block that was read: its header, and what it holds."""

    header: BlockHeader
    payload: bytes

    def cursor(self, name: str) -> Cursor:
        """From the beginning of what it holds."""
        return Cursor(name, self.header.offset, self.payload)


def data_bytes(on_disk_bytes: int, checksum_chunk_bytes: int) -> int:
    """Return the size of a block without its checksums, which take four bytes for each chunk that is begun."""
    return on_disk_bytes - CHECKSUM_BYTES * math.ceil(on_disk_bytes / (checksum_chunk_bytes + CHECKSUM_BYTES))


def block_header(cursor: Cursor) -> BlockHeader:
    """The next 33 bytes. Raises Unreadable where they are no header, or contradict themselves."""
    offset = cursor.offset
    magic = cursor.take(8, "a block's magic")
    kind = MAGICS.get(magic)
    if kind is None:
        raise Unreadable(cursor.name, offset, f"no block begins with {magic!r}")
    rest = cursor.count(4, "a block's size on disk")
    payload_bytes = cursor.count(4, "a block's size")
    previous = cursor.integer(8, "the offset of the block before")
    checksum = cursor.count(1, "the kind of checksum")
    chunk_bytes = cursor.count(4, "bytes of a checksum")
    without_checksums = cursor.count(4, "a block's size without checksums")
    if checksum not in list(Checksum) or chunk_bytes < 1:
        raise Unreadable(cursor.name, offset, f"checksums of kind {checksum} for {chunk_bytes:,} bytes each")
    checksums = CHECKSUM_BYTES * math.ceil(without_checksums / chunk_bytes)
    if not without_checksums >= HEADER_BYTES or without_checksums + checksums != HEADER_BYTES + rest:
        why = f"{HEADER_BYTES + rest:,} bytes are no {without_checksums:,} and their checksums of {chunk_bytes:,} each"
        raise Unreadable(cursor.name, offset, why)
    return BlockHeader(
        kind=kind,
        offset=offset,
        on_disk_bytes=HEADER_BYTES + rest,
        data_bytes=without_checksums,
        payload_bytes=payload_bytes,
        previous=previous,
        checksum=Checksum(checksum),
        checksum_chunk_bytes=chunk_bytes,
    )


def block(cursor: Cursor, codec: Codec, file_bytes: int) -> Block:
    """The whole block that begins here, its checksums verified, decompressed. Raises Unreadable where it is damaged.

    A header that asks for more than the file has, and 1 MiB beyond, is not believed.
    """
    start = cursor.offset
    header = block_header(cursor)
    cursor.back(HEADER_BYTES)
    if header.payload_bytes > file_bytes + FREE_BYTES:
        raise Unreadable(cursor.name, start, f"a block of {header.payload_bytes:,} bytes in so small a file")
    whole = memoryview(cursor.view(header.on_disk_bytes, "a block"))
    _check(cursor.name, header, whole)
    data = Cursor(cursor.name, start + HEADER_BYTES, whole[HEADER_BYTES : header.data_bytes])
    return Block(header, decompressed(codec, data, header.payload_bytes))


def _check(name: str, header: BlockHeader, whole: memoryview) -> None:
    """Raises Unreadable where a checksum of the block is not that of its bytes, from the header on."""
    if header.checksum is Checksum.NULL:
        return
    of = zlib.crc32 if header.checksum is Checksum.CRC32 else google_crc32c.value
    checksums = whole[header.data_bytes :]
    for number, begin in enumerate(range(0, header.data_bytes, header.checksum_chunk_bytes)):
        chunk = bytes(whole[begin : min(begin + header.checksum_chunk_bytes, header.data_bytes)])
        if of(chunk) != int.from_bytes(checksums[CHECKSUM_BYTES * number : CHECKSUM_BYTES * (number + 1)], "big"):
            raise Unreadable(name, header.offset + begin, f"the {header.checksum.name} of {len(chunk):,} bytes differs")


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
        end = 0
        for offset, size in zip(named.offsets, named.sizes, strict=True):
            if offset < end or size < HEADER_BYTES or offset + size > limit:
                where = f"and there is room from {end:,} to {limit:,}"
                cursor.fail(f"the index names a block of {size:,} bytes at {offset:,}, {where}")
            end = offset + size
    return named
