"""Predictions for the file-system cache: the reads of a query from a file's layout, and an LRU cache of pages.

A worker reads a Parquet file's footer, and then the column chunks that the query needs; chunks that lie close together
are read at once. Each read goes through the cache as `warmbase.engines.trino.cached_scan` says. The footer is a struct
of Thrift's compact protocol; only its lengths and offsets are used here.

Source: Trino 476, lib/trino-parquet (MetadataReader, AbstractParquetDataSource, ParquetReaderOptions) and
lib/trino-filesystem-cache-alluxio (AlluxioInputHelper); Alluxio 2.9.6, LRUCacheEvictor; parquet-format, parquet.thrift;
Thrift's compact protocol specification.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, Self

from msgspec import Struct

from warmbase.engines.trino.cached_scan import PAGE_BYTES, ByteRange, paged_read
from warmbase.ground.units import MIB

MAGIC: Final = b"PAR1"
TAIL_BYTES: Final = 8
"""The length of the footer, in 4 bytes, and the magic number."""
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
INTEGERS: Final = (4, 5, 6)
LONG_LIST: Final = 15
MORE: Final = 0x80


class ColumnChunk(Struct, frozen=True, kw_only=True):
    """The values of one column in one row group."""

    column: str
    range: ByteRange


class ParquetLayout(Struct, frozen=True, kw_only=True):
    """The parts of a Parquet file, column chunks in the order of the file."""

    object_bytes: int
    footer_bytes: int
    """The length of the footer with its tail."""
    chunks: tuple[ColumnChunk, ...]


def parquet_layout(content: bytes) -> ParquetLayout:
    """Return the layout of a whole file. Raises ValueError for what is not a Parquet file."""
    if content[-len(MAGIC) :] != MAGIC:
        raise ValueError("this is no Parquet file: it does not end with PAR1")
    footer_bytes = int.from_bytes(content[-TAIL_BYTES : -len(MAGIC)], "little") + TAIL_BYTES
    footer = CompactReader(content[-footer_bytes:-TAIL_BYTES]).struct()
    chunks = [_chunk(chunk[3]) for group in footer[4] for chunk in group[1]]
    return ParquetLayout(
        object_bytes=len(content),
        footer_bytes=footer_bytes,
        chunks=tuple(sorted(chunks, key=lambda chunk: chunk.range.begin)),
    )


def _chunk(metadata: dict[int, Any]) -> ColumnChunk:
    """Return a column chunk; it begins with its dictionary where it has one."""
    begin = min(metadata[9], metadata.get(11) or metadata[9])
    path = b".".join(metadata[3]).decode()
    return ColumnChunk(column=path, range=ByteRange(begin, begin + metadata[7]))


class CompactReader:
    """Reads values of Thrift's compact protocol; a struct is a dict by the numbers of its fields."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self) -> dict[int, Any]:
        """Read a struct."""
        fields, number = dict[int, Any](), 0
        while kind := self._byte():
            step, kind = divmod(kind, 16)
            number = number + step if step else self._integer()
            fields[number] = kind == TRUE if kind in {TRUE, FALSE} else self._value(kind)
        return fields

    def _value(self, kind: int) -> object:
        if kind in INTEGERS:
            return self._integer()
        if kind in {TRUE, FALSE, BYTE}:
            return self._byte()
        if kind == DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind == BINARY:
            return self._take(self._unsigned())
        if kind in {LIST, SET}:
            count, kind = divmod(self._byte(), 16)
            return [self._value(kind) for _ in range(self._unsigned() if count == LONG_LIST else count)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"Thrift type {kind} in the footer of a Parquet file")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= MORE:
            value |= (byte - MORE) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        """Read an integer in zigzag encoding."""
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)


FOOTER_BYTES: Final = 48 * 1024
"""The bytes at the end of a file that Trino reads first (MetadataReader.EXPECTED_FOOTER_SIZE)."""
MERGE_BYTES: Final = MIB
"""The longest gap that is read over (`parquet.max-merge-distance`)."""
BUFFER_BYTES: Final = 8 * MIB
"""The longest read (`parquet.max-buffer-size`)."""
SMALL_FILE_BYTES: Final = 3 * MIB
"""A file up to this length is read whole (`parquet.small-file-threshold`)."""


class StoredObject(Struct, frozen=True, kw_only=True):
    """A Parquet file in S3."""

    name: str
    layout: ParquetLayout


class QueryBytes(Struct, frozen=True, kw_only=True):
    """The bytes that a query reads from the cache and from S3, and the GETs that fetch the latter."""

    cached_bytes: int
    fetched_bytes: int
    gets: int

    def __sub__(self, earlier: Self) -> QueryBytes:
        """Return what was read between the two."""
        return QueryBytes(
            cached_bytes=self.cached_bytes - earlier.cached_bytes,
            fetched_bytes=self.fetched_bytes - earlier.fetched_bytes,
            gets=self.gets - earlier.gets,
        )

    @property
    def hit_ratio(self) -> float:
        """Return the share of bytes that come from the cache."""
        read_bytes = self.cached_bytes + self.fetched_bytes
        return self.cached_bytes / read_bytes if read_bytes else 1.0


