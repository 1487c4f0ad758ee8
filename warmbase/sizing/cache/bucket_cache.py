"""The BucketCache: how large it must be for a hit ratio, and what a cache of some size then does.

A cache may lie on several EBS volumes of one size and one speed, with a file on each. `files:` is not striped: HBase
fills one file before it uses the next, from the first one up, or from the last one down if the blocks have the largest
bucket size. If reads warm up a cache, the most popular blocks are in the file that HBase fills first, and they stay
there, because they are never evicted. That file is a cache of its own: it holds the blocks that a cache of its size
holds when it has just become full. So the busiest volume serves hit ratio(cache / volumes) / hit ratio(cache) of all
hits.

Measured with the BucketAllocator of HBase 2.6.2, Zipf reads and least-recently-used evictions: this share is within 2 %
of the measured one when the cache becomes full, and up to 6 % above it after 250 evictions. ESTIMATE: prefetch spreads
the blocks more evenly. Source: HBase 2.6.2 FileIOEngine, BucketAllocator.

The size limits the compactions whose output enters the cache. A compaction replaces the blocks of its input, so a cache
that holds all the data caches its output. In a cache that holds less, the output of one large compaction, most of which
nobody reads, would replace blocks that are read often.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.block import LengthHistogram
from warmbase.ground.release import Release
from warmbase.ground.units import GIB, MIB, TIB
from warmbase.sizing.cache.bucket_sizes import (
    PROPORTIONAL_BUCKETS,
    BucketAllocator,
    bucket_bytes,
    bucket_sizes,
    fullest_list,
)
from warmbase.sizing.cache.hit_ratio import (
    HitRatioCurve,
    OccupancyRange,
    TableCurves,
    hit_ratio,
    hit_ratio_curve,
    hit_ratios,
    table_curves,
)
from warmbase.sizing.workload.popularity import Floats
from warmbase.sizing.workload.workload import StoredBlocks

# judgement: eight threads, each with a few hundred blocks to batch, amortise the fsync that ends every batch
# without taking the heap that more would (2 x threads x length x block).
WRITER_THREADS: Final = 8
# judgement: HBase counts the queue in blocks. 256 MiB wait in all queues, and as many are being written: half a
# gigabyte of heap, whatever the length of a block.
QUEUED_BYTES: Final = 256 * MIB
LONGEST_QUEUE: Final = 256
SHORTEST_QUEUE: Final = 4  # judgement: blocks of megabytes need no longer batch to make an fsync cheap
REFERENCE_BYTES: Final = TIB
"""The cache whose swing is computed. Others swing in proportion to the blocks that they hold."""
LENGTHS: Final = 32  # whose bucket sizes are cached
LAST_CHORDS: Final = 8  # judgement: straight lines between the last two points of the curve, where it is not concave
NEARLY: Final = 1 - 1e-9  # a cache that misses holding everything by a hair
MIB_PER_GIB: Final = GIB // MIB


class BucketCache(Struct, frozen=True, kw_only=True):
    """The disk-backed cache of one RegionServer. `blocks_held` is how many fit without one eviction."""

    size_mib: int
    bucket_sizes: tuple[int, ...]
    nominal_block_bytes: int
    blocks_held: int
    slot_efficiency_fraction: float
    writer_threads: int
    writer_queue_length: int

    @property
    def size_bytes(self) -> int:
        """Return `hbase.bucketcache.size` in bytes."""
        return self.size_mib * MIB


class CacheDemand(Struct, frozen=True, kw_only=True, dict=True):
    """The demand that the data makes on caches: the bucket sizes for its blocks, and the hit ratio by size.

    `blocks` includes every table, but hit ratios count only the reads of cached tables.
    `swing` is that of a cache of `REFERENCE_BYTES`. Reads spread over RegionServers as blocks do, so the caches of a
    cluster are one cache as large as all of them.
    """

    blocks: StoredBlocks
    sizes: tuple[int, ...]
    swing: OccupancyRange

    @classmethod
    def of(cls, blocks: StoredBlocks, release: Release) -> CacheDemand:
        """Choose the bucket sizes that waste least on these blocks."""
        cacheable = blocks.cacheable
        sizes, swing = _buckets(cacheable.lengths, cacheable.longest_bytes, promotes=release.promotes_on_second_read)
        return cls(blocks=blocks, sizes=sizes, swing=swing)

    def with_measured_blocks(self, lengths: LengthHistogram) -> CacheDemand:
        """Return the same bucket sizes for blocks that were all read: their number, and their cached lengths."""
        allocator = BucketAllocator(capacity_bytes=REFERENCE_BYTES, sizes=self.sizes)
        return CacheDemand(
            blocks=replace(self.blocks, count=lengths.blocks, lengths=lengths),
            sizes=self.sizes,
            swing=OccupancyRange.of(allocator, lengths, promotes=self.swing.promotes),
        )

    @cached_property
    def cacheable(self) -> StoredBlocks:
        """Return the blocks that compete for the cache."""
        return self.blocks.cacheable

    @cached_property
    def claimed_bytes(self) -> float:
        """Capacity for one block in a cache that never evicts: slot, share of a bucket's waste, and what stays free."""
        return REFERENCE_BYTES / self.swing.full_blocks

    @cached_property
    def everything_bytes(self) -> float:
        """Cache that holds every block without one eviction."""
        return self.cacheable.count * self.claimed_bytes

    @cached_property
    def curve(self) -> HitRatioCurve:
        """Return the hit ratio by cache size, cluster-wide."""
        return hit_ratio_curve(self.cacheable.popularity, self.swing, REFERENCE_BYTES)

    @cached_property
    def _chords(self) -> tuple[Floats, Floats]:
        """Return the curve as sizes and ratios, for straight lines between its points.

        The curve is concave, so that the lines lie below it, except for caches of nearly all data. There, the points
        are closer together, so that the lines are at most 0.2 percentage points above the curve.
        """
        *points, _ = self.curve.points
        sizes, ratios = np.array(points).T
        last = np.linspace(sizes[-1], self.everything_bytes * NEARLY, LAST_CHORDS + 1)[1:]
        last_ratios = hit_ratios(self.cacheable.popularity, self.swing, last / REFERENCE_BYTES)
        return np.append(sizes, last), np.append(ratios, last_ratios)

    def corners(self, wanted: float) -> tuple[Floats, Floats]:
        """Return cluster-wide caches from one of that hit ratio to one of all data, and their hit ratios.

        Between two of them the estimated ratio is a straight line. Shape (corners,), without room for compactions.
        """
        least, (sizes, _) = self.capacity_bytes(wanted), self._chords
        sizes = np.array([least, *sizes[sizes > least], self.everything_bytes])
        return sizes, np.where(sizes >= self.everything_bytes, 1.0, np.interp(sizes, *self._chords))

    def size_mib(self, wanted: float, servers: int) -> int:
        """Cache for each of `servers` that together give at least that hit ratio; whole GiB.

        With room for one compaction: old and new blocks are both cached until the old files are gone.
        Just below what holds everything a cache evicts, and then 12 to 19 % of it stand empty at times: a ratio that
        would need such a cache needs everything.
        """
        return self.least_size_mib(self.capacity_bytes(wanted) / servers + self.compaction_bytes)

    def least_size_mib(self, effective_bytes: float) -> int:
        """Return the smallest cache, in whole GiB, that holds as many blocks as this many bytes of a large cache."""
        least = max(1, math.ceil(effective_bytes / GIB))
        while self.effective_bytes(least * MIB_PER_GIB) < effective_bytes * NEARLY:
            least += 1
        return least * MIB_PER_GIB

    def is_coarse(self, size_mib: int) -> bool:
        """Return whether a bucket is so large a part of this cache that its blocks must be counted bucket by bucket."""
        return size_mib * MIB < self.proportional_bytes

    @cached_property
    def proportional_bytes(self) -> int:
        """Return the size of the smallest cache whose blocks need not be counted bucket by bucket."""
        return PROPORTIONAL_BUCKETS * bucket_bytes(self.sizes)

    @property
    def writer_queue_length(self) -> int:
        """Return `hbase.bucketcache.writer.queuelength`, limited by the bytes that may wait in all queues."""
        blocks = math.floor(QUEUED_BYTES / WRITER_THREADS / self.cacheable.cached_bytes)
        return max(SHORTEST_QUEUE, min(LONGEST_QUEUE, blocks))

    def slots(self, size_mib: int) -> tuple[tuple[int, ...], int]:
        """Return the bucket sizes of one cache of that size, and the blocks it holds by the allocator's arithmetic."""
        return fullest_list(self.cacheable.lengths, self.cacheable.longest_bytes, self.sizes, size_mib)

    def effective_bytes(self, size_mib: int) -> float:
        """Return how many bytes of a large cache hold as many blocks as one cache of this size; at most its size.

        A cache of few buckets holds less than its size suggests, and one of two or three buckets holds hardly anything.
        """
        if not self.is_coarse(size_mib):
            return float(size_mib * MIB)
        _, blocks = self.slots(size_mib)
        return min(float(size_mib * MIB), blocks * self.claimed_bytes)

    def least_sizes_mib(self, effective_bytes: Floats) -> Floats:
        """Return the sizes that `least_size_mib` gives, in ascending order and without repetition."""
        in_proportion = np.unique(np.maximum(1.0, np.ceil(effective_bytes / GIB))) * MIB_PER_GIB
        if not self.is_coarse(int(in_proportion[0])):
            return in_proportion
        return np.unique(np.array([float(self.least_size_mib(size)) for size in effective_bytes]))

    def capacity_bytes(self, wanted: float) -> float:
        """The cache of the whole cluster that gives at least that hit ratio, without room for compactions."""
        sizes, ratios = self._chords
        return self.everything_bytes if wanted > ratios[-1] else float(np.interp(wanted, ratios, sizes))

    @cached_property
    def compaction_bytes(self) -> float:
        """Return the part of one RegionServer's cache that a compaction fills a second time; 0 without writes.

        It is as long as one region has blocks; for several tables, the largest of their figures.
        """
        blocks = 0.0
        for part in self.cacheable.parts:
            if part.workload.write_bytes_per_second:
                blocks = max(blocks, part.count / part.workload.regions)
        return blocks * self.claimed_bytes

    def useful_bytes(self, size_mib: int, servers: int) -> float:
        """Return what caches of that size keep for reads, cluster-wide, while each of them compacts."""
        return max(0.0, self.effective_bytes(size_mib) - self.compaction_bytes) * servers

    def estimated_hit_ratio(self, size_mib: int, servers: int) -> float:
        """Return the hit ratio by straight lines: quick, and at most 0.2 percentage points above `hit_ratio`."""
        total = self.useful_bytes(size_mib, servers)
        if total >= self.everything_bytes:
            return 1.0
        return float(np.interp(total, *self._chords))

    def estimated_hit_ratios(self, sizes_mib: Floats, servers: int) -> Floats:
        """Return `estimated_hit_ratio` of each size; shape as sizes_mib."""
        return self.chord_hit_ratios(self.useful_totals(sizes_mib, servers))

    def useful_totals(self, sizes_mib: Floats, servers: int) -> Floats:
        """Return `useful_bytes` of each size; shape as sizes_mib."""
        effective = sizes_mib * MIB
        if self.is_coarse(int(sizes_mib.min())):
            effective = np.array([self.effective_bytes(int(size)) for size in sizes_mib])
        return np.maximum(0.0, effective - self.compaction_bytes) * servers

    def chord_hit_ratios(self, totals: Floats) -> Floats:
        """Return the estimated hit ratio of caches with this many useful bytes in all; shape as totals."""
        return np.where(totals >= self.everything_bytes, 1.0, np.interp(totals, *self._chords))

    def hit_ratio(self, total_bytes: float) -> float:
        """Return the share of block reads that warm caches with this many useful bytes in all answer."""
        return hit_ratio(self.cacheable.popularity, self.swing.scaled(total_bytes / REFERENCE_BYTES))

    @cached_property
    def table_curves(self) -> TableCurves:
        """Return the hit ratio of each table, and its share of the cache, for the sizes of `curve`."""
        sizes, _ = np.array(self.curve.points).T
        return table_curves(self.cacheable.popularity, self.swing, sizes / REFERENCE_BYTES)

    def blocks_prefetched(self, size_mib: int, servers: int) -> int:
        """Return the blocks that one RegionServer holds after a prefetch, which brings all tables in proportion."""
        return math.ceil(min(self.cacheable.count / servers, self.effective_bytes(size_mib) / self.claimed_bytes))

    def blocks_cached(self, size_mib: int, servers: int) -> int:
        """Return the blocks that one RegionServer holds at most: after a prefetch, or once its cache is warm.

        A warm cache holds more of them if the popular tables have small blocks.
        """
        prefetched = self.blocks_prefetched(size_mib, servers)
        if not self.cacheable.tables[1:]:
            return prefetched
        warm = np.interp(self.effective_bytes(size_mib) * servers, *self._warm_blocks) / servers
        return max(prefetched, math.ceil(warm * NEARLY))

    @cached_property
    def _warm_blocks(self) -> tuple[Floats, Floats]:
        """Return cluster-wide caches, and the blocks of all tables that each of them holds once it is warm."""
        shares = self.table_curves.cached / self.table_curves.cached[-1]
        blocks = shares @ np.array([float(table.count) for table in self.cacheable.tables])
        return np.array([float(size) for size, _ in self.curve.points]), blocks

    def bucket_cache(self, size_mib: int) -> BucketCache:
        """Return the cache with its exact count of blocks, by the allocator's own arithmetic."""
        sizes, blocks_held = self.slots(size_mib)
        allocator = BucketAllocator(capacity_bytes=size_mib * MIB, sizes=sizes)
        return BucketCache(
            size_mib=size_mib,
            bucket_sizes=sizes,
            nominal_block_bytes=round(self.cacheable.cached_bytes),
            blocks_held=blocks_held,
            slot_efficiency_fraction=allocator.slot_efficiency_fraction(self.cacheable.lengths),
            writer_threads=WRITER_THREADS,
            writer_queue_length=self.writer_queue_length,
        )


