"""The steps of a teardown that run on the primary node, each of which verifies its own outcome.

The data in a writer's memory and write-ahead log exists nowhere else. So the tables are disabled, hbase:meta is
flushed, HBase is stopped, and the log must be empty, in the order that the storage mode states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from environments.environment import Environment, Wal
from operations.cluster_step import PrimaryShell
from operations.node_command import outcome, send
from operations.progress import Say
from sizing.modes.mode import TeardownStep
from sizing.problem import Refused

STOP_SECONDS: Final = 3600  # judgement: the index of the largest cache is written in a tenth of that
LEAVING_SECONDS: Final = 120  # judgement: three times the 40 s after which ZooKeeper forgets a server that was killed
STOP_UNITS: Final = Path(__file__).parent / "on_node" / "stop-units.sh"
SILENT: Final = "its alarms notify nobody for now; to turn them on again: warmbase deploy ENV"
MOST_NAMES: Final = 3
DOWN: Final = "HBase is stopped already"


def primary_steps(environment: Environment) -> Iterator[TeardownStep]:
    """Yield the steps of the storage mode; the log is checked only where it is on the cluster's own HDFS."""
    for step in environment.mode.teardown:
        if step != "check-log" or environment.wal is Wal.HDFS:
            yield step


def primary_actions(exported: str) -> Mapping[TeardownStep, tuple[str, Callable[[PrimaryShell, Say], str]]]:
    """Return the title and the function of each step that a storage mode can name."""
    return {
        "find-exports": (
            f"find an export of every table below {exported}",
            partial(_check_exports, exported, current=False),
        ),
        "disable-tables": ("disable every table", _disable_tables),
        "verify-exports": (f"check that every table is exported to {exported}", partial(_check_exports, exported)),
        "flush-meta": ("flush hbase:meta and hbase:namespace", _flush_meta),
        "stop-hbase": ("stop HBase", _stop_hbase),
        "check-log": ("check that the write-ahead log is empty", check_log),
    }


def check_log(primary: PrimaryShell, say: Say) -> str:
    """Return a line that says that the write-ahead log is empty. Raises Refused where it is not, or HBase runs."""
    log = primary.run("inspect-wals", say)
    if not log["down"]:
        raise Refused.of(
            where="HBase",
            what="is running again after it was stopped",
            why="something has started it",
            fix="find in the journal of the primary nodes what started it, and stop that; run the same command"
            f" again, which stops HBase; {SILENT}",
        )
    if log["files"]:
        some = ", ".join(log["files"][:MOST_NAMES])
        raise Refused.of(
            where=str(log["directory"]),
            what=f"is not empty: it holds {some}",
            why="these write-ahead logs hold edits that exist nowhere else",
            fix="start HBase again (systemctl start hbase-master, and hbase-regionserver on core nodes), wait until"
            f" it has replayed the log, and run the same command again; {SILENT}",
        )
    return f"{log['directory']} is empty"


def _disable_tables(primary: PrimaryShell, say: Say) -> str:
    answer = primary.run("disable-tables", say)
    if answer.get("down"):
        return DOWN
    if answer["enabled"]:
        raise Refused.of(
            where="HBase",
            what=f"tables are still enabled: {', '.join(answer['enabled'])}",
            why="the data in their memory would be lost",
            fix="find the reason in the master's log, disable the tables in the HBase shell, and run the same"
            " command again",
        )
    tables = answer["tables"]
    names = ", ".join(tables[:MOST_NAMES]) + (", …" if len(tables) > MOST_NAMES else "")
    return f"{len(tables)} tables are disabled: {names}" if tables else "HBase has no table"


def _flush_meta(primary: PrimaryShell, say: Say) -> str:
    answer = primary.run("flush-meta", say)
    return DOWN if answer.get("down") else f"flushed {' and '.join(answer['flushed'])}"


def _stop_hbase(primary: PrimaryShell, say: Say) -> str:
    """Stop HBase in order, and then its units by request: systemd may have started again what the order stopped."""
    answer = primary.run("stop-hbase", say, str(STOP_SECONDS))
    if answer["returned"]:
        say("HBase runs again: systemd has started it")
    else:
        _refuse_servers(answer["servers"])
    unreachable = [*_stop_units(primary, "CORE"), *_stop_units(primary, "MASTER")]
    _refuse_servers(primary.run("stop-hbase", say, str(LEAVING_SECONDS), "only-wait")["servers"])
    if unreachable:
        some = ", ".join(unreachable[:MOST_NAMES])
        return f"no RegionServer is running; Systems Manager did not stop the units of {some}, which may start again"
    return "no RegionServer is running, and no unit of HBase"


def _stop_units(primary: PrimaryShell, role: Literal["CORE", "MASTER"]) -> list[str]:
    """Stop the units of HBase on all nodes of a group at once, and return the nodes that do not answer.

    Raises Refused where a unit still runs.
    """
    text, aws = STOP_UNITS.read_text(encoding="utf-8"), primary.aws
    pages: Any = aws.emr.get_paginator("list_instances").paginate(
        ClusterId=primary.cluster_id, InstanceGroupTypes=[role], InstanceStates=["RUNNING"]
    )
    nodes = [instance["Ec2InstanceId"] for page in pages for instance in page["Instances"]]
    commands = {node: send(aws, node, text, STOP_SECONDS) for node in nodes}
    outcomes = {
        node: None if command is None else outcome(aws, command, node, STOP_SECONDS)
        for node, command in commands.items()
    }
    running = [
        f"{unit} on {node}" for node, ended in outcomes.items() if ended is not None for unit in ended.output.split()
    ]
    if running:
        raise Refused.of(
            where="HBase",
            what=f"units are still running: {', '.join(running[:MOST_NAMES])}",
            why="they may write to the log, and the data in their memory would be lost",
            fix=f"read why in their journal (journalctl --unit UNIT), and run the same command again; {SILENT}",
        )
    return [node for node, ended in outcomes.items() if ended is None or not ended.has_succeeded]


def _refuse_servers(servers: Sequence[str]) -> None:
    if servers:
        raise Refused.of(
            where="HBase",
            what=f"RegionServers are still running: {', '.join(servers)}",
            why="the data in their memory would be lost",
            fix="find the reason in their logs, and run the same command again",
        )


def _check_exports(url: str, primary: PrimaryShell, say: Say, *, current: bool = True) -> str:
    answer = primary.run("verify-export", say, url)
    if answer["missing"]:
        raise Refused.of(
            where=url,
            what=f"has no complete snapshot of {', '.join(answer['missing'])}",
            why="the data exists nowhere else",
            fix="export a snapshot of each (ExportSnapshot -snapshot NAME -copy-to URL), and run the same"
            " command again",
        )
    if not current:
        return f"each table has a complete snapshot below {url}"
    if answer["stale"]:
        raise Refused.of(
            where=url,
            what=f"the snapshots of {', '.join(answer['stale'])} lack store files that the tables now have",
            why="anything written or compacted since the snapshot exists nowhere else",
            fix="take another snapshot of each, which a disabled table allows, export it, and run the same"
            " command again",
        )
    return f"each table has a complete snapshot below {url}, with all its store files"
