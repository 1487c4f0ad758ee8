"""The bytes that one data block takes in the BucketCache, and how the lengths of many blocks are spread.

HBase stores a block with its 33-byte header, its payload (decompressed but still encoded; as on disk under
`hbase.block.data.cachecompressed`), 13 bytes of metadata and, when the cache file is persistent, an 8-byte time stamp.
Checksums are not stored. Source: HBase 2.6.2 HFileBlock and BucketCache.RAMQueueEntry.

Where store files were inspected, the histogram of their blocks (`FamilyTotals`) replaces the estimate.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.ground.errors import InvalidInput, Problem

Floats = NDArray[np.float64]

HEADER_BYTES: Final = 33  # HConstants.HFILEBLOCK_HEADER_SIZE, with checksum fields
METADATA_BYTES: Final = 13  # HFileBlock.BLOCK_METADATA_SPACE: checksum flag, file offset, next on-disk size
STAMP_BYTES: Final = 8  # BucketCache.RAMQueueEntry.writeToCache: cached time, persistent engines only
BLOCKS: Final = operator.itemgetter(1)  # of a pair of a histogram
KEY_LENGTH_BYTES: Final = 4  # KeyValue: length of the key, then
VALUE_LENGTH_BYTES: Final = 4  # length of the value,
ROW_LENGTH_BYTES: Final = 2  # length of the row,
FAMILY_LENGTH_BYTES: Final = 1  # length of the family,
TIMESTAMP_BYTES: Final = 8
TYPE_BYTES: Final = 1
# A Hadoop vint of 0: compaction zeroes the sequence numbers that no scanner needs; a fresh flush takes up to 9.
# Measured on a file of 2.6.2: 64 cells of 1,000-byte values with 28-byte keys make a payload of 64 x 1,037.
SEQUENCE_ID_BYTES: Final = 1
# judgement: overshoots told apart; at a 64 KiB cell one every 64 bytes, a quarter of the step of bucket sizes.
OVERSHOOT_POINTS: Final = 1024
# judgement: ratios told apart within the spread of a compression ratio.
RATIO_POINTS: Final = 9
WORKLOADS: Final = 32  # whose lengths are cached: those on disk are mostly those in the cache
TAIL_POINTS: Final = 512  # judgement: the longest block in a thousand is told apart


class LengthHistogram(Struct, frozen=True, kw_only=True, dict=True, cache_hash=True):
    """How many blocks have which cached length: `((bytes, blocks), …)`, ascending, each length once.

    Build it with `of`, which sorts and merges. Raises InvalidInput for an empty histogram, or a length or a
    number of blocks below 1.
    """

    pairs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        lengths, counts = zip(*self.pairs, strict=True) if self.pairs else ((), ())
        if not lengths or min(lengths) < 1 or min(counts) < 1:
            raise InvalidInput([_bad_histogram("it is empty, or holds a length or a count below 1")])
        if any(map(operator.ge, lengths, lengths[1:])):
            raise InvalidInput([_bad_histogram("its lengths are not ascending; build it with LengthHistogram.of")])

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> LengthHistogram:
        """The histogram of (bytes, blocks) pairs in any order; equal lengths are added up."""
        merged: Counter[int] = Counter()
        for length, blocks in pairs:
            merged[length] += blocks
        return cls(pairs=tuple(sorted(merged.items())))

    @cached_property
    def blocks(self) -> int:
        """How many blocks there are."""
        return sum(map(BLOCKS, self.pairs))

    @cached_property
    def total_bytes(self) -> int:
        """Return all lengths added up; no slot rounding."""
        return sum(length * blocks for length, blocks in self.pairs)

    @property
    def mean_bytes(self) -> float:
        """Return the mean cached length."""
        return self.total_bytes / self.blocks

    @property
    def largest_bytes(self) -> int:
        """Return the length of the longest block."""
        return self.pairs[-1][0]

    def __add__(self, other: LengthHistogram) -> LengthHistogram:
        """Return one histogram of both, as two column families share the cache of one RegionServer."""
        return LengthHistogram.of((*self.pairs, *other.pairs))


def _bad_histogram(why: str) -> Problem:
    return Problem(
        where="block lengths",
        what="the histogram of cached lengths cannot be used",
        why=why,
        fix="give at least one pair of bytes and blocks, both whole numbers from 1",
    )


def cached_bytes(payload_bytes: int, *, persistent: bool = True) -> int:
    """L, the bytes one block occupies in the cache file before it is rounded up to a slot."""
    return HEADER_BYTES + payload_bytes + METADATA_BYTES + (STAMP_BYTES if persistent else 0)


def key_value_bytes(*, value_bytes: int, row_key_bytes: int, family_bytes: int, qualifier_bytes: int) -> int:
    """Return one cell as an HFile v3 serialises it: lengths, key, value and sequence id; no tags.

    Source: HBase 2.6 KeyValue layout and NoOpDataBlockEncoder; checked against a file written by 2.6.2.
    """
    key = ROW_LENGTH_BYTES + row_key_bytes + FAMILY_LENGTH_BYTES + family_bytes + qualifier_bytes
    key += TIMESTAMP_BYTES + TYPE_BYTES
    return KEY_LENGTH_BYTES + VALUE_LENGTH_BYTES + key + value_bytes + SEQUENCE_ID_BYTES


def payload_range(block_bytes: int, cell_bytes: int) -> tuple[int, int]:
    """Return the least and the greatest unencoded payload of a block.

    A block closes before the next cell once it has reached the block size, so it overshoots by less than one
    cell. A cell that reaches the block size by itself has a block to itself. Raises InvalidInput below 1 byte.
    Source: HBase 2.6 HFileWriterImpl.checkBlockBoundary.
    """
    if block_bytes < 1 or cell_bytes < 1:
        raise InvalidInput([_bad_shape(f"block_bytes is {block_bytes} and cell_bytes is {cell_bytes}")])
    if cell_bytes >= block_bytes:
        return cell_bytes, cell_bytes
    return block_bytes, block_bytes + cell_bytes - 1


def block_lengths(
    block_bytes: int,
    cell_bytes: int,
    *,
    payload_ratio: float = 1.0,
    ratio_spread_fraction: float = 0.0,
) -> LengthHistogram:
    """Return the cached lengths of a family's data blocks in a persistent cache file, from its settings alone.

    `cell_bytes` is the mean serialised cell (`key_value_bytes`). The overshoot is uniform from 0 to one cell.
    `payload_ratio` is cached payload over unencoded payload: that of the encoding (a little above 1 for
    ROW_INDEX_V1) and, under `hbase.block.data.cachecompressed`, of the codec (0.33 for 3:1); real ratios
    differ by block, here uniformly within `ratio_spread_fraction` of the mean. Counts are weights: only their
    proportion means anything. Raises InvalidInput for a ratio that is not positive or a spread outside [0, 1).
    """
    if not (payload_ratio > 0 and 0 <= ratio_spread_fraction < 1):
        raise InvalidInput([_bad_shape(f"ratio is {payload_ratio}, its spread is {ratio_spread_fraction}")])
    least, greatest = payload_range(block_bytes, cell_bytes)
    payloads = np.rint(_evenly(least, greatest, OVERSHOOT_POINTS))
    return _cached_lengths(payloads, _ratios(payload_ratio, ratio_spread_fraction))


@lru_cache(maxsize=WORKLOADS)
def spread_block_lengths(
    block_bytes: int,
    cell_bytes: int,
    *,
    payload_ratio: float = 1.0,
    ratio_spread_fraction: float = 0.0,
) -> LengthHistogram:
    """`block_lengths` where only the mean of the cells is known, not that all are alike.

    judgement: half of the blocks overshoot as cells of one size do, uniformly up to a cell, and half as cells of
    exponentially spread sizes do, exponentially by a cell in the mean, for that law has no memory. Slots made for the
    first alone would send every longer block to the largest, and hold half of what HBase's default list does.
    """
    uniform = block_lengths(
        block_bytes, cell_bytes, payload_ratio=payload_ratio, ratio_spread_fraction=ratio_spread_fraction
    )
    ratios = _ratios(payload_ratio, ratio_spread_fraction)
    tail = _cached_lengths(block_bytes + cell_bytes * _exponential(), ratios)
    in_tail, in_uniform = tail.blocks, uniform.blocks
    return LengthHistogram.of(
        [(length, blocks * in_tail) for length, blocks in uniform.pairs]
        + [(length, blocks * in_uniform) for length, blocks in tail.pairs]
    )


def _cached_lengths(payloads: Floats, ratios: Floats) -> LengthHistogram:
    """Return the cached lengths of blocks with each of these payloads at each of these ratios, one block of each."""
    payload_bytes = np.maximum(1, np.rint(payloads[:, None] * ratios)).astype(np.int64)
    lengths, blocks = np.unique(payload_bytes + cached_bytes(0), return_counts=True)
    return LengthHistogram(pairs=tuple(zip(lengths.tolist(), blocks.tolist(), strict=True)))


def _ratios(mean: float, spread_fraction: float) -> Floats:
    return mean * (1 + _evenly(-spread_fraction, spread_fraction))


@cache
def _exponential() -> Floats:
    """Points of equal weight that stand for an exponential spread with mean 1; the longest is seven means."""
    return np.array([-math.log(1 - (point + 0.5) / TAIL_POINTS) for point in range(TAIL_POINTS)])


def _evenly(least: float, greatest: float, points: int = RATIO_POINTS) -> Floats:
    """Points spread evenly over [least, greatest], both ends among them; one where they coincide."""
    return np.linspace(least, greatest, points if least < greatest else 1)


def _bad_shape(why: str) -> Problem:
    return Problem(
        where="block shape",
        what="no block has these dimensions",
        why=why,
        fix="give a block size and a cell of at least 1 byte, a ratio above 0 and a spread from 0 to below 1",
    )


TABLE_FORM: Final = r"^(\w+:)?\w[\w.-]*$"
"""A table's name with its namespace. Source: HBase 2.6.2 TableName.isLegalTableQualifierName, isLegalNamespaceName."""
FAMILY_FORM: Final = r"^[^.:/\\\x00-\x1f\x7f-\x9f][^:/\\\x00-\x1f\x7f-\x9f]*$"
"""The name of a column family, which may contain quotes and blanks.

Source: HBase 2.6.2 ColumnFamilyDescriptorBuilder.isLegalColumnFamilyName.
"""


