"""The change of column families to the attributes of the plan: one region of a table first, then all of them.

HBase changes a table without opening a region again (`modifyTable` with reopenRegions=false, HBASE-25549, since 2.6.0).
Then one region is closed and opened on its server. If it answers, and its server reads from its cache as before, the
master reopens all regions in batches. If not, the table gets its old attributes back. The journal, in the log bucket,
holds the old attributes from before the change until the last region is open. If a command is stopped before the first
region has passed its checks, the next one undoes the change; if later, it finishes it. Only then does it make the
changes of the plan, which may be another one by now.

A proposal has the changes that would bring the tables of a cluster to its plan, or the reasons not to make them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import BATCH_KEY, planned_tables
from warmbase.facts.releases import releases
from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.ground.units import format_percent
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.hbase_control import (
    Families,
    HBaseState,
    LiveTables,
    Patience,
    ReadsControl,
    RegionControl,
    hit_ratios,
    quiet_state,
    refuse_unquiet,
)
from warmbase.operations.cluster.journals import Journal, Journals, TableChange
from warmbase.operations.hbase.emr_hbase import emr_hbase
from warmbase.operations.hbase.rolling_restart import HIT_RATIO_TOLERANCE

UNQUIET: Final = "reopening a region now would take more rows offline"
CONTINUE: Final = "run the same command again: it continues with this table"


class TableControl(RegionControl, ReadsControl, Protocol):
    """Reads and changes tables too. Every method raises OperationFailed if the cluster refuses."""

    def live_tables(self, say: Say) -> LiveTables:
        """Return the enabled user tables as they are now."""

    def change_table(self, table: str, families: Families, say: Say) -> None:
        """Change these attributes; each region keeps the old ones until it is opened again."""

    def reopen_region(self, region: str, say: Say) -> None:
        """Close a region and open it on its server; return once it has answered a read."""


class TableChanges(Struct, frozen=True, kw_only=True):
    """The changes of tables of one running HBase."""

    hbase: TableControl
    journal: Journal[TableChange]
    patience: Patience = Patience()

    def stages(self, changes: Sequence[TableChange]) -> Iterator[Stage]:
        """Yield the stages, one table after the other, after those that undo or finish an interrupted change."""
        interrupted = self.journal.read()
        if interrupted is not None:
            undone = self.is_undone(interrupted, self.hbase.state(lambda _: None))
            title = (
                f"give {interrupted.table} its old attributes back"
                if undone
                else f"finish the change of {interrupted.table}: reopen all of its regions in batches"
            )
            yield Stage(title=title, act=partial(self._undo if undone else self._reopen, interrupted))
        for change in changes:
            yield Stage(title=f"change {change.table}, and reopen one of its regions", act=partial(self._try, change))
            yield Stage(title=f"reopen all regions of {change.table} in batches", act=partial(self._reopen, change))

    def is_undone(self, change: TableChange, state: HBaseState) -> bool:
        """Return whether an interrupted change is undone and not finished.

        It is where its first region had not passed its checks, or where a region is closed, which may not open with the
        new attributes.
        """
        own = [region for region in state.regions.values() if region.table == change.table]
        return not change.passed or any(region.server is None for region in own)

    def _undo(self, change: TableChange, say: Say) -> str:
        """Give a table its old attributes back, open its closed regions with them, and reopen the others."""
        if change.passed:
            # If this is interrupted, too, the next command must not finish the change.
            self.journal.write(replace(change, passed=False, reopened=False))
        live = self.hbase.live_tables(say).tables.get(change.table, {})
        before = {family: attributes for family, attributes in change.before.items() if family in live}
        if before:
            self.hbase.change_table(change.table, before, say)
        regions = self.hbase.state(say).regions
        for name in sorted(name for name, region in regions.items() if region.table == change.table):
            if regions[name].server is None:
                self.hbase.reopen_region(name, say)
        # Nobody knows which other regions were opened meanwhile.
        self.hbase.reopen([change.table], say)
        self._opened(change.table, say)
        self.journal.clear()
        return "every region has its old attributes"

    def _opened(self, table: str, say: Say) -> None:
        """Wait until the regions of a table are open after it was reopened. Raises OperationFailed."""
        for _ in turns(self.patience.opened, *self.patience.pauses):
            state = self.hbase.state(say)
            closed = sum(region.server is None for region in state.regions.values() if region.table == table)
            if not closed and not state.in_transition:
                return
        raise OperationFailed.of(
            where=table,
            what="has regions that are not open",
            why=f"{self.patience.opened / 60:,.0f} minutes have passed since it was reopened",
            fix="read the master's log for the regions in transition; then run the same command again: it gives the"
            " table its old attributes and opens closed regions",
        )

    def _try(self, change: TableChange, say: Say) -> str:
        state = quiet_state(self.hbase, UNQUIET, say)
        own = sorted(name for name in state.homes if state.regions[name].table == change.table)
        if not own:
            raise Refused.of(
                where=change.table,
                what="has no open region any more",
                why="it was dropped or disabled after the proposal was made",
                fix="run the same command again, and review the new proposal",
            )
        first = own[0]
        server, has_changed = state.homes[first], False
        change = replace(change, hit_ratios=hit_ratios(self.hbase, self.hbase.now() - self.patience.before))
        self.journal.write(change)
        try:
            self.hbase.change_table(change.table, change.wanted, say)
            has_changed = True
            self.hbase.reopen_region(first, say)
            now = self.hbase.state(say)
            if now.homes.get(first) != server or now.in_transition:
                where = now.homes.get(first, "no server")
                raise OperationFailed.of(
                    where=first,
                    what=f"is on {where}, and {now.in_transition} regions are in transition",
                    why=f"it was on {server}, whose cache has its blocks",
                    fix=CONTINUE,
                )
            outcome = f"{first} answers on {server}; {self._warm({server: change.hit_ratios.get(server)}, say)}"
        except OperationFailed as failure:
            say(f"{failure.problems[0].what}; {change.table} gets its old attributes back")
            try:
                self.hbase.change_table(change.table, change.before, say)
                if has_changed:
                    # A region that has moved meanwhile was opened with the new attributes, too.
                    now = self.hbase.state(say)
                    for name in own:
                        if name == first or now.homes.get(name) != state.homes[name]:
                            self.hbase.reopen_region(name, say)
            except OperationFailed as second:
                raise OperationFailed.of(
                    where=change.table,
                    what=f"may have its new attributes still, and {first} may be closed",
                    why=_reasons([*failure.problems, *second.problems]),
                    fix="run the same command again: it gives the table its old attributes and opens a closed region,"
                    " then tries the change of the plan again",
                ) from second
            self.journal.clear()
            refusal = "its first region failed" if has_changed else "HBase refused the change"
            raise OperationFailed.of(
                where=change.table,
                what=f"has its old attributes again, because {refusal}",
                why=_reasons(failure.problems),
                fix="find the cause in the log of that RegionServer; then run the same command again"
                if has_changed
                else "correct the environment file, or what HBase lacks; then run the same command again",
            ) from failure
        self.journal.write(replace(change, passed=True))
        return outcome

    def _reopen(self, change: TableChange, say: Say) -> str:
        journal, state = self.journal.read() or change, quiet_state(self.hbase, UNQUIET, say)
        if not journal.reopened:
            self.hbase.reopen([change.table], say)
            try:
                self._opened(change.table, say)
            except OperationFailed as failure:
                say(f"{failure.problems[0].what}; {change.table} gets its old attributes back")
                self._undo(journal, say)
                raise OperationFailed.of(
                    where=change.table,
                    what="has its old attributes again, because some of its regions did not open with the new ones",
                    why=_reasons(failure.problems),
                    fix="find the cause in the log of the RegionServer; then run the same command again",
                ) from failure
            # A command that waits again for warm caches must not close regions whose files are being prefetched.
            self.journal.write(replace(journal, reopened=True))
        servers = {state.homes[name] for name in state.homes if state.regions[name].table == change.table}
        try:
            outcome = self._warm({server: journal.hit_ratios.get(server) for server in sorted(servers)}, say)
        except OperationFailed:
            # The change itself is finished. Whether its caches are warm enough for the next table, you decide.
            self.journal.clear()
            raise
        self.journal.clear()
        return f"every region is open; {outcome}"

    def _warm(self, before: Mapping[str, float | None], say: Say) -> str:
        """Wait until each of these servers has its hit ratio of before. Raises OperationFailed otherwise."""
        wanted = {server: ratio - HIT_RATIO_TOLERANCE for server, ratio in before.items() if ratio is not None}
        if not wanted:
            return "no reads were published before, so hit ratios were not checked"
        since, ratios = self.hbase.now(), dict[str, float]()
        for _ in turns(self.patience.warm, *self.patience.pauses):
            ratios = hit_ratios(self.hbase, since)
            if wanted.keys() - ratios.keys():
                continue
            low = {server for server, ratio in wanted.items() if ratios[server] < ratio}
            if not low:
                return f"lowest hit ratio {format_percent(min(ratios[server] for server in wanted))}"
            say(f"{min(low)} hits {format_percent(ratios[min(low)])} of its reads")
            since = self.hbase.now()
        server = min(wanted, key=lambda name: ratios.get(name, 0.0) - wanted[name])
        measured = f"hits {format_percent(ratios[server])} of its reads" if server in ratios else "published no reads"
        raise OperationFailed.of(
            where=server,
            what=f"{measured}; before the change, its cache answered {format_percent(before[server] or 0.0)}",
            why=f"{self.patience.warm / 60:,.0f} minutes have passed since the regions were reopened",
            fix="see how its cache fills: warmbase warm status; when it is warm, run the same command again for the"
            " tables that are left",
        )


def _reasons(problems: Sequence[Problem]) -> str:
    return "\n".join(f"{problem.where} {problem.what}" for problem in problems)


FIRST_HBASE: Final = (2, 6, 0)
"""The first release that changes a table without reopening its regions (HBASE-25549)."""
UNLIMITED: Final = -1
"""The value by which HBase reopens all regions of a table at once (ReopenTableRegionsProcedure, 2.6.2)."""

PHOENIX_TABLES: Final = ("SYSTEM.", "SYSTEM:")
"""How the names of Phoenix's own tables begin, without and with mapped namespaces (Phoenix, SYSTEM_SCHEMA_NAME)."""


