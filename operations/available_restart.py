"""A rolling restart for clients that cannot wait: the regions of a server are open on other servers while it restarts.

For that, each region moves twice, and the caches of the other servers read its blocks from S3. The restart ends with a
stage that HBase's `graceful_stop.sh` does not have: after a move, the master remembers another server, and would send
the region there at the next restart, so the tables of moved regions are reopened in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final, Protocol

from msgspec.structs import replace

from operations.cache_heal import HealControl
from operations.hbase_control import META_TABLE, HBaseControl, HBaseState, RegionMove, refuse_unquiet
from operations.heal_proposal import MOVES_AT_A_TIME, cached_name
from operations.progress import Say, Stage
from operations.restart_journal import RestartJournal
from operations.rolling_restart import (
    CONTINUE,
    UNQUIET,
    RollingRestart,
    refuse_absent,
    restart_order,
    restart_title,
)
from sizing.problem import OperationFailed, Refused
from sizing.second_copies import CacheBlocks

FEWEST_SERVERS: Final = 2


class AvailableControl(HealControl, HBaseControl, Protocol):
    """Moves regions, restarts servers and reads their caches. Every method raises OperationFailed where that fails."""


class AvailableRestart(RollingRestart, frozen=True, kw_only=True, dict=True):
    """The restart of one server after another, each without regions; they come home before the next server restarts."""

    hbase: AvailableControl
    available: ClassVar[bool] = True

    def stages(self, state: HBaseState) -> Iterator[Stage]:
        """Yield the stages for a cluster in this state; each first checks what is left to do, so it can be repeated."""
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        for server in restart_order(state, self.journals.read()):
            acts = (self._move_away, self._restart_empty, self._bring_home)
            for title, act in zip(self.titles(server), acts, strict=True):
                yield Stage(title=title, act=partial(act, server))
        yield Stage(title="reopen hbase:meta and tables with moved regions in place", act=self._reopen)
        yield Stage(title="restore the balancer", act=self._finish)

    def titles(self, server: str) -> tuple[str, ...]:
        """Return the titles of the stages of one server."""
        return (
            f"move the regions of {server} away",
            restart_title(server),
            f"bring the regions of {server} home",
        )

    def cache_blocks(self, servers: Iterable[str], homes: Mapping[str, str], say: Say) -> dict[str, CacheBlocks]:
        """Return the blocks in the caches of these servers by their indexes; `homes` has the server of each region."""
        contents, files = self.hbase.cache_contents(sorted(servers), say), self.hbase.region_files(say)
        caches = {}
        for server, cache in contents.items():
            names = {cached_name(file) for name in files if homes.get(name) == server for file in files[name]}
            own = [cache.files[name] for name in names if name in cache.files]
            caches[server] = CacheBlocks(
                all_blocks=sum(file.blocks for file in cache.files.values()),
                own_blocks=sum(file.blocks for file in own),
                own_bytes=sum(file.size_bytes for file in own),
            )
        return caches

    def _reopen(self, say: Say) -> str:
        """Reopen hbase:meta as well: nothing shows that it was moved, because no row names its last server."""
        self.hbase.reopen([META_TABLE], say)
        self._home(self._journal(), say)
        return f"hbase:meta was reopened; {super()._reopen(say)}"

    def _refuse_unready(self, state: HBaseState, say: Say) -> None:
        if len(state.servers) < FEWEST_SERVERS:
            raise Refused.of(
                where="HBase",
                what="has no other RegionServer that regions could move to",
                why=f"the only live RegionServer is {next(iter(state.servers), 'none')}",
                fix="restart it in place: warmbase restart ENV --rolling",
            )
        super()._refuse_unready(state, say)

    def _continuable(self, journal: RestartJournal, say: Say) -> HBaseState:
        """Wait until every server is live and no region is in transition; regions may be away."""
        return self._home(replace(journal, homes={}), say)

    def _move_away(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if journal.restarted(server, state):
            return "was restarted already"
        moves = moves_away(server, state)
        self._move(moves, say)
        return f"{len(moves)} regions are open on other servers" if moves else "it has no regions"

    def _restart_empty(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if journal.restarted(server, state):
            return "was restarted already"
        # If a region has split since the move, its halves may have opened here.
        self._move(moves_away(server, state), say)
        self.hbase.restart(server, say)
        self._home(replace(journal, homes={}), say, server)
        return "it is back; its regions were open on other servers"

    def _bring_home(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if not journal.restarted(server, state):
            raise OperationFailed.of(
                where=server,
                what="has not restarted",
                why="another command has changed the journal of this restart",
                fix=f"see which servers were restarted: warmbase status; then {CONTINUE}",
            )
        # After an interruption, the regions of the next server may be away already.
        own = {name: home for name, home in journal.homes.items() if home == server}
        homes = state.homes
        moves = [
            RegionMove(region=name, table=state.regions[name].table, source=homes[name], target=server)
            for name in own
            if homes.get(name, server) != server
        ]
        self._move(meta_first(moves), say)
        return self._gate(server, replace(journal, homes=own), say)

    def _still(self, journal: RestartJournal, say: Say) -> HBaseState:
        """Return the state, with the balancer off. Raises Refused if a server is down or the cluster is not quiet."""
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        refuse_absent(journal, state)
        if state.balancer_is_on:
            # Somebody has switched it on meanwhile, and it may already have planned moves.
            self.hbase.switch_balancer(say, on=False)
            state = self.hbase.state(say)
        return state

    def _move(self, moves: Sequence[RegionMove], say: Say) -> None:
        for first in range(0, len(moves), MOVES_AT_A_TIME):
            some = moves[first : first + MOVES_AT_A_TIME]
            say(f"moving regions {first + 1} to {first + len(some)} of {len(moves)}")
            self.hbase.move(some, 0.0, say)


def moves_away(server: str, state: HBaseState) -> list[RegionMove]:
    """Return the moves of all regions of a server, each to the other server that then has the fewest."""
    counts = Counter({other: state.region_counts.get(other, 0) for other in state.servers if other != server})
    moves = []
    for name in sorted(name for name, home in state.homes.items() if home == server):
        target = min(sorted(counts), key=lambda other: counts[other])
        counts[target] += 1
        moves.append(RegionMove(region=name, table=state.regions[name].table, source=server, target=target))
    return meta_first(moves)


def meta_first(moves: Sequence[RegionMove]) -> list[RegionMove]:
    """Return the moves, that of hbase:meta first, because clients look up each moved region in it."""
    return sorted(moves, key=lambda move: move.table != META_TABLE)
