"""The cache file: its size, its engine and the volume that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.ground.units import GIB, MIB
from warmbase.linter.finding import Consequence, Severity, new_value
from warmbase.linter.node import LintedNode, files_of, largest_volume_gib, room_gib
from warmbase.linter.rule import BOOTED, NEEDS_LOAD, Rule, Violation
from warmbase.sizing import gp3
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
    if len(node.cache_files) > 1 and not _beyond_one_volume(node):
        yield Violation(
            "hbase.bucketcache.ioengine",
            f"{len(node.cache_files)} files fill one after the other, so until all are full, the cache uses"
            " one volume at a time",
        )


def _beyond_one_volume(node: LintedNode) -> bool:
    """Return whether the cache is larger, or the volumes together are faster, than one volume that EMR documents."""
    size_mib, several = node.cache_mib, [volume for volume in node.volumes if volume.count > 1]
    return (size_mib is not None and size_mib * MIB / GIB > FILL_FRACTION * gp3.EMR_DOCUMENTED_GIB) or any(
        volume.count * (volume.throughput_mib_s or 0) > gp3.EMR_DOCUMENTED_MIB_S
        or volume.count * (volume.iops or 0) > gp3.MOST_IOPS
        for volume in several
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
