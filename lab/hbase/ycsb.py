"""Load on the lab's HBase: YCSB with our binding, and what it measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from lab.hbase.configuration import CLIENT_LOGGING, FIRST_TIER, Java
from lab.hbase.software import Software
from lab.machine.paths import LabPaths
from lab.machine.process import Command, RunningProcess, start
from warmbase.ground.errors import OperationFailed

HEAP_MIB: Final = 384
SLACK_SECONDS: Final = 90.0
LOADING_SECONDS: Final = 900.0
LOADING_THREADS: Final = 4
ENDLESS: Final = 2_000_000_000
RESULT: Final = re.compile(r"^\[([A-Z-]+)\], (\S+), ([\d.]+)", re.MULTILINE)
STATUS: Final = re.compile(r" sec: (\d+) operations;")
FAILED_READS: Final = re.compile(r"\[READ-FAILED: Count=(\d+)")
STATUS_SECONDS: Final = 1
WRITTEN: Final = ("Return=OK", "Return=BATCHED_OK")
PERCENTILES: Final = "50,95,99,99.9"


class YcsbTable(Struct, frozen=True, kw_only=True):
    """A table as YCSB fills it: so many rows of one cell. `compressible` is the ratio its values compress by."""

    name: str
    rows: int
    value_bytes: int
    family: str = "cf"
    compressible: float = 1.0


class YcsbLoad(Struct, frozen=True, kw_only=True):
    """A load: so many threads for so long, keys chosen by `distribution`, and the shares of reads and updates."""

    seconds: float
    threads: int
    distribution: str = "uniform"
    hot: tuple[float, float] | None = None
    """The hot set's share of the rows, and the share of operations that go to it."""
    by_region: tuple[int, float] | None = None
    """The number of regions, and the exponent of Zipf's law by which they are read; `distribution` is then unused."""
    reads: float = 1.0
    updates: float = 0.0
    read_modify_writes: float = 0.0
    keys_per_read: int = 1
    rows_per_scan: int = 0
    """The rows of each scan; 0 reads single rows by their keys. A load that scans does nothing else."""
    target_per_second: float | None = None
    """The target rate of all threads together; None sets no limit."""
    seed: int = 1


class YcsbResult(Struct, frozen=True, kw_only=True):
    """YCSB's result: operations a second of all kinds, reads done, read latencies in ms, and failed operations."""

    operations_per_second: float
    reads: int
    mean_ms: float
    percentiles_ms: dict[str, float] = field(default_factory=dict)
    failed: int = 0


class SteadyReads(Struct):
    """The reads of a load that runs until its block ends; the counts are known then."""

    reads: int = 0
    failed: int = 0


class Ycsb(Struct, frozen=True, kw_only=True):
    """YCSB in the directories of one lab."""

    software: Software
    place: LabPaths

    def fill(self, table: YcsbTable) -> None:
        """Writes every row. Raises OperationFailed when one cannot be written."""
        properties = rows_of(table) | {"clientbuffering": "true", "operationcount": "1", "seed": "0"}
        name = f"load-{table.name}"
        running = self._start(name, ("-load", "-threads", str(LOADING_THREADS)), properties)
        written = _results(self._report(running, LOADING_SECONDS)).get("INSERT", {})
        if sum(written.get(key, 0) for key in WRITTEN) != table.rows:
            raise OperationFailed.of(
                where=table.name,
                what=f"not all of {table.rows:,} rows were written",
                why="",
                fix=f"read {self.place.output(name)}",
            )

    def start(self, table: YcsbTable, load: YcsbLoad, name: str = "ycsb") -> RunningProcess:
        """Begins a load; `finish` waits for its end."""
        properties = rows_of(table) | operations(load)
        return self._start(name, ("-t", *pace(load)), properties)

    def finish(self, running: RunningProcess, load: YcsbLoad) -> YcsbResult:
        """Return the load's result. Raises OperationFailed when it failed, does not end, or an operation failed."""
        result = measured(self._report(running, load.seconds + SLACK_SECONDS))
        if result.failed:
            raise OperationFailed.of(
                where=running.command.name,
                what=f"{result.failed:,} operations of the load failed",
                why="",
                fix=f"read {running.command.output}",
            )
        return result

    def run(self, table: YcsbTable, load: YcsbLoad) -> YcsbResult:
        """Run the whole load and return its result."""
        return self.finish(self.start(table, load), load)

    @contextmanager
    def steady(self, table: YcsbTable, load: YcsbLoad, client: Mapping[str, str]) -> Iterator[SteadyReads]:
        """Run the load while the block runs; `client` has HBase's settings of the clients.

        Raises OperationFailed where the load has ended before the block.
        """
        reads = SteadyReads()
        properties = rows_of(table) | operations(load) | {"status.interval": str(STATUS_SECONDS)} | dict(client)
        running = self._start("ycsb-steady", ("-s", *pace(load)), properties)
        try:
            yield reads
            ended = not running.is_alive
        finally:
            running.kill()
        report = running.command.output.read_text(encoding="utf-8", errors="replace")
        if ended:
            raise OperationFailed.of(
                where=running.command.name,
                what="ended before the experiment",
                why=report[-500:],
                fix=f"read {running.command.output}",
            )
        reads.reads, reads.failed = steady_counts(report)

    def _start(self, name: str, options: tuple[str, ...], properties: dict[str, str]) -> RunningProcess:
        file = self.place.scratch / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
        output = self.place.output(name)
        output.unlink(missing_ok=True)
        logging = self.place.configuration("client") / CLIENT_LOGGING
        flags = (f"-Xmx{HEAP_MIB}m", "-XX:+UseSerialGC", *FIRST_TIER, f"-Dlog4j2.configurationFile={logging}")
        java = Java(
            software=self.software,
            configuration=self.place.configuration("client"),
            scratch=self.place.scratch,
            flags=flags,
        )
        arguments = java.arguments("site.ycsb.Client", "-db", BINDING, "-P", str(file), *options)
        return start(Command(name=name, arguments=arguments, directory=self.place.root, output=output))

    def _report(self, running: RunningProcess, seconds: float) -> str:
        running.wait_for_end(seconds)
        output: Path = running.command.output
        report = output.read_text(encoding="utf-8", errors="replace")
        if running.process.returncode or "OVERALL" not in _results(report):
            raise OperationFailed.of(
                where=running.command.name,
                what=f"ended with {running.process.returncode}",
                why="",
                fix=f"read {output}",
            )
        return report


