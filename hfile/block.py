"""Blocks of a store file: the header of each, and what those hold that are read at all.

Source: HBase 2.6.2 HFileBlock; checked against files that it wrote.
"""

from __future__ import annotations

import math
import zlib
from enum import IntEnum
from typing import Final

import google_crc32c
from msgspec import Struct

from hfile.codec import Codec, decompressed
from hfile.cursor import Cursor
from hfile.readable import Unreadable
from sizing.block import HEADER_BYTES

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
