"""A model of the BucketCache that replays reads one by one: the check on `hit_ratio`, not part of any plan.

Buckets, the order in which they are filled and change class, the three priority groups and each pass of
freeSpace() follow HBase; blocks are inserted at once, as if writer queues were always empty. Source: HBase 2.6.2
BucketAllocator, BucketCache.freeSpace, BucketEntry; HBASE-29667 for SINGLE at insertion from 2.6.5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from warmbase.sizing.cache.bucket_sizes import MIN_FACTOR, BucketAllocator
from warmbase.sizing.cache.hit_ratio import EXTRA_FREE_FACTOR

Priority = Literal["single", "multi", "memory"]

# hbase.bucketcache.{single,multi,memory}.factor: each group's share of the min factor's part of the slots.
GROUP_FACTORS: Final[dict[Priority, float]] = {"single": 0.25, "multi": 0.50, "memory": 0.25}
BUCKETS_EMPTIED_PER_STARVED_SIZE: Final = 2  # BucketCache.DEFAULT_FREE_ENTIRE_BLOCK_FACTOR


class _Bucket:
    """One bucket: the size it serves now, its free items, the blocks in it."""

    __slots__ = ("blocks", "free", "size_index")

    def __init__(self) -> None:
        self.size_index = -1
        self.free = 0
        self.blocks: set[int] = set()


class _Class:
    """Buckets of one size. Dicts keep HBase's order: the last free one is filled, the first empty one given away."""

    __slots__ = ("buckets", "empty", "free", "items", "slot_bytes")

    def __init__(self, slot_bytes: int, items: int) -> None:
        self.slot_bytes = slot_bytes
        self.items = items
        self.buckets: dict[_Bucket, None] = {}
        self.free: dict[_Bucket, None] = {}
        self.empty: dict[_Bucket, None] = {}

    def take(self, bucket: _Bucket, size_index: int) -> None:
        """A completely free bucket joins this size."""
        bucket.size_index, bucket.free = size_index, self.items
        for order in (self.buckets, self.free, self.empty):
            order[bucket] = None

    def give(self) -> _Bucket | None:
        """A completely free bucket leaves this size, unless it is the last one."""
        if len(self.buckets) == 1 or not self.empty:
            return None
        bucket = next(iter(self.empty))
        for order in (self.buckets, self.free, self.empty):
            order.pop(bucket, None)
        return bucket

    def free_items(self) -> int:
        """Return the free items of all its buckets."""
        return sum(bucket.free for bucket in self.free)

    def short_items(self, min_factor: float) -> int:
        """Items that must be freed for the share outside the min factor, at least one item, to be free."""
        goal = max(1, int(len(self.buckets) * self.items * (1 - min_factor)))
        return max(0, goal - self.free_items())


