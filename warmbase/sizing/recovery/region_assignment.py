"""The assignment of regions to RegionServers with the most cached bytes, and the second copies that a restart leaves.

The assignment, under a bound on the regions of a server, is a transport problem: a minimum-cost flow from regions
through servers, exact in integers. Every region begins on the server where it is worth most. While a server has too
many, the flow takes the cheapest chain of moves from it to a server with room. Chains lead over servers, of which there
are few: for each pair of servers a heap has the region whose move costs least. Successive shortest paths keep the flow
optimal (Ahuja, Magnanti and Orlin, Network Flows, 9.7).

While a server restarts without its regions, they are open on the other servers, which cache their blocks a second time:
by prefetch when a region opens, and by reads. Each block is one GET (service/resource.py: there is no read-ahead).
Nothing removes the second copies when the regions come home, so the caches need room for the copies of every server, or
evict other blocks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import Final

from msgspec import Struct

# judgement: what HBase's SimpleLoadBalancer tolerates above the mean (hbase.regions.slop in hbase-default.xml).
SLACK: Final = 0.2
UNREACHED: Final = math.inf


class CachedRegion(Struct, frozen=True, kw_only=True):
    """A region: the server that has it open, and its bytes in the cache of each server that has any."""

    server: str
    cached_bytes: Mapping[str, int]

    def bytes_on(self, server: str) -> int:
        """Return how much of the region the cache of that server has."""
        return self.cached_bytes.get(server, 0)


def region_bound(regions: int, servers: int, slack: float = SLACK) -> int:
    """Return the most regions of a server, if none may have more than this fraction above the mean."""
    return math.ceil(Fraction(regions, servers) * (1 + Fraction(str(slack))))


def best_assignment(
    regions: Mapping[str, CachedRegion], servers: Sequence[str], bound: int, move_bytes: int = 0
) -> dict[str, str]:
    """Return the server of each region, so that as many bytes as possible are cached where their region is.

    No server gets a region beyond the bound, but one that has more already may keep them. A move must gain more than
    `move_bytes`. There is one exception: a server with more than the mean gives away regions that another cache has as
    much of, because each cache has room for its share, and a second copy takes the room of other blocks. So nothing
    that is cached is given up. Of the best assignments, this is one with the fewest moves. Raises KeyError where a
    region is open on a server that is not listed.
    """
    if not regions:
        return {}
    flow = _Flow(regions, servers, bound, move_bytes)
    flow.solve()
    return {name: servers[number] for name, number in zip(regions, flow.places, strict=True)}


class _Flow:
    """The server of each region by number, improved until a server accepts each of them."""

    def __init__(
        self, regions: Mapping[str, CachedRegion], servers: Sequence[str], bound: int, move_bytes: int
    ) -> None:
        numbers = {server: number for number, server in enumerate(servers)}
        # A byte outweighs all that decides among equals.
        scale = 5 * len(regions) + 1
        self.move = scale * move_bytes + 1
        # A region beyond the mean costs what a move costs and a little more, so that relief alone justifies a move. A
        # move to a cache without the region costs that too, so that it needs another justification.
        self.surplus = self.move + 1
        self.values = [
            [scale * region.bytes_on(server) - self._price(region, server, move_bytes) for server in servers]
            for region in regions.values()
        ]
        before = Counter(numbers[region.server] for region in regions.values())
        self.even = min(bound, region_bound(len(regions), len(servers), slack=0))
        self.most = [max(bound, before[number]) for number in range(len(servers))]
        self.places = [max(range(len(servers)), key=row.__getitem__) for row in self.values]
        loads = Counter(self.places)
        self.accepted = [min(loads[number], self.even) for number in range(len(servers))]
        self.heaps: dict[tuple[int, int], list[tuple[int, int]]] = {
            (here, there): [] for here in numbers.values() for there in numbers.values() if here != there
        }
        for region, row in enumerate(self.values):
            for pair, loss in self._losses(region, row):
                self.heaps[pair].append((loss, region))
        for heap in self.heaps.values():
            heapify(heap)

    def _price(self, region: CachedRegion, server: str, move_bytes: int) -> int:
        """Return what it costs that the region is on that server."""
        if server == region.server:
            return 0
        return self.move if region.bytes_on(server) > move_bytes else self.move + self.surplus

    def solve(self) -> None:
        """Let some server accept each region that is beyond the mean where it is worth most."""
        loads = Counter(self.places)
        for server, accepted in enumerate(tuple(self.accepted)):
            for _ in range(loads[server] - accepted):
                self._accept(server)

    def _accept(self, source: int) -> None:
        """Take one region from the source along the cheapest chain, which may end at the source itself."""
        edges = {pair: edge for pair in self.heaps if (edge := self._cheapest(pair)) is not None}
        costs, previous = self._chains(source, {pair: loss for pair, (loss, _) in edges.items()})
        server = min(range(len(costs)), key=lambda number: costs[number] + self._acceptance(number))
        self.accepted[server] += 1
        while server != source:
            here = previous[server]
            self._move(edges[here, server][1], server)
            server = here

    def _acceptance(self, server: int) -> float:
        """Return the cost of one more region on that server."""
        if self.accepted[server] < self.even:
            return 0
        return self.surplus if self.accepted[server] < self.most[server] else UNREACHED

    def _chains(self, source: int, losses: Mapping[tuple[int, int], int]) -> tuple[list[float], dict[int, int]]:
        """Return the cost of the cheapest chain to each server, and the server before it, by Bellman and Ford."""
        costs: list[float] = [UNREACHED] * len(self.most)
        costs[source] = 0
        previous: dict[int, int] = {}
        improved = True
        while improved:
            improved = False
            for (here, there), loss in losses.items():
                if costs[here] + loss < costs[there]:
                    costs[there], previous[there], improved = costs[here] + loss, here, True
        return costs, previous

    def _cheapest(self, pair: tuple[int, int]) -> tuple[int, int] | None:
        """Return the least loss of a move between two servers and its region; entries of moved regions are dropped."""
        heap = self.heaps[pair]
        while heap and self.places[heap[0][1]] != pair[0]:
            heappop(heap)
        return heap[0] if heap else None

    def _move(self, region: int, server: int) -> None:
        self.places[region] = server
        for pair, loss in self._losses(region, self.values[region]):
            heappush(self.heaps[pair], (loss, region))

    def _losses(self, region: int, row: Sequence[int]) -> Iterator[tuple[tuple[int, int], int]]:
        here = self.places[region]
        return (((here, there), row[here] - value) for there, value in enumerate(row) if there != here)


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
    blocks that no cache had, and an eviction frees more than is needed (cache/hit_ratio.py), so caches that hold less
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
