"""Boots of rendered files: every mode and role over a range of plans, each daemon's report compared with the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from lab.hbase.admin import TableFamily, TableSpec
from lab.hbase.boots.daemons import (
    SERVED,
    UNITS,
    BootCase,
    DaemonReport,
    Daemons,
    Reported,
    Value,
    cases,
    daemons,
    distinct,
    master_figures,
    planned_of_core,
    planned_of_primary,
    server_figures,
)
from lab.hbase.experiment import SAME, ScenarioResult
from lab.hbase.result import Measurement
from warmbase.configurations.table_ddl import table_ddl
from warmbase.ground.errors import OperationFailed

TITLE: Final = "Rendered files boot"
QUESTION: Final = (
    "Does a real HBase start with the rendered files of each mode and role, and report the planned settings?"
)
STARTED: Final = "started"
LIMITS: Final = (
    (
        "Not proved here, because Apache HBase lacks them: read replicas (`hbase.emr.readreplica.enabled`), EMR WAL "
        "(`hbase.emr.wal.enabled`, `emr.wal.workspace`), and every other `hbase.emr.*` and `emr.*` key. The "
        "files of a replica boot here like those of an active cluster."
    ),
    "Heaps are smaller than planned, so L1 and memstore are compared as shares of the heap.",
    "Cache files are sparse: the cache has its planned size, but the volume behind it does not.",
    (
        "In HDFS mode local files stand for HDFS; nothing here reads `hdfs-site`, `yarn-site`, `emrfs-site` or the "
        "metrics settings."
    ),
)


def run(root: Path, say: Callable[[str], None]) -> ScenarioResult:
    """Boot each distinct rendering once, on the HBase version that is nearest to its release's."""
    candidates = sorted(cases(), key=lambda case: (case.ground.jars, not case.ground.in_s3))
    figures: list[Measurement] = []
    scripts: set[str] = set()
    for ground, group in groupby(candidates, key=lambda case: case.ground):
        members = tuple(group)
        with daemons(members[0], root / ground.directory) as running:
            for case in members:
                say(f"{ground.directory}: {case.name}, core")
                served = partial(running.serve, case.launch)
                figures += _booted(f"{case.name}, core", served, server_figures, planned_of_core(case.launch))
                figures += _tables(running, case, scripts)
            running.end("server-0")
            for case in distinct(members, "primary"):
                say(f"{ground.directory}: {case.name}, primary")
                started = partial(running.master, case.launch)
                figures += _booted(f"{case.name}, primary", started, master_figures, planned_of_primary(case.launch))
    return ScenarioResult(figures=tuple(figures), limits=LIMITS)


def facts(case: str, planned: Mapping[str, Value], reported: Mapping[str, Reported]) -> Iterator[Measurement]:
    """Yield each planned figure beside the reported one."""
    for name, value in planned.items():
        heard = reported.get(name, Reported("not said", "neither its log nor JMX says so"))
        yield Measurement(
            case=case,
            name=name,
            unit=UNITS.get(name, ""),
            measured=heard.value,
            predicted=value,
            because=heard.where,
            # The file at /conf is the one that was written: it shows that HBase read it, and no more.
            target=None if heard.where == SERVED else SAME,
        )


def _booted(
    name: str,
    boot: Callable[[], DaemonReport],
    figures: Callable[[DaemonReport], Mapping[str, Reported]],
    planned: Mapping[str, Value],
) -> Iterator[Measurement]:
    try:
        reported = figures(boot())
    except OperationFailed as error:
        yield _start(name, str(error))
        return
    yield _start(name)
    yield from facts(name, planned, reported)


def _tables(running: Daemons, case: BootCase, scripts: set[str]) -> Iterator[Measurement]:
    """Check the table definitions that no earlier case had."""
    tables = defined_tables(table_ddl(case.launch))
    if repr(tables) in scripts:
        return
    scripts.add(repr(tables))
    for table in tables:
        try:
            described = running.admin.checked_table(table)
        except OperationFailed as error:
            yield _start(f"{case.name}, {table.name}", str(error))
            continue
        yield from table_figures(case.name, table, described)


def _start(case: str, failed: str = "") -> Measurement:
    return Measurement(
        case=case,
        name="start",
        measured="failed" if failed else STARTED,
        predicted=STARTED,
        because=failed or "it answers",
        target=SAME,
    )


ALTER: Final = re.compile(r"^alter '(?P<table>[^']+)', \{\n(?P<settings>.*?)^\}$", re.MULTILINE | re.DOTALL)
SETTING: Final = re.compile(r"^\s*(?P<name>[A-Z_]+) => '(?P<value>[^']*)'", re.MULTILINE)


def defined_tables(script: str) -> tuple[TableSpec, ...]:
    """Return the tables that a script for HBase's shell alters, each with all its families."""
    families: dict[str, list[TableFamily]] = {}
    for statement in ALTER.finditer(script):
        for family in statement["settings"].split("\n}, {\n"):
            attributes = {setting["name"]: setting["value"] for setting in SETTING.finditer(family)}
            named = TableFamily(name=attributes.pop("NAME"), attributes=attributes)
            families.setdefault(statement["table"], []).append(named)
    return tuple(TableSpec(name=name, families=tuple(members)) for name, members in families.items())


def table_figures(case: str, table: TableSpec, described: Mapping[str, Any]) -> Iterator[Measurement]:
    """Yield each attribute beside the value that the cluster stored."""
    by_name = {family["name"]: family for family in described["families"]}
    for family in table.families:
        for name, value in (family.attributes or {}).items():
            yield Measurement(
                case=f"{case}, {table.name}:{family.name}",
                name=name,
                measured=str(by_name.get(family.name, {}).get(name, "not there")),
                predicted=value,
                because="the table's descriptor, as the master returns it",
                target=SAME,
            )