class TableProposal(Struct, frozen=True, kw_only=True):
    """The changes to make, in their order, after the one that was `interrupted` has been undone or finished.

    `regions` has the number of regions of each table.
    """

    live: LiveTables
    changes: Sequence[TableChange]
    regions: Mapping[str, int]
    interrupted: TableChange | None

    @property
    def basis(self) -> Basis:
        """Return the facts that the proposal was made from."""
        return {
            f"{change.table}:{family} {name}": f"{value} -> {change.wanted[family][name]}"
            for change in self.changes
            for family, attributes in change.before.items()
            for name, value in attributes.items()
        }


def table_proposal(tables: TableChanges, launch: Launch, names: Iterable[str], say: Say) -> TableProposal:
    """Return the changes of the named tables, or of all, and the one that was interrupted. Raises Refused."""
    live, journal, state = tables.hbase.live_tables(say), tables.journal.read(), tables.hbase.state(say)
    if journal is None:
        refuse_unquiet(state, UNQUIET)
    elif journal.table not in live.tables:
        raise Refused.of(
            where=journal.table,
            what="is not an enabled table, and a change of it was interrupted",
            why="its regions have to be opened with one set of attributes before another table is changed",
            fix="enable it, then run the same command again; if it was dropped, delete the journal below tables/ in the"
            " log bucket",
        )
    servers, chosen = launch.plan.core.count, frozenset(names)
    if live.most_regions == UNLIMITED or live.most_regions > servers:
        most = "all" if live.most_regions == UNLIMITED else f"up to {live.most_regions:,}"
        raise Refused.of(
            where="the master",
            what=f"would reopen {most} regions of a table at once",
            why=f"{BATCH_KEY} on the primary nodes is not the {servers} of the plan, and without this limit a change"
            " makes a whole table unavailable",
            fix="apply the settings of the plan first: warmbase reconfigure ENV",
        )
    unknown = [
        Problem(
            where=table,
            what="is not an enabled table of the cluster",
            why=f"it has {', '.join(sorted(live.tables)) or 'no table'}",
            fix="name a table as HBase's shell lists it, and enable it",
        )
        for table in sorted(chosen - live.tables.keys())
    ]
    if unknown:
        raise Refused(unknown)
    # The environment file or an inspection names tables and families. If neither does, the attributes of the workload
    # apply to every family, except those of Phoenix's own tables. If the file names a table without its families, the
    # attributes of that table apply to all of its families.
    planned, has_names = planned_tables(launch), launch.environment.workload.has_names
    named = {table.name: table for table in planned}
    wanted: dict[str, Families] = {}
    for table, families in live.tables.items():
        if has_names and table in named:
            wanted[table] = named[table].wanted(families)
        elif not has_names and not table.startswith(PHOENIX_TABLES):
            wanted[table] = dict.fromkeys(families, planned[0].families[0].wanted)
    if journal is not None:
        # The table as it is once that change is undone or finished.
        settled = journal.before if tables.is_undone(journal, state) else journal.wanted
        families = {name: {**known, **settled.get(name, {})} for name, known in live.tables[journal.table].items()}
        live = replace(live, tables={**live.tables, journal.table: families})
    changes = [change for change in table_changes(live, wanted) if not chosen or change.table in chosen]
    if loading := sorted({change.table for change in changes} & set(live.loading)):
        raise Refused.of(
            where=loading[0],
            what="has the settings of an initial load" + (f", as do {len(loading) - 1} more" if loading[1:] else ""),
            why="a change to the plan would end them in the middle of the load",
            fix="finish the load, whose script gives the table its settings back; or name the other tables",
        )
    return TableProposal(
        live=live,
        changes=changes,
        regions=Counter(region.table for region in state.regions.values()),
        interrupted=journal,
    )