class Replay:
    """A BucketCache, empty at first. `hits`, `misses` and `evictions` count since the last `forget`."""

    def __init__(self, allocator: BucketAllocator, *, inserts_single: bool) -> None:
        """With `inserts_single` as HBase 2.6.5 and later, else as 2.6.0 to 2.6.4, where every block is MULTI."""
        self._allocator = allocator
        self._accept_bytes = allocator.accept_bytes
        self._inserted: Priority = "single" if inserts_single else "multi"
        self._classes = [_Class(size, allocator.items(size)) for size in allocator.sizes]
        for number in range(allocator.buckets):
            index = min(number, len(self._classes) - 1)
            self._classes[index].take(_Bucket(), index)
        self._groups: dict[Priority, OrderedDict[int, None]] = {name: OrderedDict() for name in GROUP_FACTORS}
        self._group_bytes = dict.fromkeys(GROUP_FACTORS, 0)
        self._entries: dict[int, tuple[_Bucket, int, Priority]] = {}
        self.used_bytes = 0
        self.hits = self.misses = self.evictions = 0
        self.swings: list[tuple[int, int]] = []

    def __len__(self) -> int:
        """Return how many blocks the cache has."""
        return len(self._entries)

    def __contains__(self, block: int) -> bool:
        """Return whether the block is cached, without reading it."""
        return block in self._entries

    def forget(self) -> None:
        """Start counting anew; the cache keeps its blocks."""
        self.hits = self.misses = self.evictions = 0
        self.swings.clear()

    def replay(self, reads: Iterable[int], lengths_bytes: Sequence[int]) -> float:
        """Return the hit ratio of reads of blocks by number, each block of the length at its number."""
        for block in reads:
            self.read(block, lengths_bytes[block])
        return self.hits / max(1, self.hits + self.misses)

    def read(self, block: int, length_bytes: int, *, in_memory: bool = False) -> bool:
        """Return whether the block was cached; it is afterwards, unless it is longer than the largest size."""
        entry = self._entries.get(block)
        if entry is None:
            self.misses += 1
            self._insert(block, length_bytes, "memory" if in_memory else self._inserted)
            return False
        self.hits += 1
        bucket, length, priority = entry
        if priority == "single":
            del self._groups["single"][block]
            self._group_bytes["single"] -= length
            self._group_bytes["multi"] += length
            self._groups["multi"][block] = None
            self._entries[block] = (bucket, length, "multi")
        else:
            self._groups[priority].move_to_end(block)
        return True

    def _insert(self, block: int, length_bytes: int, priority: Priority) -> None:
        """As BucketCache.doDrain with one block: free space until its size has room, and again above accept."""
        index = bisect_left(self._allocator.sizes, length_bytes)
        if index == len(self._classes):
            return
        while (bucket := self._room(index)) is None:
            self._free_space()
        self._entries[block] = (bucket, length_bytes, priority)
        self._groups[priority][block] = None
        self._group_bytes[priority] += length_bytes
        self.used_bytes += self._classes[index].slot_bytes
        self._occupy(bucket, block)
        if self.used_bytes > self._accept_bytes:
            self._free_space()

    def _room(self, index: int) -> _Bucket | None:
        """A bucket of that size with a free item, taken from the first size that can spare one if need be."""
        wanted = self._classes[index]
        if not wanted.free:
            spared = next((result for size in self._classes if (result := size.give())), None)
            if spared is None:
                return None
            wanted.take(spared, index)
        return next(reversed(wanted.free))

    def _occupy(self, bucket: _Bucket, block: int) -> None:
        size = self._classes[bucket.size_index]
        bucket.blocks.add(block)
        bucket.free -= 1
        size.empty.pop(bucket, None)
        if not bucket.free:
            del size.free[bucket]

    def _evict(self, block: int) -> int:
        """Drop the block; its length in bytes."""
        bucket, length, priority = self._entries.pop(block)
        del self._groups[priority][block]
        self._group_bytes[priority] -= length
        size = self._classes[bucket.size_index]
        bucket.blocks.remove(block)
        bucket.free += 1
        size.free.setdefault(bucket)
        if not bucket.blocks:
            size.empty[bucket] = None
        self.used_bytes -= size.slot_bytes
        return length

    def _free_space(self) -> None:
        """Evict as BucketCache.freeSpace() does: groups over their share, all groups 10 % more, whole buckets."""
        full = len(self._entries)
        wanted = sum(size.slot_bytes * size.short_items(MIN_FACTOR) for size in self._classes)
        if not wanted:
            return
        over = {name: self._group_bytes[name] - self._group_share(name) for name in GROUP_FACTORS}
        names, freed = sorted(over, key=over.__getitem__), 0
        for rest, name in zip((3, 2, 1), names, strict=True):
            if over[name] > 0:
                freed += self._free_group(name, min(over[name], (wanted - freed) // rest))
        if any(size.short_items(MIN_FACTOR) for size in self._classes):
            for rest, name in zip((3, 2, 1), names, strict=True):
                freed += self._free_group(name, (int(wanted * (1 + EXTRA_FREE_FACTOR)) - freed) // rest)
        self._empty_buckets(BUCKETS_EMPTIED_PER_STARVED_SIZE * sum(not size.free for size in self._classes))
        self.evictions += 1
        self.swings.append((full, len(self._entries)))

    def _group_share(self, name: Priority) -> int:
        return int(self._allocator.total_bytes * GROUP_FACTORS[name] * MIN_FACTOR)

    def _free_group(self, name: Priority, wanted_bytes: int) -> int:
        """Evict the least recently used blocks of a group, at least one, until so many bytes are freed."""
        group, freed = self._groups[name], 0
        while group:
            freed += self._evict(next(iter(group)))
            if freed >= wanted_bytes:
                break
        return freed

    def _empty_buckets(self, count: int) -> None:
        """Empty the least filled buckets, sparing the only bucket of a size."""
        if not count:
            return
        candidates = [bucket for size in self._classes if len(size.buckets) > 1 for bucket in size.buckets]
        candidates.sort(key=lambda bucket: len(bucket.blocks) / self._classes[bucket.size_index].items)
        for bucket in candidates[:count]:
            for block in list(bucket.blocks):
                self._evict(block)
