"""The blocks that the caches of other servers read from S3 while a server restarts without its regions.

Meanwhile, its regions are open on the other servers, which cache their blocks a second time: by prefetch when a region
opens, and by reads. Each block is one GET (sizing/resource.py: there is no read-ahead). Nothing removes the second
copies when the regions come home, so the caches need room for the copies of every server, or evict other blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

__all__ = ["CacheBlocks", "SecondCopies", "second_copies"]


class CacheBlocks(Struct, frozen=True, kw_only=True):
    """The blocks in the cache of one server: all of them, and those of its own regions with their bytes."""

    all_blocks: int
    own_blocks: int
    own_bytes: int


class SecondCopies(Struct, frozen=True, kw_only=True):
    """The blocks that are cached twice, their bytes, and the blocks that other caches evict for them: estimates."""

    blocks: int
    size_bytes: int
    evicted_blocks: int

    @property
    def gets(self) -> int:
        """Return the GETs: one for each second copy, and one for each evicted block when it is read again."""
        return self.blocks + self.evicted_blocks


def second_copies(caches: Mapping[str, CacheBlocks], order: Sequence[str], capacity_blocks: int) -> SecondCopies:
    """Return the second copies if these servers restart in this order and their regions spread evenly over the others.

    An estimate: a server that is soon back leaves the others less time to read its blocks. But a prefetch also reads
    blocks that no cache had, and an eviction frees more than is needed (sizing/hit_ratio.py), so caches that hold less
    than the data may read more.
    """
    room = {server: max(0, capacity_blocks - blocks.all_blocks) for server, blocks in caches.items()}
    evicted = 0
    for server in order:
        others = [other for other in caches if other != server]
        for number, other in enumerate(others):
            copies = (caches[server].own_blocks + number) // len(others)
            evicted += max(0, copies - room[other])
            room[other] = max(0, room[other] - copies)
    return SecondCopies(
        blocks=sum(caches[server].own_blocks for server in order),
        size_bytes=sum(caches[server].own_bytes for server in order),
        evicted_blocks=evicted,
    )