def refuse_unchangeable(launch: Launch) -> None:
    """Refuse a cluster whose tables cannot be changed region by region. Raises Refused."""
    where = f"cluster {launch.plan.cluster} of {launch.environment.name}"
    if launch.environment.clusters[launch.plan.cluster].role == "replica":
        raise Refused.of(
            where=where,
            what="is a read replica, whose tables cannot be changed",
            why="EMR's read replicas read the tables of the active cluster",
            fix="change the tables of the active cluster",
        )
    hbase = releases()[launch.plan.release].hbase
    if tuple(hbase) < FIRST_HBASE:
        raise Refused.of(
            where=where,
            what="would reopen every region with each change of a table",
            why="HBase changes a table without reopening its regions since 2.6.0 (HBASE-25549)",
            fix=f"run the script by hand: warmbase render {launch.environment.name} --format table-ddl",
        )


def environment_tables(aws: Aws, launch: Launch, cluster_id: str) -> TableChanges:
    """Return the changes of tables of a running cluster, with their journal in the log bucket."""
    hbase = emr_hbase(aws, launch, cluster_id)
    return TableChanges(hbase=hbase, journal=Journals.of(aws, hbase.primary.log_bucket, cluster_id).table)


def table_changes(live: LiveTables, wanted: Mapping[str, Families]) -> list[TableChange]:
    """Return the change of each table that differs from the plan, with only the attributes that differ.

    A family of the running cluster has only the keys of the configuration that it overrides.
    """
    changes = []
    for table, families in sorted(wanted.items()):
        different = {
            name: {key: value for key, value in attributes.items() if live.tables[table][name].get(key, "") != value}
            for name, attributes in families.items()
        }
        different = {name: attributes for name, attributes in different.items() if attributes}
        if different:
            before = {
                name: {key: live.tables[table][name].get(key, "") for key in keys} for name, keys in different.items()
            }
            changes.append(TableChange(table=table, before=before, wanted=different))
    return changes
