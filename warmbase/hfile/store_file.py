"""One store file as it is opened: its trailer, what is read on opening, and the blocks that its index names.

Opening takes one read of the file's end for most files, and a second one where the root index is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from warmbase.ground.block import HEADER_BYTES
from warmbase.ground.units import KIB, MIB
from warmbase.hfile.block import Block, BlockHeader, Entries, block, block_header, inner_entries, joined, root_entries
from warmbase.hfile.codec import READABLE
from warmbase.hfile.cursor import Cursor, Readable, Unreadable
from warmbase.hfile.metadata import TRAILER_BYTES, Bloom, FileInfo, Trailer, bloom, file_info, trailer

LEAST_TAIL_BYTES: Final = 16 * KIB
MOST_TAIL_BYTES: Final = 160 * KIB  # a root index grows to 128 KiB, and then gets a level more
TAIL_SHARE: Final = 800  # judgement: entries of 80 bytes for blocks of 64 KiB
MOST_OPENING_BYTES: Final = 64 * MIB  # judgement: HBase keeps it on the heap; of 10 GiB it is a few hundred KiB
MID_KEY_BYTES: Final = 16
"""After the entries of a root index of several levels: where the middle key is."""
SINGLE: Final = 1
DATA: Final = ("DATA", "ENCODED_DATA")


class StoreFile(Struct, frozen=True, kw_only=True):
    """The figures that are read when a file is opened.

    `root` names data blocks where `trailer.index_levels` is 1, else blocks of the index.

    `root_bytes` is what the block of the root index holds; `opening_bytes` what the other blocks do that are read on
    opening, with their headers.
    """

    name: str
    size_bytes: int
    trailer: Trailer
    info: FileInfo
    root: Entries
    root_bytes: int
    blooms: tuple[Bloom, ...]
    general_bloom: Bloom | None
    opening_bytes: int
    checksum_chunk_bytes: int

    @property
    def bloom_bytes(self) -> int:
        """Return the bytes of all Bloom filter chunks, including those of the delete filter."""
        return sum(chunks.chunk_bytes for chunks in self.blooms)


def tail_bytes(size_bytes: int) -> int:
    """How much of a file's end is read first: for most files all that opening needs."""
    return min(size_bytes, MOST_TAIL_BYTES, LEAST_TAIL_BYTES + size_bytes // TAIL_SHARE)


def opened(readable: Readable) -> StoreFile:
    """Raises Unreadable for what is no store file, damaged, encrypted or of a codec that we do not read."""
    size, length = readable.size_bytes, tail_bytes(readable.size_bytes)
    tail = readable.read_at(size - length, length)
    trailing = trailer(readable.name, size, tail)
    if trailing.codec not in READABLE:
        raise Unreadable(readable.name, size - TRAILER_BYTES, f"its blocks are compressed by {trailing.codec.name}")
    if size - TRAILER_BYTES - trailing.load_on_open_offset > max(length, MOST_OPENING_BYTES):
        why = f"{size - TRAILER_BYTES - trailing.load_on_open_offset:,} bytes would be read on opening it"
        raise Unreadable(readable.name, size - TRAILER_BYTES, why)
    begin = size - length
    if trailing.load_on_open_offset < begin:
        tail = readable.read_at(trailing.load_on_open_offset, begin - trailing.load_on_open_offset) + tail
        begin = trailing.load_on_open_offset
    section = memoryview(tail)[trailing.load_on_open_offset - begin : -TRAILER_BYTES]
    return _of_section(Cursor(readable.name, trailing.load_on_open_offset, section), trailing, size)


def _of_section(section: Cursor, trailing: Trailer, size: int) -> StoreFile:
    """Read the sections in their order: data root, meta root, file info, and one Bloom filter of each kind at most."""
    name = section.name
    root_block = _next(section, trailing, size, "ROOT_INDEX")
    meta = _next(section, trailing, size, "ROOT_INDEX")
    if section.offset != trailing.file_info_offset:
        section.fail(f"the file info begins at {trailing.file_info_offset:,}, the trailer says")
    info_block = _next(section, trailing, size, "FILE_INFO")
    info = file_info(info_block.cursor(name))
    if info.index_encoding != "NONE":
        section.fail(f"blocks of its index are encoded as {info.index_encoding}, which is not read")
    blooms, kinds = [], ["GENERAL_BLOOM_META", "DELETE_FAMILY_BLOOM_META"]
    while section.remaining_bytes:
        if not kinds:
            section.fail("a block follows the Bloom filters")
        blooms.append(_next(section, trailing, size, *kinds))
        kinds.remove(blooms[-1].header.kind)
    general = [
        bloom(bloom_block.cursor(name)) for bloom_block in blooms if bloom_block.header.kind == "GENERAL_BLOOM_META"
    ]
    return StoreFile(
        name=name,
        size_bytes=size,
        trailer=trailing,
        info=info,
        root=_root(root_block.cursor(name), trailing),
        root_bytes=len(root_block.payload),
        blooms=tuple(bloom(bloom_block.cursor(name)) for bloom_block in blooms),
        general_bloom=general[0] if general else None,
        opening_bytes=sum(HEADER_BYTES + len(section_block.payload) for section_block in (meta, info_block, *blooms)),
        checksum_chunk_bytes=root_block.header.checksum_chunk_bytes,
    )


def _next(section: Cursor, trailing: Trailer, size: int, *kinds: str) -> Block:
    read = block(section, trailing.codec, size)
    if read.header.kind not in kinds:
        raise Unreadable(
            section.name, read.header.offset, f"a block of kind {read.header.kind}, where {' or '.join(kinds)} belongs"
        )
    return read


def _root(cursor: Cursor, trailing: Trailer) -> Entries:
    """Raises Unreadable where the index is of more levels, or of fewer, than the trailer says: it has no checksum."""
    root = root_entries(cursor, trailing.root_entries, trailing.load_on_open_offset)
    several = trailing.index_levels > SINGLE
    if cursor.remaining_bytes != MID_KEY_BYTES * several or not len(root) >= several:
        entries_text = f"{len(root):,} entries of an index of {trailing.index_levels} levels"
        cursor.fail(
            f"the trailer says that the root index is {entries_text}, and {cursor.remaining_bytes:,} bytes follow them"
        )
    return root


def index_blocks(readable: Readable, file: StoreFile, leaves: Entries, chosen: Sequence[int]) -> list[Entries]:
    """Return the entries of the chosen leaf blocks, one read for each. Data lies before its leaf."""
    read = ((leaves.offsets[place], _block(readable, file, leaves, place, "LEAF_INDEX")) for place in chosen)
    return [inner_entries(leaf.cursor(file.name), offset) for offset, leaf in read]


def lowest(readable: Readable, file: StoreFile) -> tuple[Entries, int]:
    """The blocks of the index that name data blocks, and what those hold that lie above them, but for the root.

    Only for an index of two levels or more; with two there is nothing to be read. Every level lies before the one above
    it, so that no block is read twice.
    """
    entries, above_bytes = file.root, 0
    for _ in range(file.trailer.index_levels - 2):
        places, limit = range(len(entries)), entries.offsets[0]
        read = (_block(readable, file, entries, place, "INTERMEDIATE_INDEX") for place in places)
        parts = [inner_entries(intermediate.cursor(file.name), limit) for intermediate in read]
        above_bytes += sum(part.inner_bytes for part in parts)
        entries = joined(file.name, parts)
    return entries, above_bytes


def data_blocks(readable: Readable, file: StoreFile) -> Entries:
    """Every data block, from all of the index. Raises Unreadable where a part of it is damaged."""
    if file.trailer.index_levels <= SINGLE:
        return file.root
    leaves, _ = lowest(readable, file)
    return joined(file.name, index_blocks(readable, file, leaves, range(len(leaves))))


def data_header(readable: Readable, file: StoreFile, entries: Entries, place: int) -> BlockHeader:
    """Read the header of one data block. Raises Unreadable where there is none."""
    offset, size = entries.offsets[place], entries.sizes[place]
    header = block_header(Cursor(file.name, offset, readable.read_at(offset, HEADER_BYTES)))
    if header.kind not in DATA or header.on_disk_bytes != size:
        raise Unreadable(file.name, offset, f"the index has a data block of {size:,} bytes here, it is {header.kind}")
    return header


def data_payload(readable: Readable, file: StoreFile, entries: Entries, place: int) -> bytes:
    """Return what one data block holds, still encoded. Raises Unreadable where it is damaged."""
    return _block(readable, file, entries, place, *DATA).payload


def _block(readable: Readable, file: StoreFile, entries: Entries, place: int, *kinds: str) -> Block:
    """One that an index names, whole. Raises Unreadable where it is another, or of another length."""
    offset, size = entries.offsets[place], entries.sizes[place]
    cursor = Cursor(file.name, offset, readable.read_at(offset, size))
    read = _next(cursor, file.trailer, file.size_bytes, *kinds)
    if cursor.remaining_bytes:
        cursor.fail(f"the index names a block of {size:,} bytes, and it ends here")
    return read