def reads(layout: ParquetLayout, columns: Collection[str]) -> tuple[ByteRange, ...]:
    """Return the reads of a file for a query of these columns, in order: the footer, then the chunks."""
    end = layout.object_bytes
    if end <= SMALL_FILE_BYTES:
        return (ByteRange(0, end),)
    tails = [min(end, FOOTER_BYTES), *([layout.footer_bytes] if layout.footer_bytes > FOOTER_BYTES else [])]
    wanted = [chunk.range for chunk in layout.chunks if chunk.column in columns]
    return (*(ByteRange(end - tail, end) for tail in tails), *_reads_of_chunks(wanted))


def _reads_of_chunks(chunks: Iterable[ByteRange]) -> list[ByteRange]:
    """Return the reads of column chunks: near ones merged, long ones split."""
    small = [chunk for chunk in chunks if chunk.bytes <= BUFFER_BYTES]
    merged: list[ByteRange] = []
    for chunk in sorted(small, key=lambda chunk: chunk.begin):
        last = merged[-1] if merged else None
        if last and chunk.end - last.begin <= BUFFER_BYTES and chunk.begin <= last.end + MERGE_BYTES:
            merged[-1] = ByteRange(last.begin, max(last.end, chunk.end))
        else:
            merged.append(chunk)
    large = [piece for chunk in chunks if chunk.bytes > BUFFER_BYTES for piece in _pieces(chunk)]
    return sorted([*merged, *large], key=lambda read: read.begin)


def _pieces(chunk: ByteRange) -> Iterator[ByteRange]:
    for begin in range(chunk.begin, chunk.end, BUFFER_BYTES):
        yield ByteRange(begin, min(begin + BUFFER_BYTES, chunk.end))


class PageCache:
    """The pages that a worker's cache holds, the least recently read first."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._pages: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._bytes = 0

    @property
    def pages(self) -> int:
        """Return how many pages are cached."""
        return len(self._pages)

    def query(self, objects: Iterable[StoredObject], columns: Collection[str]) -> QueryBytes:
        """Read the columns of the objects, one object after another; return the bytes."""
        queried = [self._scan(stored, reads(stored.layout, columns)) for stored in objects]
        return QueryBytes(
            cached_bytes=sum(scan.cached_bytes for scan in queried),
            fetched_bytes=sum(scan.fetched_bytes for scan in queried),
            gets=sum(scan.gets for scan in queried),
        )

    def _scan(self, stored: StoredObject, ranges: Sequence[ByteRange]) -> QueryBytes:
        cached_bytes = fetched_bytes = gets = 0
        buffered = ByteRange(0, 0)
        for wanted in ranges:
            # The page that the last read ended in is in memory: such bytes count neither as cached nor as fetched.
            begin = min(buffered.end, wanted.end) if buffered.begin <= wanted.begin < buffered.end else wanted.begin
            read = paged_read(ByteRange(begin, wanted.end), stored.layout.object_bytes, self._cached(stored.name))
            cached_bytes += read.cached_bytes
            self._touch(stored.name, ByteRange(begin, begin + read.cached_bytes))
            if read.fetched:
                fetched_bytes += read.fetched.bytes
                gets += 1
                self._put(stored, read.fetched)
            elif begin < wanted.end and wanted.end % PAGE_BYTES and wanted.end < stored.layout.object_bytes:
                page = wanted.end // PAGE_BYTES
                buffered = ByteRange(page * PAGE_BYTES, min((page + 1) * PAGE_BYTES, stored.layout.object_bytes))
        return QueryBytes(cached_bytes=cached_bytes, fetched_bytes=fetched_bytes, gets=gets)

    def _cached(self, name: str) -> frozenset[int]:
        return frozenset(page for other, page in self._pages if other == name)

    def _touch(self, name: str, wanted: ByteRange) -> None:
        for page in wanted.pages:
            self._pages.move_to_end((name, page))

    def _put(self, stored: StoredObject, fetched: ByteRange) -> None:
        """Store the pages that are not cached yet; each evicts the least recently read ones until it fits."""
        for page in fetched.pages:
            if (stored.name, page) in self._pages:
                continue
            page_bytes = min(PAGE_BYTES, stored.layout.object_bytes - page * PAGE_BYTES)
            while self._bytes + page_bytes > self._capacity_bytes:
                self._bytes -= self._pages.popitem(last=False)[1]
            self._pages[stored.name, page] = page_bytes
            self._bytes += page_bytes
