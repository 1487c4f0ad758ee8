"""The cache file, its size, engine and volume, and bucket sizes that hold the blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from warmbase.ground.units import GIB, MIB
from warmbase.linter.finding import Consequence, Severity, new_value
from warmbase.linter.node import LintedNode, files_of, largest_volume_gib, room_gib
from warmbase.linter.rule import BOOTED, NEEDS_LOAD, Rule, Violation
from warmbase.sizing import gp3
from warmbase.sizing.cache.bucket_sizes import DEFAULT_BUCKET_SIZES, bucket_bytes, minimum_capacity_bytes
from warmbase.sizing.search.disks import FILL_FRACTION

HBASE: Final = "HBase 2.6.2 BucketCache, BucketAllocator"
FACTORY: Final = "HBase 2.6.2 BlockCacheFactory"


@Rule(
    id="WB201",
    severity=Severity.ERROR,
    title="hbase.bucketcache.size below 1 MiB",
    because="HBase 2 reads MiB, and below 1 MiB the RegionServer does not start",
    fix="set the size in MiB for each RegionServer",
    source=FACTORY,
    proof=BOOTED,
)
def _size_below_one(node: LintedNode) -> Iterator[Violation]:
    size = node.cache_mib
    if size is not None and size < 1:
        yield Violation(
            "hbase.bucketcache.size", f"read as {size:g} MiB; HBase 2 no longer accepts a fraction of the heap"
        )


@Rule(
    id="WB210",
    severity=Severity.ERROR,
    title="colon between the paths of hbase.bucketcache.ioengine",
    because="HBase separates paths with commas only",
    fix="separate the paths with commas",
    source=FACTORY,
    proof=BOOTED,
)
def _colon_in_files(node: LintedNode) -> Iterator[Violation]:
    engine = node.text("hbase.bucketcache.ioengine") or ""
    kind, _, paths = engine.partition(":")
    if kind in {"file", "files"} and ":" in paths:
        yield Violation(
            "hbase.bucketcache.ioengine",
            "the RegionServer does not start: HBase takes the colon as part of a single path, whose directory "
            "does not exist",
            fix=f"write {kind}:{','.join(paths.split(':'))}",
            edit=new_value(f"{kind}:{','.join(paths.split(':'))}"),
        )


@Rule(
    id="WB211",
    severity=Severity.WARNING,
    title="cache size that its files do not divide evenly",
    because="HBase gives each file the same whole share and drops the remainder, so it cannot write a block at the end "
    "of the cache",
    fix="make the size a multiple of the number of files",
    source="HBase 2.6.2 FileIOEngine",
    proof=NEEDS_LOAD,
)
def _uneven_files(node: LintedNode) -> Iterator[Violation]:
    files, size_mib = node.cache_files, node.cache_mib
    if len(files) > 1 and size_mib is not None and size_mib % len(files):
        yield Violation(
            "hbase.bucketcache.size",
            f"{size_mib:,.0f} MiB cannot be divided evenly over {len(files)} files",
            edit=new_value(f"{size_mib - size_mib % len(files):.0f}"),
        )


@Rule(
    id="WB212",
    severity=Severity.WARNING,
    title="cache on several volumes that one volume could carry",
    because="HBase does not stripe files: it fills one before the next. Warm-up therefore writes to one volume at a "
    "time, and later the most popular blocks are on one volume",
    fix="use one volume with the throughput that you need",
    source="HBase 2.6.2 FileIOEngine, BucketAllocator",
    proof=NEEDS_LOAD,
)
def _one_after_the_other(node: LintedNode) -> Iterator[Violation]:
    # Several volumes are right for a cache larger, or faster, than a single volume that EMR documents.
    large = (node.cache_mib or 0) * MIB / GIB > FILL_FRACTION * gp3.EMR_DOCUMENTED_GIB
    fast = any(
        volume.count * (volume.throughput_mib_s or 0) > gp3.EMR_DOCUMENTED_MIB_S
        or volume.count * (volume.iops or 0) > gp3.MOST_IOPS
        for volume in node.volumes
        if volume.count > 1
    )
    if len(node.cache_files) > 1 and not large and not fast:
        yield Violation(
            "hbase.bucketcache.ioengine",
            f"{len(node.cache_files)} files fill one after the other, so until all are full, the cache uses"
            " one volume at a time",
        )


@Rule(
    id="WB213",
    severity=Severity.ERROR,
    consequence=Consequence.SLOW_OR_DEAR,
    title="cache larger than its volume",
    because="HBase creates sparse files without checking free space: it starts, runs out of space, and "
    "disables the cache after a minute of errors",
    fix="enlarge the volume, or shrink the cache",
    source=HBASE,
    proof=BOOTED,
)
def _larger_than_its_volume(node: LintedNode) -> Iterator[Violation]:
    room, largest, size_mib, files = room_gib(node), largest_volume_gib(node), node.cache_mib, files_of(node)
    if size_mib is None or room is None or largest is None or not files:
        return
    size_gib = size_mib * MIB / GIB
    if size_gib > room or size_gib / files > largest:
        yield Violation(
            "hbase.bucketcache.size",
            f"a cache of {size_gib:,.0f} GiB in {files} file{'s' * (files > 1)} does not fit: the largest "
            f"volume has {largest:,} GiB, all volumes of a node together {room:,} GiB",
        )


@Rule(
    id="WB214",
    severity=Severity.WARNING,
    title="cache that nearly fills its volume",
    because="YARN marks a disk that is over 90 % full as unhealthy, and EMR replaces the node after 45 minutes, "
    "so its cache is lost",
    fix="enlarge the volume",
    source="EMR Management Guide, emr-plan-node-replacement",
    proof=NEEDS_LOAD,
)
def _volume_nearly_full(node: LintedNode) -> Iterator[Violation]:
    largest, size_mib, files = largest_volume_gib(node), node.cache_mib, files_of(node)
    if size_mib is None or largest is None or not files:
        return
    share = size_mib * MIB / GIB / files / largest
    if FILL_FRACTION < share <= 1:
        yield Violation(
            "hbase.bucketcache.size",
            f"the cache alone, without its index, fills {share:.0%} of its volume of {largest:,} GiB",
            fix=f"make the volume {size_mib * MIB / GIB / files / FILL_FRACTION:,.0f} GiB or more",
        )


@Rule(
    id="WB215",
    severity=Severity.WARNING,
    title="location of the cache left to EMR",
    because="EMR does not document where the cache goes when a node has one volume; HDFS and logs share its volume",
    fix="set hbase.bucketcache.ioengine to files: with a path on a volume of its own",
    source="EMR Release Guide, emr-hbase-s3",
    proof=NEEDS_LOAD,
)
def _missing_engine(node: LintedNode) -> Iterator[Violation]:
    if node.caches and node.in_s3 and node.unstated("hbase.bucketcache.ioengine"):
        yield Violation(
            "hbase.bucketcache.ioengine",
            "the location of the cache is not set; EMR spreads it over all volumes of a node but one",
        )


@Rule(
    id="WB216",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="cache size without hbase.bucketcache.ioengine",
    because="HBase creates a BucketCache only with hbase.bucketcache.ioengine, which EMR sets only for data in S3",
    fix="set hbase.bucketcache.ioengine",
    source=FACTORY,
    proof="EMR sets an engine for data in S3; without one HBase starts as in the boot for WB101",
)
def _no_engine(node: LintedNode) -> Iterator[Violation]:
    in_hdfs = node.text("hbase.emr.storageMode", "hbase") == "hdfs"
    if node.cache_mib is not None and in_hdfs and node.unstated("hbase.bucketcache.ioengine"):
        yield Violation("hbase.bucketcache.size", "there is no cache: the size has no effect without an engine")


@Rule(
    id="WB217",
    severity=Severity.INFO,
    title="cache of EMR's default size",
    because="EMR's default is 8 GiB for each RegionServer, over all files of the cache",
    fix="set hbase.bucketcache.size if read performance matters",
    source="EMR Release Guide, emr-hbase-s3",
    proof=NEEDS_LOAD,
)
def _emr_default_size(node: LintedNode) -> Iterator[Violation]:
    unsized = node.unstated("hbase.bucketcache.size")
    if node.in_s3 and unsized and node.text("hbase.bucketcache.ioengine") != "offheap":
        yield Violation("hbase.bucketcache.size", "each RegionServer gets only EMR's default cache of 8 GiB")


SLOT_OVERHEAD_BYTES: Final = 54  # 33 header, 13 metadata, 8 stamp: what a block takes beside its payload
UNIT: Final = 256  # bytes in which offsets are kept
ITEMS: Final = 4  # BucketAllocator.FEWEST_ITEMS_IN_BUCKET
WASTE: Final = 0.02
MOST_BLOCKS: Final = 2**31

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
    sizes = node.bucket_sizes or ()
    refused = [size for size in sizes if size % UNIT or size <= 0]
    if refused:
        first, rounded = refused[0], [_next_multiple(size) for size in sizes]
        why = f"{first:,} is not a multiple of {UNIT}" if first > 0 else f"{first:,} is not a size"
        more = f" ({len(refused) - 1} more like it)" if len(refused) > 1 else ""
        yield Violation(
            "hbase.bucketcache.bucket.sizes",
            f"{why}; the next multiple is {_next_multiple(first):,}{more}",
            edit=new_value(",".join(map(str, rounded))) if len(set(rounded)) == len(sizes) and min(sizes) > 0 else None,
        )


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
