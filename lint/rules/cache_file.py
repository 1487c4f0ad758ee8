"""The cache file: its size, its engine and the volume that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import BOOTED, NEEDS_LOAD, Violation, rule
from lint.rules.volumes import files_of, largest_volume_gib, room_gib
from sizing.units import GIB, MIB

FULL: Final = 0.85
HBASE: Final = "HBase 2.6.2 BucketCache, BucketAllocator"
FACTORY: Final = "HBase 2.6.2 BlockCacheFactory"
START: Final = "the RegionServer does not start"


@rule(
    id="WB201",
    severity=Severity.ERROR,
    title="hbase.bucketcache.size below 1 MiB",
    because=f"HBase 2.6 reads MiB, and below 1 {START}",
    fix="state MiB for each RegionServer",
    source=FACTORY,
    proof=BOOTED,
)
def _size_below_one(node: LintedNode) -> Iterator[Violation]:
    size = node.cache_mib
    if size is not None and size < 1:
        yield Violation(
            at=node.setting("hbase.bucketcache.size"), message=f"{size:g} MiB: the old share of heap is gone"
        )


@rule(
    id="WB210",
    severity=Severity.ERROR,
    title="colons between the paths of hbase.bucketcache.ioengine",
    because=f"only commas separate paths; a directory that is not there is a FileNotFoundException, and {START}",
    fix="write commas",
    source=FACTORY,
    proof=BOOTED,
)
def _colon_in_files(node: LintedNode) -> Iterator[Violation]:
    engine = node.text("hbase.bucketcache.ioengine") or ""
    kind, _, paths = engine.partition(":")
    if kind in {"file", "files"} and ":" in paths:
        yield Violation(
            at=node.setting("hbase.bucketcache.ioengine"),
            message="a colon does not separate paths: it becomes part of one, whose directory does not exist",
            fix=f"write {kind}:{','.join(paths.split(':'))}",
        )


@rule(
    id="WB211",
    severity=Severity.WARNING,
    title="a cache that does not divide by its files",
    because="the rest of the division is lost",
    fix="make the size a multiple of the number of files",
    source="HBase 2.6.2 FileIOEngine",
    proof=NEEDS_LOAD,
)
def _uneven_files(node: LintedNode) -> Iterator[Violation]:
    files, size_mib = node.cache_files, node.cache_mib
    if len(files) > 1 and size_mib is not None and size_mib % len(files):
        yield Violation(
            at=node.setting("hbase.bucketcache.size"),
            message=f"{size_mib:,.0f} MiB over {len(files)} files is not a whole number for each",
        )


@rule(
    id="WB212",
    severity=Severity.WARNING,
    title="a cache over several files",
    because="files are not striped: the first fills before the second, so warm-up and reads of a part-filled cache "
    "use one volume",
    fix="use one volume with the throughput that is needed, or stripe below one file",
    source="HBase 2.6.2 FileIOEngine, BucketAllocator",
    proof=NEEDS_LOAD,
)
def _one_after_the_other(node: LintedNode) -> Iterator[Violation]:
    if len(node.cache_files) > 1:
        yield Violation(
            at=node.setting("hbase.bucketcache.ioengine"),
            message=f"{len(node.cache_files)} files fill one after the other, at the speed of one volume",
        )


@rule(
    id="WB213",
    severity=Severity.ERROR,
    title="a cache larger than its volume",
    because="files are made sparse and free space is not checked: it starts, runs into ENOSPC, and after a minute "
    "of errors switches the cache off",
    fix="make the volume larger, or the cache smaller",
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
            at=node.setting("hbase.bucketcache.size"),
            message=f"a cache of {size_gib:,.0f} GiB in {files} file{'s' * (files > 1)} does not fit: the largest "
            f"volume has {largest:,} GiB, all of a node {room:,} GiB",
        )


@rule(
    id="WB214",
    severity=Severity.WARNING,
    title="a cache that nearly fills its volume",
    because="YARN calls a disk over 90 % unhealthy, and EMR replaces the node after 45 minutes, cache and all",
    fix="make the volume larger",
    source="EMR Management Guide, emr-plan-node-replacement",
    proof=NEEDS_LOAD,
)
def _volume_nearly_full(node: LintedNode) -> Iterator[Violation]:
    largest, size_mib, files = largest_volume_gib(node), node.cache_mib, files_of(node)
    if size_mib is None or largest is None or not files:
        return
    share = size_mib * MIB / GIB / files / largest
    if FULL < share <= 1:
        yield Violation(
            at=node.setting("hbase.bucketcache.size"),
            message=f"the cache fills {share:.0%} of its volume of {largest:,} GiB, before its index and anything else",
            fix=f"make the volume {size_mib * MIB / GIB / files / FULL:,.0f} GiB or more",
        )


@rule(
    id="WB215",
    severity=Severity.WARNING,
    title="a cache file left to EMR",
    because="with one volume nobody documents where it goes, and HDFS and logs share what it gets",
    fix="state files: with a path on a volume of the cache's own",
    source="EMR Release Guide, emr-hbase-s3",
    proof=NEEDS_LOAD,
)
def _engine_not_stated(node: LintedNode) -> Iterator[Violation]:
    if node.caches and node.in_s3 and node.unstated("hbase.bucketcache.ioengine"):
        yield Violation(
            property="hbase.bucketcache.ioengine",
            message="nothing says where the cache lies; EMR puts it on all volumes of a node but one",
        )


@rule(
    id="WB216",
    severity=Severity.ERROR,
    title="a cache without an engine",
    because="without hbase.bucketcache.ioengine there is no BucketCache; EMR sets one for data in S3 only",
    fix="state hbase.bucketcache.ioengine",
    source=FACTORY,
    proof="EMR sets an engine for data in S3; without one HBase starts as in the boot for WB101",
)
def _no_engine(node: LintedNode) -> Iterator[Violation]:
    in_hdfs = node.text("hbase.emr.storageMode", "hbase") == "hdfs"
    if node.cache_mib is not None and in_hdfs and node.unstated("hbase.bucketcache.ioengine"):
        yield Violation(
            at=node.setting("hbase.bucketcache.size"), message="a size without an engine is no cache at all"
        )


@rule(
    id="WB217",
    severity=Severity.INFO,
    title="a cache of EMR's default size",
    because="it is for each RegionServer, over all its files",
    fix="state hbase.bucketcache.size where reads count",
    source="EMR Release Guide, emr-hbase-s3",
    proof=NEEDS_LOAD,
)
def _emr_default_size(node: LintedNode) -> Iterator[Violation]:
    unsized = node.unstated("hbase.bucketcache.size")
    if node.in_s3 and unsized and node.text("hbase.bucketcache.ioengine") != "offheap":
        yield Violation(property="hbase.bucketcache.size", message="the cache has EMR's 8 GiB for each RegionServer")
