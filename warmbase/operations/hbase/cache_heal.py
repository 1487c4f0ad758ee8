"""The heal of the caches: regions move back to the servers whose caches hold their blocks.

When a server dies, its regions open on others, which read them from S3, while its own cache keeps their blocks. The
persisted index of a cache says what it holds. HBase's own map of cached regions is not used: it is rebuilt only from
files that were prefetched whole, and ignores evictions. After a move, hbase:meta names two servers for a region, and a
restart of the second would send it to the first. So the tables of moved regions are reopened in place at the end.

The proposal says where every region is, what the caches hold of it, and which moves bring the most home.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final, Protocol

from msgspec import Struct

from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.operations.aws.node_command import LONGEST_SECONDS
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.hbase_control import (
    META_TABLE,
    CacheContents,
    HBaseState,
    Patience,
    RegionControl,
    RegionMove,
    quiet_state,
)
from warmbase.operations.cluster.journals import HealJournal, Journals
from warmbase.sizing.recovery.region_assignment import SLACK, CachedRegion, best_assignment, region_bound

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
    def has_work(self) -> bool:
        """Return whether a heal has something to do: moves, tables to reopen after moves, or an interrupted heal."""
        return bool(self.moves or self.state.moved_tables or self.interrupted)

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


UNQUIET: Final = "moves would compete with the openings that the master is busy with"
CONTINUE: Final = "run the same command again: it reads the caches anew, and continues with the moves that remain"


class HealControl(RegionControl, Protocol):
    """Reads caches and moves regions too. Every method raises OperationFailed where the cluster does not do it."""

    def region_files(self, say: Say) -> Mapping[str, Sequence[str]]:
        """Return the names of the store files of every open region of a user table."""

    def cache_contents(self, servers: Sequence[str], say: Say) -> Mapping[str, CacheContents]:
        """Return the contents of these servers' caches."""

    def move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        """Move one region after another, with a pause after each; each is open at its target before the next one."""


