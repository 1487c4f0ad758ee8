"""The change of column families to the attributes of the plan: one region of a table first, then all of them.

HBase changes a table without opening a region again (`modifyTable` with reopenRegions=false, HBASE-25549, since 2.6.0).
Then one region is closed and opened on its server. If it answers, and its server reads from its cache as before, the
master reopens all regions in batches. If not, the table gets its old attributes back. The journal, in the log bucket,
holds the old attributes from before the change until the last region is open, so a command can be run again wherever it
was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from warmbase.ground.errors import OperationFailed, Problem
from warmbase.ground.units import format_percent
from warmbase.operations.aws.journal import Journal
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.hbase_control import CacheReads, HBaseState, RegionControl, refuse_unquiet
from warmbase.operations.hbase.rolling_restart import HIT_RATIO_TOLERANCE

Families: TypeAlias = Mapping[str, Mapping[str, str]]
"""Attributes of families, by the name of the family."""


class TableChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The attributes of one table that differ from the plan: their values before the change, and those of the plan.

    `hit_ratios` are those of each server before the change. `passed` is true once the first region has passed its gate,
    and `reopened` once all regions were reopened.
    """

    table: str
    before: Families
    wanted: Families
    hit_ratios: Mapping[str, float] = field(default_factory=dict)
    passed: bool = False
    reopened: bool = False


UNQUIET: Final = "reopening a region now would take more rows offline"
CONTINUE: Final = "run the same command again: it continues with this table"


class LiveTables(Struct, frozen=True, kw_only=True):
    """The attributes of the families of each enabled user table, and the most regions that a change reopens at once.

    `loading` names the tables that have the settings of an initial load.
    """

    most_regions: int
    tables: Mapping[str, Families]
    loading: Sequence[str] = ()


class TableControl(RegionControl, Protocol):
    """Reads and changes tables too. Every method raises OperationFailed if the cluster refuses."""

    def live_tables(self, say: Say) -> LiveTables:
        """Return the enabled user tables as they are now."""

    def change_table(self, table: str, families: Families, say: Say) -> None:
        """Change these attributes; each region keeps the old ones until it is opened again."""

    def reopen_region(self, region: str, say: Say) -> None:
        """Close a region and open it on its server; return once it has answered a read."""

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        """Return the reads of each server since that time (seconds since 1970), for the servers that are known."""


