"""HBase's administration through one long-running process, and tables and column families as the lab creates them.

`java/warmbase/lab/Admin.java` lists the calls of the process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from msgspec import Struct

from lab.machine.process import INHERITED_VARIABLES, die_with
from warmbase.ground.block import LengthHistogram, cached_bytes
from warmbase.ground.errors import OperationFailed


class TableFamily(Struct, frozen=True, kw_only=True):
    """A column family. `attributes` have HBase's names (PREFETCH_BLOCKS_ON_OPEN); None leaves HBase's default."""

    name: str
    compression: str | None = None
    block_bytes: int | None = None
    encoding: str | None = None
    bloom: str | None = None
    configuration: Mapping[str, str] | None = None
    attributes: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the value in the form that the process reads."""
        named = {
            "name": self.name,
            "compression": self.compression,
            "block_bytes": self.block_bytes,
            "encoding": self.encoding,
            "bloom": self.bloom,
            "configuration": self.configuration and dict(self.configuration),
        }
        return {key: value for key, value in named.items() if value is not None} | dict(self.attributes or {})


class TableSpec(Struct, frozen=True, kw_only=True):
    """A table to create: cut at `split_keys`, or into `regions` that hold equal numbers of YCSB's rows."""

    name: str
    families: Sequence[TableFamily]
    regions: int = 1
    split_keys: Sequence[str] = ()
    attributes: Mapping[str, str] | None = None
    configuration: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the value in the form that the process reads."""
        return {
            "table": self.name,
            "families": [family.to_json() for family in self.families],
            "regions": self.regions,
            "split_keys": list(self.split_keys),
            "attributes": dict(self.attributes or {}),
            "configuration": dict(self.configuration or {}),
        }


MAIN_CLASS: Final = "warmbase.lab.Admin"
CALL_SECONDS: Final = 900.0  # judgement: compacting a table of the lab's size takes seconds; this ends only what hangs
# The process limits its own waits, and single operations to 45 s; this covers a process that hangs.
GRACE_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 5.0
READ_BYTES: Final = 1 << 16
LAST_LINES: Final = 8


class AdminCommand(Struct, frozen=True, kw_only=True):
    """The command that starts the process. `arguments` is Java, its options and class path; stderr goes to `log`."""

    arguments: Sequence[str]
    directory: Path
    log: Path


class StoreFileBlocks(Struct, frozen=True, kw_only=True):
    """Data blocks of store files by their length in the cache, decompressed and as stored on disk."""

    files: int
    lengths: LengthHistogram
    compressed_lengths: LengthHistogram


class Admin:
    """Calls into the process, which the first call starts and leaving the context ends. One call runs at a time.

    Every call raises OperationFailed with HBase's own message; `seconds` bounds how long it waits for the cluster.
    After a call that did not answer at all the process is ended, and the next call starts another.
    """

    def __init__(self, command: AdminCommand) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._ids = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process by closing its input, or by force after a time limit."""
        process, self._process, self._unread = self._process, None, b""
        if process is None:
            return
        with suppress(BrokenPipeError):
            _pipe(process.stdin).close()
        try:
            process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            _kill(process)
        _pipe(process.stdout).close()

    def create(self, table: TableSpec, seconds: float = CALL_SECONDS) -> dict[str, Any]:
        """Create the table and wait for its regions; return its definition as the cluster stores it."""
        return self._call("create", seconds, **table.to_json())

    def checked_table(self, table: TableSpec, seconds: float = CALL_SECONDS) -> dict[str, Any]:
        """Create, describe and drop the table; return HBase's description of it."""
        return self._call("checked_table", seconds, **table.to_json())

    def drop(self, table: str, seconds: float = CALL_SECONDS) -> None:
        """Disable and delete the table."""
        self._call("drop", seconds, table=table)

    def flush(self, table: str, seconds: float = CALL_SECONDS) -> None:
        """Writes the table's memstores to files."""
        self._call("flush", seconds, table=table)

    def major_compact(self, table: str, seconds: float = CALL_SECONDS, regions: Sequence[str] = ()) -> float:
        """Run a major compaction of the table, or of these of its regions, and return how many seconds it takes."""
        return float(self._call("major_compact", seconds, table=table, regions=list(regions))["waited_seconds"])

    def stored(self) -> dict[str, dict[str, Any]]:
        """Return the store files of every region of a user table, as the servers last reported them."""
        answer: dict[str, dict[str, Any]] = self._call("stored")["regions"]
        return answer

    def files(self) -> dict[str, list[str]]:
        """Return the names of the store files of every region of a user table."""
        answer: dict[str, list[str]] = self._call("files")["regions"]
        return answer

    def hdfs_write(self, file: str, *, bytes_: int, window: float, copies: int, fan_out: bool) -> Mapping[str, float]:
        """Write a file in HDFS for so many seconds, with a sync after each edit; return the syncs and their median."""
        return self._call("hdfs_write", file=file, bytes=bytes_, window=window, copies=copies, fan_out=fan_out)

    def hdfs_read(self, file: str, *, bytes_: int, window: float, socket: str = "") -> Mapping[str, float]:
        """Read that file at random places; with a socket, without the DataNode where HDFS allows it."""
        return self._call("hdfs_read", file=file, bytes=bytes_, window=window, socket=socket)

    def balance(self, seconds: float = CALL_SECONDS) -> bool:
        """Run HBase's balancer once and wait for its moves; return whether it ran."""
        return bool(self._call("balance", seconds)["ran"])

    def await_regions(self, table: str, seconds: float = CALL_SECONDS) -> float:
        """Wait until all regions of the table and of HBase's own tables answer a read; return the seconds."""
        return float(self._call("await_regions", seconds, table=table)["waited_seconds"])

    def blocks(self, table: str, family: str, directory: Path, seconds: float = CALL_SECONDS) -> StoreFileBlocks:
        """Return the data blocks of a family's store files below the directory, read by HBase's own reader."""
        answer = self._call("blocks", seconds, family=family, directory=str(directory / "data" / "default" / table))
        return StoreFileBlocks(
            files=answer["files"],
            lengths=_cached_lengths(answer["payloads"]),
            compressed_lengths=_cached_lengths(answer["on_disk"]),
        )

    def servers(self) -> tuple[str, ...]:
        """Return the live RegionServers, each by its whole name: `host,port,start`."""
        return tuple(self._call("servers")["servers"])

    def regions(self, table: str) -> dict[str, str]:
        """Return the server of each region, by the region's encoded name, in the order of keys."""
        return {region["region"]: region["server"] for region in self._call("regions", table=table)["regions"]}

    def move(self, region: str, server: str, seconds: float = CALL_SECONDS) -> float:
        """Move the region to the server (`host,port` or its whole name); return the seconds."""
        return float(self._call("move", seconds, region=region, server=server)["waited_seconds"])

    def probe(self, table: str, interval_seconds: float) -> None:
        """Begin to read a row of every region at that interval; one table is probed at a time."""
        self._call("probe", table=table, interval=interval_seconds)

    def probed(self) -> dict[str, Any]:
        """End the probing and return the answers of each region, as `Prober.java` describes them."""
        return self._call("probed")

    def write(self, table: str, family: str, interval_seconds: float) -> None:
        """Begin to write a new row to every region at this interval; only one table is written at a time."""
        self._call("write", table=table, family=family, interval=interval_seconds)

    def written(self) -> tuple[int, int]:
        """Stop writing; return how many rows HBase acknowledged, and how many of them are lost."""
        answer = self._call("written")
        return int(answer["acknowledged"]), int(answer["lost"])

    def reopen(self, table: str, seconds: float = CALL_SECONDS) -> None:
        """Close and open every region of the table on its own server."""
        self._call("reopen", seconds, table=table)

    def state(self) -> dict[str, Any]:
        """Return the servers and regions in the form that `Topology.java` describes."""
        return self._call("state")

    def unload(self, server: str, file: Path, seconds: float = CALL_SECONDS) -> float:
        """Move every region off the server (`host:port`) with HBase's RegionMover, one at a time; return the seconds.

        The file lists the regions for `load`.
        """
        return float(self._call("unload", seconds, server=server, file=str(file))["waited_seconds"])

    def load(self, server: str, file: Path, seconds: float = CALL_SECONDS) -> float:
        """Move the regions in the file back to the server with HBase's RegionMover; return the seconds."""
        return float(self._call("load", seconds, server=server, file=str(file))["waited_seconds"])

    def switch_balancer(self, *, on: bool) -> bool:
        """Switch the balancer, wait for the moves that it has begun, and return whether it was on before."""
        return bool(self._call("balancer", on=on)["was"])

    def smoke(self, table: str, family: str, rows: int = 1000) -> int:
        """Put and flush so many rows; return how many rows the table then has."""
        return int(self._call("smoke", table=table, family=family, rows=rows)["rows"])

    def scan(self, table: str) -> int:
        """Read the whole table with `setCacheBlocks(false)`, as an export does; return the number of its rows."""
        return int(self._call("scan", table=table)["rows"])

    def _call(self, name: str, seconds: float = CALL_SECONDS, **fields: object) -> dict[str, Any]:
        process = self._started()
        identity = next(self._ids)
        request = json.dumps({"id": identity, "call": name, "seconds": seconds, **fields})
        try:
            _pipe(process.stdin).write(request.encode() + b"\n")
            _pipe(process.stdin).flush()
            answer = self._answer(process, name, seconds + GRACE_SECONDS)
        except BrokenPipeError:
            raise self._ended(name) from None
        except BaseException:
            # Its late answer would be mistaken for the next call's.
            self._abandon()
            raise
        if answer.pop("id", None) != identity or "ok" not in answer:
            self._abandon()
            raise self._failure(name, "the process answered another call", str(answer))
        if not answer.pop("ok"):
            raise self._failure(name, "HBase refused the call", str(answer["error"]))
        return answer

    def _answer(self, process: subprocess.Popen[bytes], name: str, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        output = _pipe(process.stdout).fileno()
        while b"\n" not in self._unread:
            remaining = end - time.monotonic()
            if remaining <= 0 or not select.select([output], [], [], remaining)[0]:
                raise self._failure(name, f"no answer in {seconds:.0f} s")
            read = os.read(output, READ_BYTES)
            if not read:
                raise self._ended(name)
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise self._failure(name, f"the answer is not JSON: {line[:200]!r}") from None
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._command.log.parent.mkdir(parents=True, exist_ok=True)
        owner = os.getpid()
        try:
            with self._command.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [*self._command.arguments, MAIN_CLASS],
                    cwd=self._command.directory,
                    env={name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                    # It runs between fork and exec, where few calls are safe: it only makes a system call.
                    preexec_fn=lambda: die_with(owner),  # noqa: PLW1509
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise OperationFailed.of(
                where=self._command.arguments[0],
                what="could not be started",
                why=str(error),
                fix="run `warmbase lab setup`",
            ) from None
        return self._process

    def _ended(self, name: str) -> OperationFailed:
        process = self._process
        self._abandon()
        code = process.returncode if process else None
        return self._failure(name, f"the process ended with {code}")

    def _abandon(self) -> None:
        if self._process is not None:
            _kill(self._process)
        self.close()

    def _failure(self, name: str, what: str, why: str = "") -> OperationFailed:
        """Return the error of a call, which without a reason quotes the end of the process's log."""
        log = self._command.log
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        fix = f"read {log}, and the master's log"
        return OperationFailed.of(where=f"hbase {name}", what=what, why=why or "\n".join(lines[-LAST_LINES:]), fix=fix)


def _cached_lengths(payloads: Sequence[tuple[int, int]]) -> LengthHistogram:
    return LengthHistogram.of((cached_bytes(payload), blocks) for payload, blocks in payloads)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise TypeError("not started with a pipe")
    return pipe


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(CLOSE_SECONDS)