class Heal(Struct, frozen=True, kw_only=True):
    """The heal of one running HBase."""

    hbase: HealControl
    journals: Journals
    patience: Patience = Patience()

    def propose(self, say: Say, slack: float = SLACK, pause_seconds: float = PAUSE_SECONDS) -> HealProposal:
        """Return the proposal for the cluster as it is now. Raises Refused if its state or an index forbids it."""
        self.journals.refuse_interrupted_table()
        state = quiet_state(self.hbase, UNQUIET, say)
        if absent := sorted(set(state.homes.values()) - state.servers.keys()):
            raise Refused.of(
                where=absent[0],
                what="has regions in hbase:meta, but is not among the live RegionServers",
                why="the master has not assigned them to other servers yet",
                fix="wait until it is back, or its regions are open elsewhere (warmbase status); then run the same"
                " command again",
            )
        restart = self.journals.restart.read()
        if restart is not None and (absent := sorted(restart.starts.keys() - state.servers.keys())):
            raise Refused.of(
                where=absent[0],
                what="is not among the live RegionServers",
                why="a restart that was interrupted may be restarting it, and its cache may hold blocks of any region",
                fix="wait until it is back, then run the same command again; if its node has been replaced, continue"
                f" the restart first: {restart.command}; if it does not come back, end the restart where it is:"
                f" {restart.COMMAND} --abandon",
            )
        contents = self.hbase.cache_contents(sorted(state.servers), say)
        stale = [
            Problem(
                where=server,
                what="may hold other blocks than its index says, which may have been out of date for"
                f" {cache.behind_seconds:,.0f} s",
                why=f"HBase writes the index after a change, and more than two intervals, {cache.longest_seconds:,.0f}"
                " s, have passed; moves that follow an old index can be wrong",
                fix="read its log for `Error occurred while persisting bucket cache`, and check the node: warmbase"
                " verify; when the index is written again, run the same command again; to end a heal that was"
                f" interrupted: {HealJournal.COMMAND} --abandon",
            )
            for server, cache in sorted(contents.items())
            if cache.behind_seconds > cache.longest_seconds
        ]
        if stale:
            raise Refused(stale)
        return HealProposal(
            state=state,
            contents=contents,
            files=self.hbase.region_files(say),
            slack=slack,
            pause_seconds=pause_seconds,
            interrupted=self.journals.heal.read() is not None,
        )

    def stages(self, proposal: HealProposal) -> Iterator[Stage]:
        """Yield the stages of a proposal; each first checks what is left to do, so it can be repeated."""
        moves = proposal.moves
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        for first in range(0, len(moves), proposal.moves_at_a_time):
            some = moves[first : first + proposal.moves_at_a_time]
            which = f"regions {first + 1} to {first + len(some)} of {len(moves)}"
            if len(some) == len(moves):
                which = f"{len(moves)} regions"
            title = "move 1 region" if len(moves) == 1 else f"move {which}, one after another"
            yield Stage(title=title, act=partial(self._move, some, proposal.pause_seconds))
        yield Stage(title="reopen tables with moved regions in place", act=self._reopen)
        yield Stage(title="check where the regions are", act=partial(self._verify, proposal))
        yield Stage(title="restore the balancer", act=self._finish)

    def _prepare(self, say: Say) -> str:
        state = quiet_state(self.hbase, UNQUIET, say)
        if self.journals.heal.read() is None:
            self.journals.heal.write(HealJournal(balancer_was_on=state.balancer_is_on))
        self.journals.note_balancer(state)
        if state.balancer_is_on:
            self.hbase.switch_balancer(say, on=False)
        return f"{len(state.servers)} servers, {len(state.homes)} regions, none in transition"

    def _move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> str:
        state = quiet_state(self.hbase, UNQUIET, say)
        self.journals.note_balancer(state)
        if state.balancer_is_on:
            # Somebody has switched it on meanwhile, and it may already have planned moves.
            self.hbase.switch_balancer(say, on=False)
        remaining = [move for move in moves if state.homes.get(move.region, move.target) != move.target]
        if remaining:
            self.hbase.move(remaining, pause_seconds, say)
        return "it is open on its server" if len(moves) == 1 else f"all {len(moves)} are open on their servers"

    def _reopen(self, say: Say) -> str:
        return reopen_moved(self.hbase, self.patience, say)

    def _verify(self, proposal: HealProposal, say: Say) -> str:
        homes = self.hbase.state(say).homes
        lost = [move for move in proposal.moves if homes.get(move.region, move.target) != move.target]
        if lost:
            raise OperationFailed.of(
                where=lost[0].region,
                what=f"is not on {lost[0].target}" + (f", nor are {len(lost) - 1} more" if lost[1:] else ""),
                why="they were moved there, and something has moved them again",
                fix=f"find out what moves regions (the master's log); then {CONTINUE}",
            )
        regions = sum(name in homes for name in proposal.regions)
        return f"{proposal.at_home(homes)} of {regions} regions are where their blocks are"

    def abandonment(self) -> Iterator[Stage]:
        """Yield the stages that end an interrupted heal, with the balancer as it was before."""
        yield abandoned_tables(self.hbase, self.journals, self.patience)
        yield Stage(title="restore the balancer", act=self._finish)

    def _finish(self, say: Say) -> str:
        journal, restart = self.journals.heal.read(), self.journals.restart.read()
        was_on = journal is not None and journal.balancer_was_on
        if restart is None and was_on:
            self.hbase.switch_balancer(say, on=True)
        self.journals.heal.clear()
        if restart is not None:
            return f"the balancer stays off until the restart that was interrupted has ended: {restart.command}"
        return "the balancer is on again" if was_on else "the balancer stays off, as it was before"


def reopen_moved(hbase: RegionControl, patience: Patience, say: Say) -> str:
    """Reopen the tables with moved regions in place. Raises OperationFailed where their regions do not stay open."""
    tables = hbase.state(say).moved_tables
    if not tables:
        return "no table has moved regions"
    hbase.reopen(tables, say)
    for _ in turns(patience.opened, *patience.pauses):
        state = hbase.state(say)
        if not (state.closed or state.in_transition or state.moved_tables):
            return f"{', '.join(tables)}: a restart keeps every region on its server"
    raise OperationFailed.of(
        where=", ".join(tables),
        what="has regions that are not open, or would not return to their server after a restart",
        why=f"{patience.opened / 60:,.0f} minutes have passed since it was reopened",
        fix=f"read the master's log for the regions in transition; then {CONTINUE}",
    )


def abandoned_tables(hbase: RegionControl, journals: Journals, patience: Patience, *, meta: bool = False) -> Stage:
    """Return the stage that reopens tables before an interrupted operation is ended where it is.

    With `meta`, hbase:meta is reopened too: nothing shows that it was moved. If a region is not open, nothing is
    reopened, because the end of the operation must not wait for it; a heal reopens the tables later.
    """

    def reopen(say: Say) -> str:
        state = hbase.state(say)
        journals.note_balancer(state)
        if state.closed or state.in_transition:
            return (
                f"left out, because {state.closed + state.in_transition} regions are not open; when they are:"
                f" {HealJournal.COMMAND}"
            )
        if state.balancer_is_on:
            hbase.switch_balancer(say, on=False)
        if meta:
            hbase.reopen([META_TABLE], say)
        return reopen_moved(hbase, patience, say)

    return Stage(title="reopen tables with moved regions in place", act=reopen)