@lru_cache(maxsize=LENGTHS)
def _buckets(lengths: LengthHistogram, longest_bytes: int, *, promotes: bool) -> tuple[tuple[int, ...], OccupancyRange]:
    """Return the bucket sizes that waste least on blocks of these lengths, and the swing of a cache with these sizes.

    Neither depends on how much is stored or read.
    """
    sizes = bucket_sizes(lengths, must_fit_bytes=longest_bytes)
    allocator = BucketAllocator(capacity_bytes=REFERENCE_BYTES, sizes=sizes)
    return sizes, OccupancyRange.of(allocator, lengths, promotes=promotes)


def useful_volumes_of(demand: CacheDemand, sizes_mib: Floats, servers: int, volumes: int) -> Floats:
    """Return `useful_volumes` for caches of these sizes; shape as sizes_mib."""
    totals = demand.useful_totals(sizes_mib, servers)
    return useful_volumes(demand.chord_hit_ratios(totals), demand.chord_hit_ratios(totals / volumes), volumes)


def useful_volumes(hit_ratios: Floats, first_hit_ratios: Floats, volumes: int) -> Floats:
    """Return the load of all cache volumes divided by that of the busiest: between 1 and their number.

    `first_hit_ratios` are the shares of block reads that the first files of the caches answer. Caches without hits
    have 1.
    """
    busiest = np.maximum(first_hit_ratios, hit_ratios / volumes)
    return np.divide(hit_ratios, busiest, out=np.ones_like(busiest), where=busiest > 0)


# judgement: one compaction replaces at most a tenth of a server's cache, and reads bring that back within minutes.
THRESHOLD_FRACTION: Final = 0.1


def largest_cached_compaction_bytes(cache_bytes: int, servers: int, data_bytes: int) -> int | None:
    """Return `hbase.rs.cachecompactedblocksonwrite.threshold`; None where the caches hold all the data."""
    if cache_bytes * servers >= data_bytes:
        return None
    return int(THRESHOLD_FRACTION * cache_bytes)