class FamilyTotals(Struct, frozen=True, kw_only=True):
    """One column family of one table, all its store files together.

    `lengths` are cached lengths with blocks decompressed (but still encoded), `compressed_lengths` with blocks as on
    disk, which is what `hbase.block.data.cachecompressed` caches; both count every data block of the family.
    `index_bytes` are its leaf and root indexes, `bloom_bytes` its Bloom chunks: the combined cache keeps both in L1.
    `bloom` is their kind, keys and values are means, `block_bytes` is the BLOCKSIZE that its table states; empty, or 0,
    where nobody has said. `zstd_ratio` is by how much ZSTD would shorten blocks that are not compressed. Of `files` so
    many were read, and perhaps `unread_bytes` are in such as cannot be, and are missing in every figure;
    `relative_error` is half the 95 % interval of its cached bytes.
    """

    table: str
    name: str
    lengths: LengthHistogram
    compressed_lengths: LengthHistogram
    index_bytes: int
    bloom_bytes: int
    cells: int
    rows: int
    largest_cell_bytes: int
    codec: str
    encoding: str
    files: int
    regions: int
    bloom: str = ""
    key_bytes: int = 0
    value_bytes: int = 0
    block_bytes: int = 0
    files_read: int = 0
    unread_bytes: int = 0
    zstd_ratio: float = 0.0
    relative_error: float = 0.0


