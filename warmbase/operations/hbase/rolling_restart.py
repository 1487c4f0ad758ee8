"""A rolling restart that keeps the caches: one RegionServer after another, in place, each with a gate after it.

A RegionServer that restarts in place finds its cache, and the master waits for it before it assigns its regions
elsewhere. That holds only for a region whose last two openings were on the same server: a region that was moved goes
back to where it came from. So the tables of such regions are reopened in place first. The journal, in the log bucket,
makes an interrupted restart continue: it has the start time of every server, and a server that has another one is done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.units import format_percent
from warmbase.operations.aws.journal import Journal
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.hbase_control import META_TABLE, HBaseControl, HBaseState, refuse_unquiet


class RestartJournal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cluster before the restart: start time and hit ratio of each server, and the server of each region.

    A server whose node published no reads has no hit ratio. `available` is true if regions move away for the restart.
    """

    balancer_was_on: bool
    starts: Mapping[str, int]
    hit_ratios: Mapping[str, float]
    homes: Mapping[str, str]
    available: bool = False

    def restarted(self, server: str, state: HBaseState) -> bool:
        """Return whether that server is back from the restart."""
        return server in state.servers and state.servers[server] != self.starts.get(server)

    def without(self, servers: AbstractSet[str]) -> RestartJournal:
        """Return the journal without these servers and their regions."""
        return replace(
            self,
            starts={server: start for server, start in self.starts.items() if server not in servers},
            homes={name: home for name, home in self.homes.items() if home not in servers},
        )

    def finished(self, server: str, state: HBaseState) -> bool:
        """Return whether that server is back, with all its regions that exist."""
        regions = [name for name, home in self.homes.items() if home == server and name in state.regions]
        return self.restarted(server, state) and all(state.homes.get(name) == server for name in regions)


