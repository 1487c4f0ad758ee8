"""Bucket sizes that hold the blocks and fill their buckets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import BOOTED, NEEDS_LOAD, Violation, rule
from sizing.units import MIB

SLOT_OVERHEAD_BYTES: Final = 54  # 33 header, 13 metadata, 8 stamp: what a block takes beside its payload
UNIT: Final = 256  # bytes in which offsets are kept
ITEMS: Final = 4  # BucketAllocator.FEWEST_ITEMS_IN_BUCKET
WASTE: Final = 0.02
MOST_BLOCKS: Final = 2**31
HBASE: Final = "HBase 2.6.2 BucketCache, BucketAllocator"
START: Final = "the RegionServer does not start"


@rule(
    id="WB202",
    severity=Severity.ERROR,
    title="a size in hbase.bucketcache.bucket.sizes that is no multiple of 256",
    because=f"offsets are kept in units of 256 bytes: {START}; at 0 it divides by zero",
    fix="round each size up to a multiple of 256",
    source=HBASE,
    proof=BOOTED,
)
def _not_a_multiple(node: LintedNode) -> Iterator[Violation]:
    wrong = [size for size in node.bucket_sizes or () if size % UNIT or size <= 0]
    if wrong:
        first = wrong[0]
        why = f"{first:,} is not a multiple of {UNIT}" if first > 0 else f"{first:,} is no size"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield Violation(
            at=node.setting("hbase.bucketcache.bucket.sizes"), message=f"{why}; {_next_multiple(first):,} is{more}"
        )


def _next_multiple(size: float) -> int:
    return max(UNIT, math.ceil(size / UNIT) * UNIT)


@rule(
    id="WB203",
    severity=Severity.ERROR,
    title="hbase.bucketcache.bucket.sizes that take no block",
    because="a block without a slot is never cached, and only a log line a minute says so",
    fix="add a size that takes the longest block",
    source=HBASE,
    proof=BOOTED,
)
def _no_slot_for_a_block(node: LintedNode) -> Iterator[Violation]:
    sizes, block = node.bucket_sizes, node.block_bytes
    # Ours states the length in the cache; where nothing is stated, a block of 64 KiB takes 54 bytes more.
    taken = None if block is None else block + SLOT_OVERHEAD_BYTES * node.unstated("hbase.blockcache.minblocksize")
    if sizes and taken is not None and max(sizes) < taken:
        yield Violation(
            at=node.setting("hbase.bucketcache.bucket.sizes"),
            message=f"the largest slot has {max(sizes):,} bytes, and a block takes {taken:,.0f}",
            fix=f"add {_next_multiple(taken):,}, or state hbase.blockcache.minblocksize where blocks are smaller",
        )


@rule(
    id="WB204",
    severity=Severity.ERROR,
    title="a cache too small for its bucket sizes",
    because=f"each size needs a bucket of four times the largest, else {START}",
    fix="make the cache larger",
    source=HBASE,
    proof=BOOTED,
)
def _too_small_for_its_slots(node: LintedNode) -> Iterator[Violation]:
    sizes, size_mib = node.bucket_sizes, node.cache_mib
    if sizes and size_mib is not None and size_mib >= 1 and size_mib * MIB < len(sizes) * ITEMS * max(sizes):
        least = -(-len(sizes) * ITEMS * max(sizes) // MIB)
        yield Violation(
            at=node.setting("hbase.bucketcache.size"),
            message=f"{len(sizes)} slot sizes need a bucket of {ITEMS * max(sizes):,} bytes each, {least:,} MiB in all",
            fix=f"make the cache {least:,} MiB or more, or state fewer slot sizes",
        )


@rule(
    id="WB205",
    severity=Severity.WARNING,
    title="buckets that the usual slot does not fill",
    because="the rest of each bucket is lost to the cache",
    fix="choose a largest size of which four are a multiple of the usual slot",
    source=HBASE,
    proof=NEEDS_LOAD,
)
def _wasteful_bucket(node: LintedNode) -> Iterator[Violation]:
    sizes, block = node.bucket_sizes, node.block_bytes
    if not sizes or block is None or min(sizes) <= 0:
        return
    slot = min((size for size in sizes if size >= block), default=None)
    if slot and (ITEMS * max(sizes)) % slot > WASTE * ITEMS * max(sizes):
        share = (ITEMS * max(sizes)) % slot / (ITEMS * max(sizes))
        yield Violation(
            at=node.setting("hbase.bucketcache.bucket.sizes"),
            message=f"a bucket of {ITEMS * max(sizes):,} bytes leaves {share:.1%} unused with slots of {slot:,}",
        )


@rule(
    id="WB224",
    severity=Severity.ERROR,
    title="more blocks than HBase counts",
    because=f"{START} (IllegalArgumentException)",
    fix="state the real block size",
    source=HBASE,
    proof=BOOTED,
)
def _too_many_blocks(node: LintedNode) -> Iterator[Violation]:
    size_mib, block = node.cache_mib, node.block_bytes
    if size_mib is not None and block and size_mib * MIB / block >= MOST_BLOCKS:
        yield Violation(
            at=node.setting("hbase.bucketcache.size"),
            message=f"{size_mib * MIB / block:,.0f} blocks are more than HBase counts (2^31)",
            fix="state hbase.blockcache.minblocksize as large as blocks are, or cache less on each node",
        )
