"""Boots files that lint refuses, to show that HBase fails or misbehaves as the rule says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from configurations import layout
from configurations.launch import launch_of
from environments.reader import read_environment
from lab.hbase.boots.boot_matrix import VARIED, BootCase
from lab.hbase.boots.daemon_report import CACHE_CONFIG, CACHE_STARTED, MASTER_WAITS
from lab.hbase.boots.daemons import Daemons, daemons
from lab.hbase.boots.faults import FAULTS, Fault, Outcome, Trigger, faulty_launch, unproven_rules
from lab.hbase.experiment import ScenarioResult
from lab.hbase.result import Measurement, MeasurementTarget, TargetKind
from lab.hbase.table_spec import TableFamily, TableSpec
from sizing.problem import OperationFailed
from sizing.units import KIB

TITLE: Final = "What lint refuses"
QUESTION: Final = "Does HBase fail or misbehave with files that lint refuses, as the rule says?"
TABLE: Final = TableSpec(name="blocks", families=(TableFamily(name="cf"),))
ROWS: Final = 1_000
BLOCK_BYTES: Final = 64 * KIB
FRESH_SECONDS: Final = 2.5
WAIT_SECONDS: Final = 8.0
LONGEST: Final = 300
ALLOCATES_L1: Final = "Allocating BlockCache"


def run(root: Path, say: Callable[[str], None]) -> ScenarioResult:
    """Boot each fault in otherwise correct files, on the HBase of their release."""
    environment = read_environment(VARIED)
    case = BootCase(name=environment.name, launch=launch_of(environment, environment.active))
    figures = []
    with daemons(case, root) as running:
        for fault in sorted(FAULTS, key=lambda candidate: candidate.group):
            say(fault.case)
            did = _did(running, case, fault)
            figures.append(_figure(fault, did, decisive(_log(running, fault), fault.sign)))
    return ScenarioResult(figures=tuple(figures), limits=unproven_rules())


def decisive(log: str, sign: str) -> str:
    """Return the first log line that matches the sign, from the match on; empty without one."""
    match = re.search(sign, log)
    return match[0].strip()[:LONGEST] if match else ""


def _figure(fault: Fault, did: Outcome, line: str) -> Measurement:
    return Measurement(
        case=fault.case,
        name="HBase",
        unit="",
        measured=did.value if line else f"{did}, but its log does not say why",
        predicted=fault.outcome.value,
        because=line or f"no line of its log has {fault.sign}",
        target=MeasurementTarget(kind=TargetKind.SAME),
    )


def _log(running: Daemons, fault: Fault) -> str:
    log = running.log("server-0" if fault.group == "core" else "master")
    return log.replace(str(running.volume), layout.CACHE)


def _did(running: Daemons, case: BootCase, fault: Fault) -> Outcome:
    launch = faulty_launch(case.launch, fault)
    try:
        if fault.group == "primary":
            running.master(launch)
            return _waited(running, fault)
        running.start_server(launch, index=fault.index)
    except OperationFailed:
        if running.is_alive("master" if fault.group == "primary" else "server-0"):
            raise
        return Outcome.DID_NOT_START
    return _started(running, fault)


def _started(running: Daemons, fault: Fault) -> Outcome:
    log = running.log()
    if ALLOCATES_L1 not in log:
        return Outcome.NO_CACHE
    if CACHE_STARTED.search(log) is None:
        return Outcome.NO_BUCKET_CACHE
    if fault.trigger is Trigger.WRITE:
        return _wrote(running)
    if fault.trigger is Trigger.STOP:
        running.cluster.stop_server()
        return Outcome.STARTED if running.index_file.exists() else Outcome.NO_INDEX
    return Outcome.STARTED


def _wrote(running: Daemons) -> Outcome:
    """Flush rows, whose blocks should be cached as they are written; short blocks may fit all the same."""
    running.wait("first store", lambda: CACHE_CONFIG.search(running.log()) is not None)
    running.admin.create(TABLE)
    running.admin.smoke(TABLE.name, TABLE.families[0].name, ROWS)
    time.sleep(FRESH_SECONDS)
    cached_bytes = running.cluster.answered().l2_bytes
    running.admin.drop(TABLE.name)
    return Outcome.STARTED if cached_bytes >= BLOCK_BYTES else Outcome.CACHED_NOTHING


def _waited(running: Daemons, fault: Fault) -> Outcome:
    """Return how a master behaved that waits for RegionServers while there are none."""
    if fault.outcome is not Outcome.WAITED_ON:
        return Outcome.IGNORED if decisive(running.log("master"), fault.sign) else Outcome.STARTED
    time.sleep(WAIT_SECONDS)
    beyond = [line for line in MASTER_WAITS.finditer(running.log("master")) if _is_late(line)]
    return Outcome.WAITED_ON if beyond else Outcome.STARTED


def _is_late(line: re.Match[str]) -> bool:
    return int(line["waited"]) > int(line["timeout"])
