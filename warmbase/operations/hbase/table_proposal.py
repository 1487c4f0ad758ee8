"""The changes that would bring the tables of a cluster to its plan, and the reasons not to make them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import BATCH_KEY, planned_tables
from warmbase.facts.releases import releases
from warmbase.ground.errors import Problem, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.journal import S3Journal
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.hbase_control import refuse_unquiet
from warmbase.operations.hbase.restart import emr_hbase
from warmbase.operations.hbase.table_changes import (
    UNQUIET,
    Families,
    LiveTables,
    TableChange,
    TableChanges,
)

FIRST_HBASE: Final = (2, 6, 0)
"""The first release that changes a table without reopening its regions (HBASE-25549)."""
UNLIMITED: Final = -1
"""The value by which HBase reopens all regions of a table at once (ReopenTableRegionsProcedure, 2.6.2)."""

PHOENIX_TABLES: Final = ("SYSTEM.", "SYSTEM:")
"""How the names of Phoenix's own tables begin, without and with mapped namespaces (Phoenix, SYSTEM_SCHEMA_NAME)."""


class TableProposal(Struct, frozen=True, kw_only=True):
    """The changes to make, in their order. If `interrupted` is true, the first one continues an earlier command.

    `regions` has the number of regions of each table.
    """

    live: LiveTables
    changes: Sequence[TableChange]
    regions: Mapping[str, int]
    interrupted: bool

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
    """Return the changes of the named tables, or of all; an interrupted one is first. Raises Refused."""
    live, journal, state = tables.hbase.live_tables(say), tables.journal.read(), tables.hbase.state(say)
    if journal is None:
        refuse_unquiet(state, UNQUIET)
    else:
        refuse_dropped(live, journal)
    refuse_unlimited(live, launch.plan.core.count)
    chosen = frozenset(names)
    refuse_unknown(live, chosen)
    changes = [
        change
        for change in table_changes(live, planned_families(launch, live))
        if (not chosen or change.table in chosen) and (journal is None or change.table != journal.table)
    ]
    refuse_loading(live, changes)
    return TableProposal(
        live=live,
        changes=changes if journal is None else [journal, *changes],
        regions=Counter(region.table for region in state.regions.values()),
        interrupted=journal is not None,
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
    journal = S3Journal(aws, hbase.primary.log_bucket, "tables", cluster_id, TableChange)
    return TableChanges(hbase=hbase, journal=journal)


def planned_families(launch: Launch, live: LiveTables) -> Mapping[str, Families]:
    """Return the attributes that the plan wants for the tables that the cluster has.

    The environment file or an inspection names tables and families. If neither does, the attributes of the workload
    apply to every family, except those of Phoenix's own tables. If the file names a table without its families, the
    attributes of that table apply to all of its families.
    """
    planned = planned_tables(launch)
    if not launch.environment.workload.has_names:
        [family] = planned[0].families
        return {
            table: dict.fromkeys(families, family.wanted)
            for table, families in live.tables.items()
            if not table.startswith(PHOENIX_TABLES)
        }
    wanted = {table.name: table for table in planned}
    return {table: wanted[table].wanted(families) for table, families in live.tables.items() if table in wanted}


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


def refuse_unlimited(live: LiveTables, servers: int) -> None:
    """Refuse a cluster whose master would reopen more regions at once than it has servers. Raises Refused."""
    if live.most_regions == UNLIMITED or live.most_regions > servers:
        most = "all" if live.most_regions == UNLIMITED else f"up to {live.most_regions:,}"
        raise Refused.of(
            where="the master",
            what=f"would reopen {most} regions of a table at once",
            why=f"{BATCH_KEY} on the primary nodes is not the {servers} of the plan, and without this limit a change"
            " makes a whole table unavailable",
            fix="apply the settings of the plan first: warmbase reconfigure ENV",
        )


def refuse_loading(live: LiveTables, changes: Sequence[TableChange]) -> None:
    """Refuse to change a table during its initial load, whose settings differ from the plan. Raises Refused."""
    if loading := sorted({change.table for change in changes} & set(live.loading)):
        raise Refused.of(
            where=loading[0],
            what="has the settings of an initial load" + (f", as do {len(loading) - 1} more" if loading[1:] else ""),
            why="a change to the plan would end them in the middle of the load",
            fix="finish the load, whose script gives the table its settings back; or name the other tables",
        )


def refuse_dropped(live: LiveTables, journal: TableChange) -> None:
    """Refuse to continue with a table that is disabled or was dropped. Raises Refused."""
    if journal.table not in live.tables:
        raise Refused.of(
            where=journal.table,
            what="is not an enabled table, and a change of it was interrupted",
            why="its regions have to be opened with one set of attributes before another table is changed",
            fix="enable it, then run the same command again; if it was dropped, delete the journal below tables/ in the"
            " log bucket",
        )


def refuse_unknown(live: LiveTables, tables: Iterable[str]) -> None:
    """Refuse names of tables that the cluster does not have. Raises Refused with each."""
    problems = [
        Problem(
            where=table,
            what="is not an enabled table of the cluster",
            why=f"it has {', '.join(sorted(live.tables)) or 'no table'}",
            fix="name a table as HBase's shell lists it, and enable it",
        )
        for table in sorted(set(tables) - live.tables.keys())
    ]
    if problems:
        raise Refused(problems)
