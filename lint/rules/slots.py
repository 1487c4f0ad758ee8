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


@rule(
    id="WB202",
    severity=Severity.ERROR,
    title="size in hbase.bucketcache.bucket.sizes that is not a multiple of 256",
    because="the RegionServer does not start, because it keeps offsets in units of 256 bytes; a size of 0"
    " makes it divide by zero",
    fix="round each size up to a multiple of 256",
    source=HBASE,
    proof=BOOTED,
)
def _not_a_multiple(node: LintedNode) -> Iterator[Violation]:
    refused = [size for size in node.bucket_sizes or () if size % UNIT or size <= 0]
    if refused:
        first = refused[0]
        why = f"{first:,} is not a multiple of {UNIT}" if first > 0 else f"{first:,} is not a size"
        more = f" ({len(refused) - 1} more like it)" if len(refused) > 1 else ""
        yield Violation(
            at=node.setting("hbase.bucketcache.bucket.sizes"),
            message=f"{why}; the next multiple is {_next_multiple(first):,}{more}",
        )


def _next_multiple(size: float) -> int:
    return max(UNIT, math.ceil(size / UNIT) * UNIT)


@rule(
    id="WB203",
    severity=Severity.ERROR,
    title="hbase.bucketcache.bucket.sizes too small for any block",
    because="HBase never caches a block without a slot, and reports that only in one log line a minute",
    fix="add a size that holds the longest block",
    source=HBASE,
    proof=BOOTED,
)
def _no_slot_for_a_block(node: LintedNode) -> Iterator[Violation]:
    sizes, block = node.bucket_sizes, node.block_bytes
    # warmbase sets minblocksize to the length in the cache; by default a block of 64 KiB takes 54 bytes more.
    block_bytes = (
        None if block is None else block + SLOT_OVERHEAD_BYTES * node.unstated("hbase.blockcache.minblocksize")
    )
    if sizes and block_bytes is not None and max(sizes) < block_bytes:
        yield Violation(
            at=node.setting("hbase.bucketcache.bucket.sizes"),
            message=f"no block is cached: the largest slot has {max(sizes):,} "
            f"bytes and a block takes {block_bytes:,.0f}",
            fix=f"add {_next_multiple(block_bytes):,}, or set hbase.blockcache.minblocksize if blocks are smaller",
        )


@rule(
    id="WB204",
    severity=Severity.ERROR,
    title="cache too small for its bucket sizes",
    because="each size needs a bucket of four times the largest size, or the RegionServer does not start",
    fix="enlarge the cache",
    source=HBASE,
    proof=BOOTED,
)
def _too_small_for_its_slots(node: LintedNode) -> Iterator[Violation]:
    sizes, size_mib = node.bucket_sizes, node.cache_mib
    if sizes and size_mib is not None and size_mib >= 1 and size_mib * MIB < len(sizes) * ITEMS * max(sizes):
        least = -(-len(sizes) * ITEMS * max(sizes) // MIB)
        yield Violation(
            at=node.setting("hbase.bucketcache.size"),
            message=f"{len(sizes)} sizes need a bucket of {ITEMS * max(sizes):,} bytes each, {least:,} MiB in all",
            fix=f"make the cache {least:,} MiB or more, or use fewer sizes",
        )


@rule(
    id="WB205",
    severity=Severity.WARNING,
    title="bucket sizes that leave part of each bucket unused",
    because="the cache loses the rest of each bucket",
    fix="choose the largest size so that four of it are a multiple of the slot for most blocks",
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
            message=f"slots of {slot:,} bytes leave {share:.1%} of each bucket of {ITEMS * max(sizes):,} bytes unused",
        )


@rule(
    id="WB224",
    severity=Severity.ERROR,
    title="more blocks than HBase can count",
    because="the RegionServer does not start (IllegalArgumentException)",
    fix="set the real block size",
    source=HBASE,
    proof=BOOTED,
)
def _too_many_blocks(node: LintedNode) -> Iterator[Violation]:
    size_mib, block = node.cache_mib, node.block_bytes
    if size_mib is not None and block and size_mib * MIB / block >= MOST_BLOCKS:
        yield Violation(
            at=node.setting("hbase.bucketcache.size"),
            message=f"{size_mib * MIB / block:,.0f} blocks are more than HBase can count (2^31)",
            fix="set hbase.blockcache.minblocksize to the size of your blocks, or cache less on each node",
        )
