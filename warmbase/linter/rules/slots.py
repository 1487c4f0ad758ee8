"""Bucket sizes that hold the blocks and fill their buckets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from warmbase.ground.units import MIB
from warmbase.linter.finding import Consequence, Edit, Severity, new_value
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import BOOTED, NEEDS_LOAD, Rule, Violation
from warmbase.sizing.cache.allocator import DEFAULT_BUCKET_SIZES, bucket_bytes, minimum_capacity_bytes

SLOT_OVERHEAD_BYTES: Final = 54  # 33 header, 13 metadata, 8 stamp: what a block takes beside its payload
UNIT: Final = 256  # bytes in which offsets are kept
ITEMS: Final = 4  # BucketAllocator.FEWEST_ITEMS_IN_BUCKET
WASTE: Final = 0.02
MOST_BLOCKS: Final = 2**31
HBASE: Final = "HBase 2.6.2 BucketCache, BucketAllocator"
LARGEST_SLOT: Final = 513 * 1024  # the last of BucketAllocator.DEFAULT_BUCKET_SIZES
LONGEST_CELL: Final = 10 * MIB  # HBase's default of both limits
CELL_LIMITS: Final = ("hbase.client.keyvalue.maxsize", "hbase.server.keyvalue.maxsize")


@Rule(
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
            "hbase.bucketcache.bucket.sizes",
            f"{why}; the next multiple is {_next_multiple(first):,}{more}",
            edit=_rounded(node.bucket_sizes or ()),
        )


def _rounded(sizes: Sequence[float]) -> Edit | None:
    rounded = [_next_multiple(size) for size in sizes]
    distinct = len(set(rounded)) == len(rounded) and min(sizes, default=0) > 0
    return new_value(",".join(map(str, rounded))) if distinct else None


def _next_multiple(size: float) -> int:
    return max(UNIT, math.ceil(size / UNIT) * UNIT)


@Rule(
    id="WB203",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
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
            "hbase.bucketcache.bucket.sizes",
            f"no block is cached: the largest slot has {max(sizes):,} bytes and a block takes {block_bytes:,.0f}",
            fix=f"add {_next_multiple(block_bytes):,}, or set hbase.blockcache.minblocksize if blocks are smaller",
        )


@Rule(
    id="WB204",
    severity=Severity.ERROR,
    title="cache too small for its bucket sizes",
    because="each size needs a bucket of four times the largest size, or the RegionServer does not start",
    fix="enlarge the cache",
    source=HBASE,
    proof=BOOTED,
)
def _too_small_for_its_slots(node: LintedNode) -> Iterator[Violation]:
    size_mib, unstated = node.cache_mib, node.unstated("hbase.bucketcache.bucket.sizes")
    sizes = DEFAULT_BUCKET_SIZES if unstated else node.bucket_sizes
    if sizes and size_mib is not None and size_mib >= 1 and size_mib * MIB < minimum_capacity_bytes(sizes):
        least = -(-minimum_capacity_bytes(sizes) // MIB)
        which = "default sizes" if unstated else "sizes"
        yield Violation(
            "hbase.bucketcache.size",
            f"the cache is {size_mib:g} MiB, but {len(sizes)} {which} need a bucket of "
            f"{bucket_bytes(sizes):,} bytes each, {least:,} MiB in all",
            fix=f"make the cache {least:,} MiB or more, or use fewer sizes",
        )


@Rule(
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
            "hbase.bucketcache.bucket.sizes",
            f"slots of {slot:,} bytes leave {share:.1%} of each bucket of {ITEMS * max(sizes):,} bytes unused",
        )


@Rule(
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
            "hbase.bucketcache.size",
            f"{size_mib * MIB / block:,.0f} blocks are more than HBase can count (2^31)",
            fix="set hbase.blockcache.minblocksize to the size of your blocks, or cache less on each node",
        )


@Rule(
    id="WB228",
    severity=Severity.WARNING,
    title="cells allowed that no slot of the cache holds",
    because="a block holds at least one whole cell, and HBase never caches a block that is longer than the largest "
    "slot: each read of it fetches it from the store file again",
    fix="add a bucket size for your longest cells, or store them as MOBs or as objects in S3",
    source=HBASE,
    proof=NEEDS_LOAD,
    of_hbase_1=True,
)
def _cell_beyond_slots(node: LintedNode) -> Iterator[Violation]:
    largest = max(node.bucket_sizes or (), default=LARGEST_SLOT)
    if not (node.caches or node.in_s3) or (node.setting("hbase.bucketcache.bucket.sizes") and not node.bucket_sizes):
        return
    for key in CELL_LIMITS:
        at, limit = node.setting(key), node.number(key)
        if at is None or limit is None:
            continue
        if limit <= 0 or limit > max(largest, LONGEST_CELL):
            cells = f"cells of up to {limit:,.0f} bytes are" if limit > 0 else "cells of any length are"
            yield Violation(at, f"{cells} accepted, but the largest slot has {largest:,} bytes")