def measured(report: str) -> YcsbResult:
    """Return what a report of YCSB says. Raises KeyError for a text that is none."""
    sections = _results(report)
    reads = sections.get("READ") or sections.get("SCAN", {})
    failed = sum(
        int(value)
        for kind in sections.values()
        for key, value in kind.items()
        if key.startswith("Return=") and key not in WRITTEN
    )
    return YcsbResult(
        operations_per_second=sections["OVERALL"]["Throughput(ops/sec)"],
        reads=int(reads.get("Return=OK", 0)),
        mean_ms=reads.get("AverageLatency(us)", 0.0) / 1000,
        percentiles_ms={
            name: reads[key] / 1000 for name in PERCENTILES.split(",") if (key := _percentile(name)) in reads
        },
        failed=failed,
    )


def steady_counts(report: str) -> tuple[int, int]:
    """Return the operations and the failed reads in the lines of status. Raises ValueError for a text without one.

    Each line has all operations so far, and the failed reads since the line before.
    """
    counts = STATUS.findall(report)
    if not counts:
        raise ValueError("no line of status")
    return int(counts[-1]), sum(map(int, FAILED_READS.findall(report)))


def _results(report: str) -> dict[str, dict[str, float]]:
    sections: dict[str, dict[str, float]] = {}
    for kind, key, value in RESULT.findall(report):
        sections.setdefault(kind, {})[key] = float(value)
    return sections


SHORTER_KEY_BYTES: Final = 1
"""YCSB's row keys have 22.9 bytes on average: `user` and a number below 2^63. The calculator uses 24."""
BINDING: Final = "warmbase.lab.HBaseClient"
WORKLOAD: Final = "warmbase.lab.SeededWorkload"


def rows_of(table: YcsbTable) -> dict[str, str]:
    """Return YCSB's properties of a table."""
    return {
        "workload": WORKLOAD,
        "table": table.name,
        "columnfamily": table.family,
        "recordcount": str(table.rows),
        "fieldcount": "1",
        # `column_0` and the byte make a cell as long as the calculator's.
        "fieldnameprefix": "column_",
        "fieldlength": str(table.value_bytes + SHORTER_KEY_BYTES),
        "compressible": str(table.compressible),
        "measurementtype": "hdrhistogram",
        "hdrhistogram.percentiles": PERCENTILES,
    }


def operations(load: YcsbLoad) -> dict[str, str]:
    """Return YCSB's properties of a load."""
    popularity = {"requestdistribution": load.distribution}
    if load.hot is not None:
        popularity |= {"hotspotdatafraction": str(load.hot[0]), "hotspotopnfraction": str(load.hot[1])}
    if load.by_region is not None:
        regions, skew = load.by_region
        popularity |= {"regions": str(regions), "regionskew": str(skew)}
    return popularity | {
        "operationcount": str(ENDLESS),
        "maxexecutiontime": str(round(load.seconds)),
        "readproportion": "0" if load.rows_per_scan else str(load.reads),
        "updateproportion": str(load.updates),
        "readmodifywriteproportion": str(load.read_modify_writes),
        "scanproportion": "1" if load.rows_per_scan else "0",
        "minscanlength": str(load.rows_per_scan),
        "maxscanlength": str(load.rows_per_scan),
        "insertproportion": "0",
        "readallfields": "true",
        "multiget": str(load.keys_per_read),
        "seed": str(load.seed),
    }


def pace(load: YcsbLoad) -> tuple[str, ...]:
    """YCSB's options for threads, and for operations a second where they are limited.

    Of a slow load there are fewer threads: YCSB draws the first pause of each as nanoseconds in an `int`, which ends a
    thread, in silence, that has more than two seconds for an operation.
    """
    if not load.target_per_second:
        return ("-threads", str(load.threads))
    target = max(1, round(load.target_per_second))
    return ("-threads", str(min(load.threads, target)), "-target", str(target))


def _percentile(name: str) -> str:
    return f"{name}{'' if '.' in name else 'th'}PercentileLatency(us)"
