"""Real store files, where what lies in each, and how they are damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

from msgspec import Struct

from tests.hfile import synthetic_file
from tests.hfile.printed import readable, written
from warmbase.ground.block import HEADER_BYTES
from warmbase.hfile.block import MAGICS, BlockHeader, block_header
from warmbase.hfile.cursor import Cursor, Unreadable
from warmbase.hfile.metadata import TRAILER_BYTES
from warmbase.hfile.store_file import opened

NAME = "damaged"
TOLD_BYTES = 100
"""The bytes of a trailer that are not zeros."""
VERSION_BYTES = 4


class ReadFile(Struct):
    """Bytes to be read, and how many were. A read beyond them is no damage but a mistake of the reader's."""

    data: bytes
    name: str = NAME
    size_bytes: int = 0
    read_bytes: int = 0

    def __post_init__(self) -> None:
        self.size_bytes = self.size_bytes or len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        """That piece."""
        assert offset >= 0 <= length, (offset, length)
        assert offset + length <= len(self.data), (offset, length)
        self.read_bytes += length
        return self.data[offset : offset + length]


class Original(Struct, frozen=True, dict=True):
    """A file that HBase wrote, and where it is worth damaging."""

    name: str
    data: bytes
    places: Mapping[str, Sequence[range]]


@cache
def originals() -> Mapping[str, Original]:
    """Return every one, by name."""
    names = {file.name for file in readable()}
    return {file.name: _original(file.name, file.read_bytes(), whole=file.name in names) for file in written()}


def _original(name: str, data: bytes, *, whole: bool) -> Original:
    end = len(data) - TRAILER_BYTES
    places = {
        "anywhere": [range(len(data))],
        "trailer": [range(end, end + TOLD_BYTES), range(len(data) - VERSION_BYTES, len(data))],
    }
    found = list(_headers(data))
    places["header"] = [range(each.offset, each.offset + HEADER_BYTES) for each in found] or places["anywhere"]
    places["block"] = [range(each.offset, each.offset + each.on_disk_bytes) for each in found] or places["anywhere"]
    if whole:
        places["opening"] = [range(opened(ReadFile(data)).trailer.load_on_open_offset, end)]
        index = [each for each in found if each.kind.endswith("INDEX")]
        places["index"] = [range(each.offset, each.offset + each.on_disk_bytes) for each in index]
    return Original(name, data, places)


def _headers(data: bytes) -> Iterator[BlockHeader]:
    """Yield the header of each block that is whole and does not contradict itself, kind by kind."""
    for magic in MAGICS:
        at = data.find(magic)
        while at >= 0:
            with suppress(Unreadable):
                header = block_header(Cursor(NAME, at, data[at : at + HEADER_BYTES]))
                if at + header.on_disk_bytes <= len(data):
                    yield header
            at = data.find(magic, at + 1)


def mend_checksums(data: bytes) -> bytes:
    """The same with checksums that are right, wherever a block is that has some: what is behind them is reached."""
    mended = bytearray(data)
    for header in _headers(data):
        end = header.offset + header.data_bytes
        right = synthetic_file.checksums(
            bytes(mended[header.offset : end]), header.checksum, header.checksum_chunk_bytes
        )
        mended[end : header.offset + header.on_disk_bytes] = right
    return bytes(mended)


def retold(data: bytes, numbers: Mapping[int, int]) -> bytes:
    """With a trailer that says these numbers, by their fields, and else what it said."""
    cursor = Cursor(NAME, 0, data[-TRAILER_BYTES:-VERSION_BYTES])
    cursor.take(8, "magic")
    said = dict(Cursor(NAME, 0, cursor.take(cursor.varint("length"), "trailer")).fields("trailer"))
    return data[:-TRAILER_BYTES] + synthetic_file.trailer(list({**said, **numbers}.items()), data[-VERSION_BYTES:])