class TablePatience(Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds. `before` is the window of the hit ratios before a change."""

    before: float = 600.0  # judgement: ten published minutes
    opened: float = 600.0  # judgement: the master opens the regions of a table in batches, each in seconds
    warm: float = 900.0  # judgement: one minute that is published late, and several with a lower hit ratio
    first_poll: float = 0.5
    poll: float = 10.0


class TableChanges(Struct, frozen=True, kw_only=True):
    """The changes of tables of one running HBase."""

    hbase: TableControl
    journal: Journal[TableChange]
    patience: TablePatience = TablePatience()

    def stages(self, changes: Sequence[TableChange]) -> Iterator[Stage]:
        """Yield the stages, one table after the other; each first checks what is left to do, so it can be repeated."""
        for change in changes:
            yield Stage(title=f"change {change.table}, and reopen one of its regions", act=partial(self._try, change))
            yield Stage(title=f"reopen all regions of {change.table} in batches", act=partial(self._reopen, change))

    def _try(self, change: TableChange, say: Say) -> str:
        journal = self.journal.read()
        if journal is not None and journal.table == change.table and journal.passed:
            return "its first region was checked before the interruption"
        if journal is not None:
            self._open_closed(change, say)
        state = self._quiet(say)
        regions = [name for name in sorted(state.homes) if state.regions[name].table == change.table]
        if journal is None:
            change = replace(change, hit_ratios=self._hit_ratios(time.time() - self.patience.before))
            self.journal.write(change)
        self.hbase.change_table(change.table, change.wanted, say)
        try:
            outcome = self._gate(regions[0], state, change.hit_ratios, say)
        except OperationFailed as failure:
            self._roll_back(change, regions[0], failure, say)
        self.journal.write(replace(change, passed=True))
        return outcome

    def _open_closed(self, change: TableChange, say: Say) -> None:
        """Open the region that an interrupted command has closed, which may not open with the new attributes."""
        regions = self.hbase.state(say).regions
        closed = [name for name, region in regions.items() if region.table == change.table and region.server is None]
        if closed:
            self.hbase.change_table(change.table, change.before, say)
        for name in closed:
            self.hbase.reopen_region(name, say)

    def _gate(self, region: str, state: HBaseState, ratios: Mapping[str, float], say: Say) -> str:
        """Reopen a region and return the outcome. Raises OperationFailed if its server does worse than before."""
        server = state.homes[region]
        self.hbase.reopen_region(region, say)
        now = self.hbase.state(say)
        if now.homes.get(region) != server or now.in_transition:
            raise OperationFailed.of(
                where=region,
                what=f"is on {now.homes.get(region, 'no server')}, and {now.in_transition} regions are in transition",
                why=f"it was on {server}, whose cache has its blocks",
                fix=CONTINUE,
            )
        return f"{region} answers on {server}; {self._warm({server: ratios.get(server)}, say)}"

    def _roll_back(self, change: TableChange, region: str, failure: OperationFailed, say: Say) -> None:
        """Give the table its old attributes back. Always raises OperationFailed, with the reason."""
        say(f"{failure.problems[0].what}; {change.table} gets its old attributes back")
        try:
            self.hbase.change_table(change.table, change.before, say)
            self.hbase.reopen_region(region, say)
        except OperationFailed as second:
            raise OperationFailed.of(
                where=change.table,
                what=f"may have its new attributes still, and {region} may be closed",
                why=_reasons([*failure.problems, *second.problems]),
                fix="run the same command again: it gives a closed region its old attributes and opens it, then tries"
                " the change again",
            ) from second
        self.journal.clear()
        raise OperationFailed.of(
            where=change.table,
            what="has its old attributes again, because its first region failed",
            why=_reasons(failure.problems),
            fix="find the cause in the log of that RegionServer; then run the same command again",
        ) from failure

    def _reopen(self, change: TableChange, say: Say) -> str:
        journal, state = self.journal.read() or change, self._quiet(say)
        if not journal.reopened:
            self.hbase.reopen([change.table], say)
            self._wait_until_open(change.table, say)
            # A command that waits again for warm caches must not close regions whose files are being prefetched.
            self.journal.write(replace(journal, reopened=True))
        servers = {state.homes[name] for name in state.homes if state.regions[name].table == change.table}
        outcome = self._warm({server: journal.hit_ratios.get(server) for server in sorted(servers)}, say)
        self.journal.clear()
        return f"every region is open; {outcome}"

    def _wait_until_open(self, table: str, say: Say) -> None:
        """Wait until every region is open. Raises OperationFailed where that takes too long."""
        for _ in turns(self.patience.opened, self.patience.first_poll, self.patience.poll):
            now = self.hbase.state(say)
            if not (now.closed or now.in_transition):
                return
        raise OperationFailed.of(
            where=table,
            what="has regions that are not open",
            why=f"{self.patience.opened / 60:,.0f} minutes have passed since it was reopened",
            fix=f"read the master's log for the regions in transition; then {CONTINUE}",
        )

    def _warm(self, before: Mapping[str, float | None], say: Say) -> str:
        """Wait until each of these servers has its hit ratio of before. Raises OperationFailed otherwise."""
        wanted = {server: ratio - HIT_RATIO_TOLERANCE for server, ratio in before.items() if ratio is not None}
        if not wanted:
            return "no reads were published before, so hit ratios were not checked"
        since, ratios = time.time(), dict[str, float]()
        for _ in turns(self.patience.warm, self.patience.first_poll, self.patience.poll):
            ratios = self._hit_ratios(since)
            if wanted.keys() - ratios.keys():
                continue
            low = {server for server, ratio in wanted.items() if ratios[server] < ratio}
            if not low:
                return f"lowest hit ratio {format_percent(min(ratios[server] for server in wanted))}"
            say(f"{min(low)} hits {format_percent(ratios[min(low)])} of its reads")
            since = time.time()
        server = min(wanted, key=lambda name: ratios.get(name, 0.0) - wanted[name])
        measured = f"hits {format_percent(ratios[server])} of its reads" if server in ratios else "published no reads"
        raise OperationFailed.of(
            where=server,
            what=f"{measured}; before the change, its cache answered {format_percent(before[server] or 0.0)}",
            why=f"{self.patience.warm / 60:,.0f} minutes have passed since the regions were reopened",
            fix=f"see how its cache fills: warmbase warm status; then {CONTINUE}",
        )

    def _quiet(self, say: Say) -> HBaseState:
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        return state

    def _hit_ratios(self, since: float) -> dict[str, float]:
        reads = self.hbase.cache_reads(since)
        return {server: read.hit_ratio for server, read in reads.items() if read.hit_ratio is not None}


def _reasons(problems: Sequence[Problem]) -> str:
    return "\n".join(f"{problem.where} {problem.what}" for problem in problems)
