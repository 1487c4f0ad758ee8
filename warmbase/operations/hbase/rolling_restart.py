"""A rolling restart that keeps the caches: one RegionServer after another, in place, each with a gate after it.

A RegionServer that restarts in place finds its cache, and the master waits for it before it assigns its regions
elsewhere. That holds only for a region whose last two openings were on the same server: a region that was moved goes
back to where it came from. So the tables of such regions are reopened in place first. The journal, in the log bucket,
makes an interrupted restart continue: it has the start time of every server, and a server that has another one is done.

For clients that cannot wait (`AvailableRestart`), the regions of a server are open on other servers while it restarts.
So each region moves twice, and the caches of the other servers read its blocks from S3. The restart ends with a stage
that HBase's `graceful_stop.sh` does not have: after a move, the master remembers another server, and would send the
region there at the next restart, so the tables of moved regions are reopened in place.

Clusters whose caches no restart in place would keep are refused.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_spec import flattened
from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.ground.units import format_percent
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.hbase_control import (
    META_TABLE,
    HBaseControl,
    HBaseState,
    Patience,
    RegionMove,
    hit_ratios,
    quiet_state,
    refuse_unquiet,
)
from warmbase.operations.cluster.journals import Journals, RestartJournal
from warmbase.operations.hbase.cache_heal import MOVES_AT_A_TIME, Heal, HealControl, abandoned_tables, cached_name
from warmbase.operations.hbase.emr_hbase import emr_hbase
from warmbase.sizing.recovery.region_assignment import CacheBlocks

HIT_RATIO_TOLERANCE: Final = 0.01
"""A server passes its gate if its hit ratio is within a point of the ratio before the restart."""
HEAL_FIRST: Final = (
    "bring them to the caches that hold their blocks: warmbase heal ENV; then run the same command again"
)
UNQUIET: Final = "a server that restarts now would take more rows offline, and its regions may not return"
CONTINUE: Final = "run the same command again: it continues with the servers that have not been restarted"
SKIP: Final = "skips a server whose node EMR has terminated"


class RestartControl(HealControl, HBaseControl, Protocol):
    """Moves regions, restarts servers and reads their caches. Every method raises OperationFailed where that fails."""


class RollingRestart(Struct, frozen=True, kw_only=True):
    """The rolling restart of the servers of one running HBase."""

    hbase: RestartControl
    journals: Journals
    patience: Patience = Patience()
    available: ClassVar[bool] = False

    def stages(self, state: HBaseState) -> Iterator[Stage]:
        """Yield the stages for a cluster in this state; each first checks what is left to do, so it can be repeated."""
        continues = self.journals.restart.read() is not None
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        if state.moved_tables:
            yield Stage(title=f"reopen {_names(state.moved_tables)} in place", act=self._reopen)
        elif continues:
            # The regions of a server that was left out may have opened elsewhere only now.
            yield Stage(title="reopen tables with moved regions in place", act=self._reopen)
        for server in restart_order(state, self.journals.restart.read()):
            yield Stage(title=restart_title(server), act=partial(self._restart, server))
        yield Stage(title="restore the balancer", act=self._finish)

    def check(self, state: HBaseState, say: Say) -> RestartJournal | None:
        """Return the journal of a restart that was interrupted; None where all servers could restart now.

        Changes nothing. Raises Refused where no server may restart now, OperationFailed where the cluster does not
        answer. An interrupted restart is checked when it continues, because a server may be away until then.
        """
        journal = self._interrupted()
        if journal is None:
            refuse_unquiet(state, UNQUIET)
            self._refuse_unready(state, state.servers, say)
        return journal

    def abandonment(self) -> Iterator[Stage]:
        """Yield the stages that end an interrupted restart of either kind, with the balancer as it was before."""
        journal = self.journals.restart.read()
        meta = journal is not None and journal.available
        yield abandoned_tables(self.hbase, self.journals, self.patience, meta=meta)
        yield Stage(title="restore the balancer", act=self._finish)

    def titles(self, server: str) -> tuple[str, ...]:
        """Return the titles of the stages of one server."""
        return (restart_title(server),)

    def _interrupted(self) -> RestartJournal | None:
        """Return the journal of a restart of this kind. Raises Refused if another operation must be finished first."""
        self.journals.refuse_interrupted_table()
        journal = self.journals.restart.read()
        if journal is not None and journal.available != self.available:
            raise Refused.of(
                where="the journal of the restart",
                what=f"belongs to a restart {'with' if journal.available else 'without'} --available",
                why="that restart was interrupted, and only the same command knows how to continue it",
                fix=f"finish it first: {journal.command}; or end it where it is: {journal.COMMAND} --abandon",
            )
        return journal

    def _refuse_unready(self, state: HBaseState, servers: Collection[str], say: Say) -> None:
        """Refuse the restart if one of these servers, which are to be restarted, would lose its cache."""
        del state
        unready = self.hbase.unready(sorted(servers), say)
        if unready:
            server, why = next(iter(unready.items()))
            more = f", as would {len(unready) - 1} more" if len(unready) > 1 else ""
            raise Refused.of(
                where=server,
                what=f"would lose its cache if it restarted now{more}",
                why=why,
                fix="resolve that, then run the same command again; to end a restart that was interrupted before:"
                f" {RestartJournal.COMMAND} --abandon",
            )

    def _prepare(self, say: Say) -> str:
        journal = self._interrupted()
        if journal is None:
            state = quiet_state(self.hbase, UNQUIET, say)
            self._refuse_unready(state, state.servers, say)
            heal = self.journals.heal.read()
            journal = RestartJournal(
                balancer_was_on=state.balancer_is_on or (heal is not None and heal.balancer_was_on),
                starts=state.servers,
                hit_ratios=hit_ratios(self.hbase, self.hbase.now() - self.patience.before),
                homes=state.homes,
                available=self.available,
            )
            self.journals.restart.write(journal)
        else:
            journal, state = self._continued(journal, say)
        self._switch_off(state, say)
        restarted = sum(journal.restarted(server, state) for server in journal.starts)
        counted = f"{len(state.servers)} servers, {len(journal.homes)} regions, none in transition"
        return f"{counted}; {restarted} servers were restarted before the interruption" if restarted else counted

    def _continued(self, journal: RestartJournal, say: Say) -> tuple[RestartJournal, HBaseState]:
        """Return the journal that an interrupted restart continues with, and the state, once HBase is quiet.

        If a region has moved since, and a heal would leave it where it is, that server becomes its home: no command
        would propose to move it back. Raises OperationFailed if a heal would move it.
        """
        absent = journal.starts.keys() - self.hbase.state(say).servers.keys()
        if lost := self.hbase.lost_servers(absent):
            say(f"skipped, because EMR has terminated the node: {', '.join(sorted(lost))}")
            journal = replace(
                journal,
                starts={server: start for server, start in journal.starts.items() if server not in lost},
                homes={name: home for name, home in journal.homes.items() if home not in lost},
            )
            self.journals.restart.write(journal)
        state = self._home(replace(journal, homes={}), say)
        remaining = [server for server in journal.starts if not journal.restarted(server, state)]
        self._refuse_unready(state, remaining, say)
        homes = state.homes
        moved = {name for name, home in journal.homes.items() if homes.get(name, home) != home}
        if not moved:
            return journal, state
        proposal = Heal(hbase=self.hbase, journals=self.journals, patience=self.patience).propose(say)
        misplaced = {move.region for move in proposal.moves} & moved
        if self.available:
            # This restart itself has moved regions away from the server that it was restarting.
            blocks = proposal.regions
            misplaced |= {
                name
                for name in moved
                if name not in blocks
                or blocks[name].bytes_on(homes[name]) <= blocks[name].bytes_on(journal.homes[name])
            }
        elif misplaced:
            name = min(misplaced)
            raise OperationFailed.of(
                where=journal.homes[name],
                what=f"does not have {len(misplaced)} of its regions",
                why=f"since the restart was interrupted they are open on other servers, for instance {name} on"
                f" {homes[name]}, and caches of other servers hold their blocks",
                fix=HEAL_FIRST,
            )
        journal = replace(journal, homes={**journal.homes, **{name: homes[name] for name in moved - misplaced}})
        self.journals.restart.write(journal)
        return journal, state

    def _reopen(self, say: Say) -> str:
        tables = self.hbase.state(say).moved_tables
        if not tables:
            return "no region has moved, or all were reopened already"
        self.hbase.reopen(tables, say)
        state = self._home(self._journal(), say)
        if state.moved_tables:
            raise OperationFailed.of(
                where=_names(state.moved_tables),
                what="has regions that would not return to their server",
                why="they were reopened, and have moved again",
                fix=f"find out what moves regions (the master's log); then {CONTINUE}",
            )
        return f"{len(tables)} tables reopened, every region on its server"

    def _restart(self, server: str, say: Say) -> str:
        journal = self._journal()
        before = self.hbase.state(say)
        if journal.restarted(server, before):
            return f"was restarted already: {self._gate(server, journal, say)}"
        refuse_unquiet(before, UNQUIET)
        refuse_absent(journal, before)
        self._switch_off(before, say)
        self.hbase.restart(server, say)
        return self._gate(server, journal, say)

    def _switch_off(self, state: HBaseState, say: Say) -> None:
        """Switch the balancer off, also if somebody has switched it on meanwhile: it may already have planned moves."""
        self.journals.note_balancer(state)
        if state.balancer_is_on:
            self.hbase.switch_balancer(say, on=False)

    def _gate(self, server: str, journal: RestartJournal, say: Say) -> str:
        """Wait until every region is home and the server reads from its cache. Raises OperationFailed otherwise."""
        state = self._home(journal, say, server)
        count = sum(home == server and name in state.regions for name, home in journal.homes.items())
        home = f"{count} of {count} regions at home"
        wanted = journal.hit_ratios.get(server)
        if wanted is None:
            return f"{home}; no reads were published before, so its hit ratio was not checked"
        ratio, since = None, self.hbase.now()
        for _ in turns(self.patience.warm, *self.patience.pauses):
            reads = self.hbase.cache_reads(since).get(server)
            if reads is not None and reads.hit_ratio is not None:
                ratio = reads.hit_ratio
                if ratio >= wanted - HIT_RATIO_TOLERANCE:
                    return f"{home}, hit ratio {format_percent(ratio)} (before: {format_percent(wanted)})"
                say(f"hit ratio {format_percent(ratio)}, before the restart {format_percent(wanted)}")
                since = self.hbase.now()
        measured = "published no reads" if ratio is None else f"hits {format_percent(ratio)} of its reads"
        raise OperationFailed.of(
            where=server,
            what=f"{measured}; before the restart its cache answered {format_percent(wanted)}",
            why="its cache did not come back whole, so the restart stops here; the other servers keep theirs",
            fix="read its log for `Bucket cache retrieved from file`; see how its cache fills: warmbase status; when it"
            f" is warm, {CONTINUE}; or end the restart there: {journal.command} --abandon",
        )

    def _home(self, journal: RestartJournal, say: Say, server: str | None = None) -> HBaseState:
        """Wait until every server lives, `server` since its restart, and all regions are open, these at home."""
        away_since, reported = time.monotonic(), ""
        for _ in turns(self.patience.home, *self.patience.pauses):
            state = self.hbase.state(say)
            here = state.homes
            away = [name for name, home in journal.homes.items() if name in state.regions and here.get(name) != home]
            elsewhere = [name for name in away if name in here]
            back = journal.starts.keys() <= state.servers.keys() and (
                server is None or journal.restarted(server, state)
            )
            if back and not (away or state.closed or state.in_transition):
                return state
            if not elsewhere or not back or state.closed or state.in_transition:
                away_since = time.monotonic()
            elif time.monotonic() - away_since > self.patience.elsewhere:
                name = elsewhere[0]
                raise OperationFailed.of(
                    where=journal.homes[name],
                    what=f"did not get back {len(elsewhere)} of its regions",
                    why=f"the master has opened them on other servers, for instance {name} on {here[name]}; the restart"
                    " stops here",
                    fix=HEAL_FIRST,
                )
            now = f"{len(state.servers)} servers, {len(away)} regions not at home"
            if now != reported:
                say(now)
                reported = now
        raise OperationFailed.of(
            where=server or "HBase",
            what=f"is not back after {self.patience.home / 60:,.0f} minutes: {reported}",
            why="the RegionServer has not opened its regions",
            fix=f"read its log, and the master's; once all regions are open, {CONTINUE}, and {SKIP}; or end the restart"
            f" where it is: {journal.COMMAND} --abandon",
        )

    def _journal(self) -> RestartJournal:
        journal = self.journals.restart.read()
        if journal is None:
            raise OperationFailed.of(
                where="the journal of the restart",
                what="is gone",
                why="another command has ended this restart",
                fix="see which servers were restarted: warmbase status; then run the same command again",
            )
        return journal

    def _finish(self, say: Say) -> str:
        journal = self.journals.restart.read()
        if journal is None:
            return "done already"
        if journal.balancer_was_on:
            self.hbase.switch_balancer(say, on=True)
        # Tables were reopened, so of a heal that was interrupted only moves are left, which a new one proposes.
        self.journals.heal.clear()
        self.journals.restart.clear()
        return "the balancer is on again" if journal.balancer_was_on else "the balancer stays off, as it was before"


def restart_order(state: HBaseState, journal: RestartJournal | None = None) -> tuple[str, ...]:
    """Return the servers in the order in which they restart: by address, the one with hbase:meta last.

    A server may be away when an interrupted restart continues; the journal knows it.
    """
    homes, servers = (state.homes, state.servers) if journal is None else (journal.homes, journal.starts)
    meta = {homes.get(name) for name, region in state.regions.items() if region.table == META_TABLE}
    return tuple(sorted(servers, key=lambda server: (server in meta, server)))


def restart_title(server: str) -> str:
    """Return the title of the stage that restarts a server."""
    return f"restart {server} in place"


def refuse_absent(journal: RestartJournal, state: HBaseState) -> None:
    """Refuse to restart a server while another one is down, whose regions may be open elsewhere already."""
    if absent := sorted(journal.starts.keys() - state.servers.keys()):
        raise Refused.of(
            where=absent[0],
            what="is not among the live RegionServers",
            why="it was when the restart began, and two servers would be down at once",
            fix=f"start it, then {CONTINUE}, and {SKIP}; or end the restart where it is: {journal.COMMAND} --abandon",
        )


def _names(tables: tuple[str, ...]) -> str:
    return tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1} more tables"


FEWEST_SERVERS: Final = 2


class AvailableRestart(RollingRestart, frozen=True, kw_only=True, dict=True):
    """The restart of one server after another, each without regions; they come home before the next server restarts."""

    available: ClassVar[bool] = True

    def stages(self, state: HBaseState) -> Iterator[Stage]:
        """Yield the stages for a cluster in this state; each first checks what is left to do, so it can be repeated."""
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        for server in restart_order(state, self.journals.restart.read()):
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

    def _refuse_unready(self, state: HBaseState, servers: Collection[str], say: Say) -> None:
        if len(state.servers) < FEWEST_SERVERS:
            raise Refused.of(
                where="HBase",
                what="has no other RegionServer that regions could move to",
                why=f"the only live RegionServer is {next(iter(state.servers), 'none')}",
                fix=f"restart it in place: {RestartJournal.COMMAND}; if this restart was interrupted, first end it"
                f" where it is: {RestartJournal.COMMAND} --abandon",
            )
        super()._refuse_unready(state, servers, say)

    def _move_away(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if journal.restarted(server, state):
            return "was restarted already"
        moves = self._empty(server, journal, state, say)
        return f"{len(moves)} regions are open on other servers" if moves else "it has no regions"

    def _restart_empty(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if journal.restarted(server, state):
            return "was restarted already"
        # If a region has split since the move, its halves may have opened here.
        self._empty(server, journal, state, say)
        self.hbase.restart(server, say)
        self._home(replace(journal, homes={}), say, server)
        return "it is back; its regions were open on other servers"

    def _empty(self, server: str, journal: RestartJournal, state: HBaseState, say: Say) -> Sequence[RegionMove]:
        """Move the regions of a server away. Those that the journal does not have yet, as after a split, are added."""
        moves = moves_away(server, state)
        new = {move.region: server for move in moves if move.region not in journal.homes}
        if new:
            self.journals.restart.write(replace(journal, homes={**journal.homes, **new}))
        self._move(moves, say)
        return moves

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
        own, homes = {name: home for name, home in journal.homes.items() if home == server}, state.homes
        moves = [
            RegionMove(region=name, table=state.regions[name].table, source=homes[name], target=server)
            for name in own
            if homes.get(name, server) != server
        ]
        self._move(meta_first(moves), say)
        return self._gate(server, replace(journal, homes=own), say)

    def _still(self, journal: RestartJournal, say: Say) -> HBaseState:
        """Return the state, with the balancer off. Raises Refused if a server is down or the cluster is not quiet."""
        state = quiet_state(self.hbase, UNQUIET, say)
        refuse_absent(journal, state)
        self._switch_off(state, say)
        return self.hbase.state(say) if state.balancer_is_on else state

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


RETAINS: Final = ("hbase-site", "hbase.master.scp.retain.assignment.force")


INTERRUPTED: Final = "interrupted restart"


class RestartProposal(Struct, frozen=True, kw_only=True):
    """A restart before its confirmation: the state that it was made from, and the journal of one to be continued."""

    state: HBaseState
    journal: RestartJournal | None

    @property
    def basis(self) -> Basis:
        """Return the facts that the proposal was made from."""
        if self.journal is not None:
            return {
                INTERRUPTED: ", ".join(f"{server} {start}" for server, start in sorted(self.journal.starts.items()))
            }
        facts = {f"RegionServer {server}": f"started at {start}" for server, start in self.state.servers.items()}
        return facts | {
            "tables with regions that were moved": ", ".join(self.state.moved_tables) or "none",
            INTERRUPTED: "none",
        }


def refuse_unkept(launch: Launch) -> None:
    """Refuse a cluster whose caches or regions would not come back. Raises Refused with each reason."""
    plan, fix = launch.plan, "to apply settings, use warmbase reconfigure: EMR restarts the daemons itself"
    where, problems = f"cluster {plan.cluster} of {plan.environment}", []
    if not plan.mode.has_bucket_cache:
        raise Refused.of(
            where=where,
            what="has no cache that a restart in place would keep",
            why=f"in mode {plan.mode} a RegionServer has no cache on disk that it could find again",
            fix=fix,
        )
    if launch.environment.clusters[plan.cluster].role == "replica":
        what = "is a read replica, which this command does not restart"
        why = "read replicas have their own hbase:meta, and nobody has tested whether their regions return"
        problems.append(Problem(where=where, what=what, why=why, fix=fix))
    if (*RETAINS, "true") not in flattened(launch.settings.effective("primary")):
        what = "would spread the regions of a server that restarts over the others"
        why = f"its master does not wait for the server: {RETAINS[1]} is not set; HBase has it since 2.6.0"
        problems.append(Problem(where=where, what=what, why=why, fix="launch a cluster with a newer release"))
    if problems:
        raise Refused(problems)


def rolling_restart(aws: Aws, launch: Launch, cluster_id: str, *, available: bool) -> RollingRestart:
    """Return the rolling restart of a running cluster, with its journal in the log bucket.

    With `available`, the regions of each server are open on other servers while it restarts.
    """
    hbase = emr_hbase(aws, launch, cluster_id)
    journals = Journals.of(aws, hbase.primary.log_bucket, cluster_id)
    if available:
        return AvailableRestart(hbase=hbase, journals=journals)
    return RollingRestart(hbase=hbase, journals=journals)