class Inspection(Struct, frozen=True, kw_only=True):
    """A whole HBase root, as it was at `inspected_at`; `stored_bytes` is what lay in it."""

    root: str
    inspected_at: str
    stored_bytes: int
    families: tuple[FamilyTotals, ...]
    coprocessors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The classes of the coprocessors of each table that has some."""

    def of_table(self, name: str) -> Inspection:
        """Return the inspection of one table, or of one family if the name is `table/family`.

        The stored bytes are divided among families in proportion to the bytes of their blocks, indexes and Bloom
        chunks. Raises LookupError if the inspection has no such table or family.
        """
        families = tuple(family for family in self.families if name in {family.table, f"{family.table}/{family.name}"})
        if not families:
            known = ", ".join(dict.fromkeys(f"{family.table}/{family.name}" for family in self.families))
            raise LookupError(f"the inspection of {self.root} has no table or family {name}; it has {known}")
        share = sum(map(_stored, families)) / sum(map(_stored, self.families))
        tables = {family.table for family in families}
        return replace(
            self,
            families=families,
            stored_bytes=max(1, round(share * self.stored_bytes)),
            coprocessors={table: classes for table, classes in self.coprocessors.items() if table in tables},
        )

    @property
    def rows(self) -> int:
        """Rows of the largest family of each table, for a row has cells in several."""
        tables = {family.table for family in self.families}
        return sum(max(family.rows for family in self.families if family.table == table) for table in tables)

    @property
    def regions(self) -> int:
        """Return the regions of all tables that have a store file; families share their table's."""
        tables = {family.table for family in self.families}
        return sum(max(family.regions for family in self.families if family.table == table) for table in tables)

    @property
    def l1_bytes(self) -> int:
        """Return the bytes of indexes and Bloom chunks of all families."""
        return sum(family.index_bytes + family.bloom_bytes for family in self.families)

    def lengths(self, *, compressed: bool) -> LengthHistogram:
        """Cached lengths of all data blocks, as the cache would hold them."""
        histograms = [family.compressed_lengths if compressed else family.lengths for family in self.families]
        return LengthHistogram.of(pair for histogram in histograms for pair in histogram.pairs)


def _stored(family: FamilyTotals) -> int:
    return family.compressed_lengths.total_bytes + family.index_bytes + family.bloom_bytes
