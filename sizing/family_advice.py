"""Advice that the store files of a column family give: which of its settings to change.

Whether to cache it, block size, encoding, codec, Bloom filter. Files say how data lie, and not how they are read: each
piece of advice says what it would save, and what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from sizing.block import KEY_LENGTH_BYTES, SEQUENCE_ID_BYTES, VALUE_LENGTH_BYTES
from sizing.heap import index_bytes_per_block
from sizing.inspection import FamilyTotals, Inspection
from sizing.units import KIB, format_size
from sizing.workload import ENCODED_KEY_FRACTION

__all__ = ["Advice", "advice"]

NOMINAL_BLOCK_BYTES: Final = 64 * KIB
"""HBase's BLOCKSIZE unless a table states another."""
COLLECTOR: Final = "zgc"
LARGE_CELL: Final = 2  # judgement: blocks of one cell each, twice as long as a block is meant to be
SMALL_BLOCK_BYTES: Final = 16 * KIB  # judgement: below it the heap's 540 B a block are 3 % of what is cached
SMALL_HEAP_BYTES: Final = 256 << 20  # judgement: a plan's step of heap; less changes nothing
LARGE_BLOCK_BYTES: Final = 160 * KIB  # judgement: more than twice the default
SMALL_CELL_FRACTION: Final = 1 / 32  # judgement: of a block, where one is read for one cell
KEY_FRACTION: Final = 0.4  # judgement: published figures for FAST_DIFF begin at keys as long as values
WORTH_RATIO: Final = 1.3  # judgement: ZSTD costs processor time at each miss
FILES_OF_REGION: Final = 1.5  # judgement: with one file each, a filter spares nothing


class Advice(Struct, frozen=True, kw_only=True):
    """One setting of one family: what to change, why, and what it changes besides."""

    table: str
    family: str
    setting: str
    why: str
    but: str


def advice(inspection: Inspection) -> tuple[Advice, ...]:
    """Return the advice, family by family."""
    return tuple(piece for family in inspection.families for rule in _RULES for piece in rule(family))


def _advised(family: FamilyTotals, setting: str, why: str, but: str) -> Advice:
    return Advice(table=family.table, family=family.name, setting=setting, why=why, but=but)


def _large_cells(family: FamilyTotals) -> Iterator[Advice]:
    nominal = family.block_bytes or NOMINAL_BLOCK_BYTES
    mean = family.lengths.mean_bytes
    if mean >= LARGE_CELL * nominal and family.cells <= 2 * family.lengths.blocks:
        yield _advised(
            family,
            "cache: false for the family (BLOCKCACHE => 'false'), or a family of its own as MOB",
            f"its blocks hold one cell of {format_size(round(mean))} each and would take "
            f"{format_size(family.lengths.total_bytes)} of the cache",
            "not where these are the reads that must be fast",
        )


def _small_blocks(family: FamilyTotals) -> Iterator[Advice]:
    mean, blocks = family.lengths.mean_bytes, family.lengths.blocks
    heap_bytes = blocks * index_bytes_per_block(COLLECTOR) + family.index_bytes
    fewer = mean / NOMINAL_BLOCK_BYTES
    if (
        family.block_bytes < NOMINAL_BLOCK_BYTES
        and mean < SMALL_BLOCK_BYTES
        and heap_bytes * (1 - fewer) > SMALL_HEAP_BYTES
    ):
        yield _advised(
            family,
            "BLOCKSIZE => '65536'",
            f"{blocks:,} blocks of {format_size(round(mean))} take {format_size(heap_bytes)} of all heaps once cached; "
            f"at 64 KiB {format_size(round(heap_bytes * fewer))} (estimate)",
            "each read of one cell then takes four times as much from the cache's volume, or more",
        )


def _large_blocks(family: FamilyTotals) -> Iterator[Advice]:
    mean = family.lengths.mean_bytes
    cell = family.lengths.total_bytes / family.cells
    if family.block_bytes != NOMINAL_BLOCK_BYTES and mean > LARGE_BLOCK_BYTES and cell < SMALL_CELL_FRACTION * mean:
        yield _advised(
            family,
            "BLOCKSIZE => '65536'",
            f"a read of one cell of {format_size(round(cell))} takes a block of {format_size(round(mean))} from the "
            "cache's volume",
            "scans read as fast either way; the index of the cache grows with the blocks",
        )


def _keys(family: FamilyTotals) -> Iterator[Advice]:
    overhead = KEY_LENGTH_BYTES + VALUE_LENGTH_BYTES + SEQUENCE_ID_BYTES + family.key_bytes
    share = overhead / (overhead + family.value_bytes)
    if family.encoding == "NONE" and family.key_bytes and share >= KEY_FRACTION:
        cached_bytes = family.lengths.total_bytes
        encoded_bytes = round(cached_bytes * (1 - share * (1 - ENCODED_KEY_FRACTION["FAST_DIFF"])))
        yield _advised(
            family,
            "DATA_BLOCK_ENCODING => 'FAST_DIFF'",
            f"{share:.0%} of its bytes are keys, of {family.key_bytes} B for values of {family.value_bytes} B; encoded,"
            f" as blocks also are in the cache, it would take {format_size(encoded_bytes)} there, not"
            f" {format_size(cached_bytes)} (estimate)",
            "a seek within a block then decodes from its beginning; ROW_INDEX_V1 does not, and saves nothing",
        )


def _codec(family: FamilyTotals) -> Iterator[Advice]:
    if family.codec == "none" and family.zstd_ratio >= WORTH_RATIO:
        yield _advised(
            family,
            "COMPRESSION => 'ZSTD'",
            f"ZSTD made the blocks that were tried {family.zstd_ratio:.1f} times shorter; with "
            "hbase.block.data.cachecompressed the cache holds that much more",
            "each hit then decompresses: the processor pays for what the cache saves",
        )


def _bloom(family: FamilyTotals) -> Iterator[Advice]:
    if family.bloom == "NONE" and family.files > FILES_OF_REGION * family.regions:
        yield _advised(
            family,
            "BLOOMFILTER => 'ROW'",
            f"a get asks each of a region's {family.files / family.regions:.1f} files: a filter spares most of them",
            "a family that is only scanned needs none",
        )


_RULES: Final[tuple[Callable[[FamilyTotals], Iterator[Advice]], ...]] = (
    _large_cells,
    _small_blocks,
    _large_blocks,
    _keys,
    _codec,
    _bloom,
)
