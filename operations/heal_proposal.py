"""The proposal of a heal: where every region is, what the caches hold of it, and the moves that bring the most home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct

from operations.basis import Basis
from operations.cluster_step import LONGEST_SECONDS
from operations.hbase_control import CacheContents, HBaseState, RegionMove
from sizing.region_assignment import SLACK, CachedRegion, best_assignment, region_bound

# judgement: a move must save more. The lab counted 12 GETs for a region that is reopened, and a heal opens it twice.
LEAST_GETS: Final = 25
# judgement: each region reads from S3 until it is moved, and no move begins before the last region is open.
PAUSE_SECONDS: Final = 0.0
LONGEST_PAUSE_SECONDS: Final = 600.0
MOVE_SECONDS: Final = 5  # judgement: the lab measured 2.6 s; on S3 a region opens its files with a few round trips more
LONGEST_MOVE_SECONDS: Final = 120  # steps/regions.rb
MOVES_AT_A_TIME: Final = 25  # judgement: a minute of moves for each step, whose HBase shell takes 20 s to start
SYSTEM_TABLES: Final = "hbase:"


class HealProposal(Struct, frozen=True, kw_only=True, dict=True):
    """The state and caches of a cluster, and the moves that bring the most cached bytes home.

    `slack` is how far the number of regions of a server may exceed the mean, `pause_seconds` the pause after each move.
    `interrupted` is true if an earlier heal was interrupted.
    """

    state: HBaseState
    contents: Mapping[str, CacheContents]
    files: Mapping[str, Sequence[str]]
    slack: float = SLACK
    pause_seconds: float = PAUSE_SECONDS
    interrupted: bool = False

    @cached_property
    def regions(self) -> dict[str, CachedRegion]:
        """Return every open region of a user table, with its bytes in each cache."""
        return {
            name: CachedRegion(
                server=region.server,
                cached_bytes={
                    server: size for server in self.contents if (size := self._cached(server, name, "size_bytes"))
                },
            )
            for name, region in sorted(self.state.regions.items())
            if region.server is not None and not region.table.startswith(SYSTEM_TABLES)
        }

    @cached_property
    def bound(self) -> int:
        """Return the most regions that a move may leave on a server."""
        return region_bound(len(self.regions), len(self.contents), self.slack)

    @cached_property
    def moves(self) -> tuple[RegionMove, ...]:
        """Return the moves, those to the same server one after the other."""
        best = best_assignment(self.regions, sorted(self.contents), self.bound, self._move_bytes)
        moves = (
            RegionMove(region=name, table=self.state.regions[name].table, source=region.server, target=best[name])
            for name, region in self.regions.items()
            if best[name] != region.server
        )
        return tuple(sorted(moves, key=lambda move: (move.target, move.table, move.region)))

    @property
    def moves_at_a_time(self) -> int:
        """Return the number of moves in one step, which must end within its time limit even if each move is slow."""
        return min(MOVES_AT_A_TIME, int(LONGEST_SECONDS / (LONGEST_MOVE_SECONDS + self.pause_seconds)))

    @property
    def move_seconds(self) -> float:
        """Return the estimated time of all moves, with their pauses."""
        return len(self.moves) * (MOVE_SECONDS + self.pause_seconds)

    @property
    def cached_bytes(self) -> int:
        """Return the bytes of all regions that caches hold; for each region, the cache with most of it counts."""
        return sum(max(region.cached_bytes.values(), default=0) for region in self.regions.values())

    @property
    def home_bytes(self) -> int:
        """Return the bytes that are cached on the server that has their region open."""
        return sum(region.bytes_on(region.server) for region in self.regions.values())

    @property
    def gained_bytes(self) -> int:
        """Return by how much the moves raise `home_bytes`."""
        return sum(
            self.regions[move.region].bytes_on(move.target) - self.regions[move.region].bytes_on(move.source)
            for move in self.moves
        )

    @property
    def freed_bytes(self) -> int:
        """Return the second copies that the moves leave in caches, which make room for other blocks."""
        regions = [(self.regions[move.region], move) for move in self.moves]
        return sum(min(region.bytes_on(move.source), region.bytes_on(move.target)) for region, move in regions)

    @property
    def gets_saved(self) -> int:
        """Return the blocks that come home: reading each of them once elsewhere would take a GET."""
        return sum(
            self._cached(move.target, move.region, "blocks") - self._cached(move.source, move.region, "blocks")
            for move in self.moves
        )

    @property
    def basis(self) -> Basis:
        """Return the facts that the proposal was made from."""
        return self.basis_in(self.state)

    def basis_in(self, state: HBaseState) -> Basis:
        """Return the same facts in another state: the servers, and the locations of the regions that would move."""
        facts = {f"RegionServer {server}": f"started at {start}" for server, start in state.servers.items()}
        homes = state.homes
        return facts | {f"region {move.region}": f"on {homes.get(move.region, 'no server')}" for move in self.moves}

    def at_home(self, homes: Mapping[str, str]) -> int:
        """Return how many regions need no move: no other cache holds enough more of them to make one pay."""
        return sum(
            region.bytes_on(homes[name]) + self._move_bytes >= max(region.cached_bytes.values(), default=0)
            for name, region in self.regions.items()
            if name in homes
        )

    @cached_property
    def _move_bytes(self) -> int:
        """Return the bytes of the blocks that a move must bring home."""
        cached = [file for contents in self.contents.values() for file in contents.files.values()]
        blocks = sum(file.blocks for file in cached)
        return LEAST_GETS * sum(file.size_bytes for file in cached) // blocks if blocks else 0

    def _cached(self, server: str, region: str, field: str) -> int:
        cached = self.contents[server].files
        names = map(cached_name, self.files.get(region, ()))
        return sum(getattr(cached[name], field) for name in names if name in cached)


def cached_name(store_file: str) -> str:
    """Return the name by which a cache knows the blocks of a store file.

    A link, TABLE=REGION-HFILE, shares the blocks of its target. A reference, HFILE.PARENT, also one to a link, has
    blocks of its own. Source: HBase 2.6, StoreFileInfo.createReaderContext and HFileLink.
    """
    target = store_file.rpartition("-")[2]
    return target if "=" in store_file and "." not in target else store_file


def moves_by_target(moves: Sequence[RegionMove]) -> Mapping[str, int]:
    """Return the number of moves to each server that gets any."""
    return Counter(move.target for move in moves)
