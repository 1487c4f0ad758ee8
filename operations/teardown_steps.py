"""The steps of a teardown that run on the primary node, each of which verifies its own outcome.

The data in a writer's memory and write-ahead log exists nowhere else. So the tables are disabled, hbase:meta is
flushed, HBase is stopped, and the log must be empty, in the order that the storage mode states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from environments.environment import Environment, Wal
from operations.cluster_step import PrimaryShell
from operations.progress import Say
from sizing.modes.mode import TeardownStep
from sizing.problem import Refused

STOP_SECONDS: Final = 3600  # judgement: the index of the largest cache is written in a tenth of that
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
    servers = primary.run("stop-hbase", say, str(STOP_SECONDS))["servers"]
    if servers:
        raise Refused.of(
            where="HBase",
            what=f"RegionServers are still running: {', '.join(servers)}",
            why="the data in their memory would be lost",
            fix="find the reason in their logs, and run the same command again",
        )
    return "no RegionServer is running"


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