HIT_RATIO_TOLERANCE: Final = 0.01
"""A server passes its gate if its hit ratio is within a point of the ratio before the restart."""
FIRST_POLL_SECONDS: Final = 0.5
UNQUIET: Final = "a server that restarts now would take more rows offline, and its regions may not return"
CONTINUE: Final = "run the same command again: it continues with the servers that have not been restarted"
SKIP: Final = "skips a server whose node EMR has terminated"


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds. `before` is the window of the hit ratio before the restart."""

    before: float = 600.0  # judgement: ten published minutes
    # judgement: the master's own wait for a server that restarts is bounded by the plan; this covers the largest index.
    home: float = 3600.0
    elsewhere: float = 120.0  # judgement: a region that is open elsewhere for two minutes will not come back by itself
    warm: float = 900.0  # judgement: one minute that is published late, and some that are disturbed
    poll: float = 10.0

    @property
    def pauses(self) -> tuple[float, float]:
        """Return the first pause and the longest between two looks."""
        return min(FIRST_POLL_SECONDS, self.poll), self.poll


class RollingRestart(Struct, frozen=True, kw_only=True):
    """The rolling restart of the servers of one running HBase."""

    hbase: HBaseControl
    journals: Journal[RestartJournal]
    patience: Patience = Patience()
    available: ClassVar[bool] = False

    def stages(self, state: HBaseState) -> Iterator[Stage]:
        """Yield the stages for a cluster in this state; each first checks what is left to do, so it can be repeated."""
        continues = self.journals.read() is not None
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        if state.moved_tables:
            yield Stage(title=f"reopen {_names(state.moved_tables)} in place", act=self._reopen)
        elif continues:
            # The regions of a server that was left out may have opened elsewhere only now.
            yield Stage(title="reopen tables with moved regions in place", act=self._reopen)
        for server in restart_order(state, self.journals.read()):
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
            self._refuse_unready(state, say)
        return journal

    def titles(self, server: str) -> tuple[str, ...]:
        """Return the titles of the stages of one server."""
        return (restart_title(server),)

    def _interrupted(self) -> RestartJournal | None:
        """Return the journal of a restart of this kind. Raises Refused if one of the other kind was interrupted."""
        journal = self.journals.read()
        if journal is not None and journal.available != self.available:
            option = " --available" if journal.available else ""
            raise Refused.of(
                where="the journal of the restart",
                what=f"belongs to a restart {'with' if journal.available else 'without'} --available",
                why="that restart was interrupted, and only the same command knows how to continue it",
                fix=f"finish it first: warmbase restart ENV --rolling{option}",
            )
        return journal

    def _refuse_unready(self, state: HBaseState, say: Say) -> None:
        unready = self.hbase.unready(sorted(state.servers), say)
        if unready:
            server, why = next(iter(unready.items()))
            raise Refused.of(
                where=server,
                what=f"would lose its cache if it restarted now{_and_more(len(unready))}",
                why=why,
                fix="resolve that, then run the same command again",
            )

    def _prepare(self, say: Say) -> str:
        journal = self._without_lost_servers(self._interrupted(), say)
        state = self._quiet(say) if journal is None else self._continuable(journal, say)
        self._refuse_unready(state, say)
        if journal is None:
            ratios = {
                server: reads.hit_ratio
                for server, reads in self.hbase.cache_reads(time.time() - self.patience.before).items()
            }
            journal = RestartJournal(
                balancer_was_on=state.balancer_is_on,
                starts=state.servers,
                hit_ratios={server: ratio for server, ratio in ratios.items() if ratio is not None},
                homes=state.homes,
                available=self.available,
            )
            self.journals.write(journal)
        if state.balancer_is_on:
            self.hbase.switch_balancer(say, on=False)
        restarted = sum(journal.restarted(server, state) for server in state.servers)
        counted = f"{len(state.servers)} servers, {len(journal.homes)} regions, none in transition"
        return f"{counted}; {restarted} servers were restarted before the interruption" if restarted else counted

    def _without_lost_servers(self, journal: RestartJournal | None, say: Say) -> RestartJournal | None:
        """Return the journal of an interrupted restart without the servers whose node EMR has terminated since."""
        if journal is None:
            return None
        absent = journal.starts.keys() - self.hbase.state(say).servers.keys()
        if lost := self.hbase.lost_servers(absent):
            say(f"skipped, because EMR has terminated the node: {', '.join(sorted(lost))}")
            journal = journal.without(lost)
            self.journals.write(journal)
        return journal

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
        if before.balancer_is_on:
            # Somebody has switched it on meanwhile, and it may already have planned moves.
            self.hbase.switch_balancer(say, on=False)
        self.hbase.restart(server, say)
        return self._gate(server, journal, say)

    def _gate(self, server: str, journal: RestartJournal, say: Say) -> str:
        """Wait until every region is home and the server reads from its cache. Raises OperationFailed otherwise."""
        self._home(journal, say, server)
        count = sum(home == server for home in journal.homes.values())
        home = f"{count} of {count} regions at home"
        wanted = journal.hit_ratios.get(server)
        if wanted is None:
            return f"{home}; no reads were published before, so its hit ratio was not checked"
        ratio, since = None, time.time()
        for _ in turns(self.patience.warm, *self.patience.pauses):
            reads = self.hbase.cache_reads(since).get(server)
            if reads is not None and reads.hit_ratio is not None:
                ratio = reads.hit_ratio
                if ratio >= wanted - HIT_RATIO_TOLERANCE:
                    return f"{home}, hit ratio {format_percent(ratio)} (before: {format_percent(wanted)})"
                say(f"hit ratio {format_percent(ratio)}, before the restart {format_percent(wanted)}")
                since = time.time()
        measured = "published no reads" if ratio is None else f"hits {format_percent(ratio)} of its reads"
        raise OperationFailed.of(
            where=server,
            what=f"{measured}; before the restart its cache answered {format_percent(wanted)}",
            why="its cache did not come back whole, so the restart stops here; the other servers keep theirs",
            fix="read its log for `Bucket cache retrieved from file`; see how its cache fills: warmbase status; when it"
            f" is warm, {CONTINUE}",
        )

    def _quiet(self, say: Say) -> HBaseState:
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        return state

    def _continuable(self, journal: RestartJournal, say: Say) -> HBaseState:
        """Wait until an interrupted restart can continue."""
        return self._home(journal, say)

    def _home(self, journal: RestartJournal, say: Say, server: str | None = None) -> HBaseState:
        """Wait until every server lives, `server` since its restart, and every region that exists is at home."""
        away_since, reported = time.monotonic(), ""
        for _ in turns(self.patience.home, *self.patience.pauses):
            state = self.hbase.state(say)
            here = state.homes
            away = [name for name, home in journal.homes.items() if name in state.regions and here.get(name) != home]
            elsewhere = [name for name in away if name in here]
            back = journal.starts.keys() <= state.servers.keys() and (
                server is None or journal.restarted(server, state)
            )
            if back and not away and not state.in_transition:
                return state
            if not elsewhere or not back or state.in_transition:
                away_since = time.monotonic()
            elif time.monotonic() - away_since > self.patience.elsewhere:
                raise _elsewhere(journal.homes, here, elsewhere)
            now = f"{len(state.servers)} servers, {len(away)} regions not at home"
            if now != reported:
                say(now)
                reported = now
        raise OperationFailed.of(
            where=server or "HBase",
            what=f"is not back after {self.patience.home / 60:,.0f} minutes: {reported}",
            why="the RegionServer has not opened its regions",
            fix=f"read its log, and the master's; once all regions are open, {CONTINUE}, and {SKIP}",
        )

    def _journal(self) -> RestartJournal:
        journal = self.journals.read()
        if journal is None:
            raise OperationFailed.of(
                where="the journal of the restart",
                what="is gone",
                why="another command has ended this restart",
                fix="see which servers were restarted: warmbase status; then run the same command again",
            )
        return journal

    def _finish(self, say: Say) -> str:
        journal = self.journals.read()
        if journal is None:
            return "done already"
        if journal.balancer_was_on:
            self.hbase.switch_balancer(say, on=True)
        self.journals.clear()
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
            fix=f"start it, then {CONTINUE}, and {SKIP}",
        )


def _elsewhere(homes: Mapping[str, str], here: Mapping[str, str], elsewhere: list[str]) -> OperationFailed:
    name = elsewhere[0]
    return OperationFailed.of(
        where=homes[name],
        what=f"did not get back {len(elsewhere)} of its regions",
        why=f"the master has opened them on other servers, for instance {name} on {here[name]}, whose caches do not"
        " hold them; the restart stops here",
        fix="bring them home to the caches that hold their blocks: warmbase heal ENV; then run the same command again",
    )


def _names(tables: tuple[str, ...]) -> str:
    return tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1} more tables"


def _and_more(count: int) -> str:
    return f", as would {count - 1} more" if count > 1 else ""
