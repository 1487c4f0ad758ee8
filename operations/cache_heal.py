"""The heal of the caches: regions move back to the servers whose caches hold their blocks.

When a server dies, its regions open on others, which read them from S3, while its own cache keeps their blocks. The
persisted index of a cache says what it holds. HBase's own map of cached regions is not used: it is rebuilt only from
files that were prefetched whole, and ignores evictions. After a move, hbase:meta names two servers for a region, and a
restart of the second would send it to the first. So the tables of moved regions are reopened in place at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from msgspec import Struct

from operations.hbase_control import CacheContents, HBaseState, RegionControl, RegionMove, refuse_unquiet
from operations.heal_proposal import PAUSE_SECONDS, HealProposal
from operations.polling import turns
from operations.progress import Say, Stage
from sizing.problem import OperationFailed, Problem, Refused
from sizing.region_assignment import SLACK

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


class HealJournal(Protocol):
    """The record of whether the balancer was on before the moves, until the heal has ended."""

    def read(self) -> bool | None:
        """Return whether it was on; None where no heal was interrupted."""

    def write(self, balancer_was_on: bool) -> None:  # noqa: FBT001 - the value of the journal
        """Keep this in place of any other."""

    def clear(self) -> None:
        """Forget it."""


class HealPatience(Struct, frozen=True, kw_only=True):
    """How long to wait for regions that are reopened, in seconds."""

    opened: float = 600.0  # judgement: the master opens the regions of a table in batches, each in seconds
    first_poll: float = 0.5
    poll: float = 10.0


class Heal(Struct, frozen=True, kw_only=True):
    """The heal of one running HBase."""

    hbase: HealControl
    journal: HealJournal
    patience: HealPatience = HealPatience()

    def propose(self, say: Say, slack: float = SLACK, pause_seconds: float = PAUSE_SECONDS) -> HealProposal:
        """Return the proposal for the cluster as it is now. Raises Refused if its state or an index forbids it."""
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        _refuse_orphaned(state)
        contents = self.hbase.cache_contents(sorted(state.servers), say)
        _refuse_stale(contents)
        return HealProposal(
            state=state,
            contents=contents,
            files=self.hbase.region_files(say),
            slack=slack,
            pause_seconds=pause_seconds,
            interrupted=self.journal.read() is not None,
        )

    def stages(self, proposal: HealProposal) -> Iterator[Stage]:
        """Yield the stages of a proposal; each first checks what is left to do, so it can be repeated."""
        moves = proposal.moves
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        for first in range(0, len(moves), proposal.moves_at_a_time):
            some = moves[first : first + proposal.moves_at_a_time]
            yield Stage(
                title=_title(first, len(some), len(moves)), act=partial(self._move, some, proposal.pause_seconds)
            )
        yield Stage(title="reopen tables with moved regions in place", act=self._reopen)
        yield Stage(title="check where the regions are", act=partial(self._verify, proposal))
        yield Stage(title="restore the balancer", act=self._finish)

    def _prepare(self, say: Say) -> str:
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        if self.journal.read() is None:
            self.journal.write(state.balancer_is_on)
        if state.balancer_is_on:
            self.hbase.switch_balancer(say, on=False)
        return f"{len(state.servers)} servers, {len(state.homes)} regions, none in transition"

    def _move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> str:
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        if state.balancer_is_on:
            # Somebody has switched it on meanwhile, and it may already have planned moves.
            self.hbase.switch_balancer(say, on=False)
        remaining = [move for move in moves if state.homes.get(move.region, move.target) != move.target]
        if remaining:
            self.hbase.move(remaining, pause_seconds, say)
        return "it is open on its server" if len(moves) == 1 else f"all {len(moves)} are open on their servers"

    def _reopen(self, say: Say) -> str:
        tables = self.hbase.state(say).moved_tables
        if not tables:
            return "no table has moved regions"
        self.hbase.reopen(tables, say)
        for _ in turns(self.patience.opened, self.patience.first_poll, self.patience.poll):
            state = self.hbase.state(say)
            if not (state.closed or state.in_transition or state.moved_tables):
                return f"{', '.join(tables)}: a restart keeps every region on its server"
        raise OperationFailed.of(
            where=", ".join(tables),
            what="has regions that are not open, or would not return to their server after a restart",
            why=f"{self.patience.opened / 60:,.0f} minutes have passed since it was reopened",
            fix=f"read the master's log for the regions in transition; then {CONTINUE}",
        )

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

    def _finish(self, say: Say) -> str:
        was_on = self.journal.read()
        if was_on:
            self.hbase.switch_balancer(say, on=True)
        self.journal.clear()
        return "the balancer is on again" if was_on else "the balancer stays off, as it was before"


def _refuse_orphaned(state: HBaseState) -> None:
    if absent := sorted(set(state.homes.values()) - state.servers.keys()):
        raise Refused.of(
            where=absent[0],
            what="has regions in hbase:meta, but is not among the live RegionServers",
            why="the master has not assigned them to other servers yet",
            fix="wait until it is back, or its regions are open elsewhere (warmbase status); then run the same command"
            " again",
        )


def _refuse_stale(contents: Mapping[str, CacheContents]) -> None:
    problems = [
        Problem(
            where=server,
            what="may hold other blocks than its index says, which may have been out of date for"
            f" {cache.behind_seconds:,.0f} s",
            why=f"HBase writes the index after a change, and more than two intervals, {cache.longest_seconds:,.0f} s,"
            " have passed; moves that follow an old index can be wrong",
            fix="read its log for `Error occurred while persisting bucket cache`, and check the node: warmbase verify;"
            " when the index is written again, run the same command again",
        )
        for server, cache in sorted(contents.items())
        if cache.behind_seconds > cache.longest_seconds
    ]
    if problems:
        raise Refused(problems)


def _title(first: int, count: int, total: int) -> str:
    if count == total:
        return "move 1 region" if count == 1 else f"move {count} regions, one after another"
    return f"move regions {first + 1} to {first + count} of {total}, one after another"
