"""`python -m tests.hfile.inspection_bench`: the speed of inspecting store files in S3, beside HBase's printer.

In one run, on this machine: a root of real store files in the lab's S3 server, behind a proxy that adds the same
latency to each request and counts them. We read it with as many threads as `warmbase inspect`. `hbase hfile -m` starts
a JVM for each file, as its users run it. One warm JVM reads the same files one after the other, because HBase's printer
can do no more. The benchmark needs the lab's software (`warmbase lab setup`), 3 GiB of disk and some three minutes;
everything is on loopback, and is deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from lab.hbase.store import Settings
from tests.hfile.sample_root import LEAST_LARGE_BYTES, SAMPLES, SampleRoot, sample_root
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import KIB, MIB
from warmbase.hfile.cursor import Readable
from warmbase.hfile.file_stats import read_stats
from warmbase.hfile.inspection import SamplingOptions
from warmbase.hfile.layout import FileEntry
from warmbase.hfile.store_file import opened

LATENCY_MS: Final = 20.0  # judgement: a small GET from S3 Standard in its own region takes 10 to 30 ms
THREADS: Final = SamplingOptions().threads
SAMPLE: Final = SamplingOptions().depth
JVM_FILES: Final = 5
PASSES: Final = 3
"""The number of passes of the warm JVM; only the last one is timed."""
OURS: Final = ("ours, opened", "ours, with leaves and a block")
PRINTER: Final = "org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter"


class Timed(Struct, frozen=True, kw_only=True):
    """The time that this many files took, and the CPU time, the requests and the bytes of one file."""

    what: str
    files: int
    seconds: float
    cpu_seconds: float
    gets: float
    heads: float
    read_bytes: float

    @property
    def files_per_second(self) -> float:
        """Return how many files were read in a second."""
        return self.files / self.seconds


class ReadShare(Struct, frozen=True, kw_only=True):
    """The bytes that were read of one large file, with the heads of the answers."""

    what: str
    size_bytes: int
    read_bytes: int
    gets: int

    @property
    def fraction(self) -> float:
        """Return the share of the file that was read."""
        return self.read_bytes / self.size_bytes


class Ratio(Struct, frozen=True):
    """A figure with its lower or upper bound."""

    what: str
    value: float
    least: float = 0.0
    most: float = float("inf")

    @property
    def is_met(self) -> bool:
        """Return whether the figure is within its bounds."""
        return self.least <= self.value <= self.most


class InspectionBench(Struct, frozen=True):
    """Readers of the sample root, each timed over the same files."""

    sample: SampleRoot

    def ours(self, what: str, files: Sequence[FileEntry], read: Callable[[Readable], object]) -> Timed:
        """Time our reader, which reads one file in each of its threads."""

        def run() -> None:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(lambda file: read(self.sample.root.readable(file)), files))

        return self._timed(what, len(files), run)

    def one_by_one(self, files: Sequence[FileEntry]) -> Timed:
        """Time one JVM for each file. Raises OperationFailed where it prints another cell count than we read."""

        def run() -> None:
            for number, file in enumerate(files):
                printed = self.sample.java(f"printer-{number}", PRINTER, "-m", "-f", self.sample.url(file))
                if f"entryCount={opened(self.sample.root.readable(file)).trailer.cells}" not in printed:
                    raise OperationFailed.of(
                        where=str(file.path),
                        what="hbase hfile -m and warmbase read different figures",
                        why=printed,
                        fix="report it with the file",
                    )

        return self._timed("hbase hfile -m, a JVM for each file", len(files), run)

    def warm(self, files: Sequence[FileEntry]) -> Timed:
        """Time the last pass of one JVM over all files; CPU, requests and bytes are the mean of all passes."""

        def run() -> float:
            printed = self.sample.java("warm", SAMPLES, "loop", str(PASSES), *map(self.sample.url, files))
            passes = [json.loads(line) for line in printed.splitlines() if line.startswith('{"pass"')]
            return float(passes[PASSES - 1]["seconds"])

        return self._timed("HFilePrettyPrinter -m, one warm JVM", len(files), run, PASSES)

    def share(self, what: str, stored: FileEntry, read: Callable[[Readable], object]) -> ReadShare:
        """Return how much of one large file the reader fetches."""
        before = self.sample.store.counters()
        read(self.sample.root.readable(stored))
        window = self.sample.store.counters() - before
        return ReadShare(what=what, size_bytes=stored.size_bytes, read_bytes=window.bytes_down, gets=window.gets)

    def _timed(self, what: str, files: int, run: Callable[[], float | None], passes: int = 1) -> Timed:
        """`run` may return a better measurement of its time."""
        before, cpu, began = self.sample.store.counters(), _cpu_seconds(), time.monotonic()
        seconds = run() or time.monotonic() - began
        window, readings = self.sample.store.counters() - before, files * passes
        timed = Timed(
            what=what,
            files=files,
            seconds=seconds,
            cpu_seconds=(_cpu_seconds() - cpu) / readings,
            gets=window.gets / readings,
            heads=window.heads / readings,
            read_bytes=window.bytes_down / readings,
        )
        _say(f"{what}: {timed.files_per_second:.2f} files per second")
        return timed


def main() -> None:
    """Print a table and, with --write, store the figures as JSON. Exits with 3 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hfile.inspection_bench", description=__doc__)
    parser.add_argument("--write", type=Path, help="where to, as JSON")
    write = parser.parse_args().write
    with (
        tempfile.TemporaryDirectory(prefix="warmbase-inspection-") as directory,
        sample_root(Path(directory), Settings(latency_ms=LATENCY_MS), _say) as sample,
    ):
        bench, stored = InspectionBench(sample), sorted(sample.root.files())
        files = [file for file in stored if file.size_bytes < LEAST_LARGE_BYTES]
        timed = _timed(bench, files)
        shares = [
            bench.share(what, file, read)
            for file in stored
            if file.size_bytes >= LEAST_LARGE_BYTES
            for what, read in zip(OURS, (opened, _sampled), strict=True)
        ]
    ratios = _ratios(timed, shares)
    sys.stdout.write(_table(timed, shares, ratios) + "\n")
    if write:
        write.write_text(_json(files, timed, shares, ratios), encoding="utf-8")
    sys.exit(0 if all(ratio.is_met for ratio in ratios) else 3)


def _timed(bench: InspectionBench, files: Sequence[FileEntry]) -> list[Timed]:
    chosen = Random(0).sample(files, JVM_FILES)
    return [
        bench.ours(OURS[0], files, opened),
        bench.ours(OURS[1], files, _sampled),
        bench.one_by_one(chosen),
        bench.warm(files),
    ]


def _sampled(readable: Readable) -> object:
    return read_stats(readable, SAMPLE, Random(0))


def _ratios(timed: Sequence[Timed], shares: Sequence[ReadShare]) -> list[Ratio]:
    """Return the ratios: opening a file reads what the printer reads; sampling it reads more."""
    *ours, one_by_one, warm = timed
    ratios = []
    for our in ours:
        speed, cpu = our.files_per_second, our.cpu_seconds
        least = 300 if our.what == OURS[0] else 0
        ratios += [
            Ratio(f"{our.what}: files/s to a JVM for each", speed / one_by_one.files_per_second, least=least),
            Ratio(f"{our.what}: files/s to a warm JVM", speed / warm.files_per_second, least=3),
            Ratio(f"{our.what}: CPU of a JVM for each to it", one_by_one.cpu_seconds / cpu),
        ]
    most = {OURS[0]: 0.001, OURS[1]: 0.005}
    return ratios + [
        Ratio(f"{share.what}: bytes read of {share.size_bytes / MIB:.0f} MiB", share.fraction, most=most[share.what])
        for share in shares
    ]


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of ended children; the store's processes are still running."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def _table(timed: Sequence[Timed], shares: Sequence[ReadShare], ratios: Sequence[Ratio]) -> str:
    lines = [f"{'':38}{'files':>6}{'files/s':>9}{'CPU ms':>8}{'GET':>6}{'HEAD':>6}{'KiB':>8}   of one file"]
    lines += [
        f"{row.what:38}{row.files:>6}{row.files_per_second:>9.2f}{1e3 * row.cpu_seconds:>8.1f}{row.gets:>6.1f}"
        f"{row.heads:>6.1f}{row.read_bytes / KIB:>8.0f}"
        for row in timed
    ]
    lines += ["", f"{'of one large file':38}{'MiB':>6}{'GET':>9}{'KiB':>8}"]
    lines += [
        f"{share.what:38}{share.size_bytes / MIB:>6.0f}{share.gets:>9}{share.read_bytes / KIB:>8.0f}"
        for share in shares
    ]
    lines += ["", *(_line(ratio) for ratio in ratios)]
    return "\n".join(lines)


def _line(ratio: Ratio) -> str:
    verdict = "met" if ratio.is_met else "MISSED"
    if ratio.most < 1:
        return f"{ratio.what:66}{ratio.value:>9.4%}   at most {ratio.most:.1%}: {verdict}"
    return f"{ratio.what:66}{ratio.value:>9.1f}" + (f"   at least {ratio.least:g}: {verdict}" if ratio.least else "")


def _json(
    files: Sequence[FileEntry], timed: Sequence[Timed], shares: Sequence[ReadShare], ratios: Sequence[Ratio]
) -> str:
    value = {
        "processors": os.cpu_count(),
        "latency_ms": LATENCY_MS,
        "threads": THREADS,
        "files": len(files),
        "size_bytes": sum(file.size_bytes for file in files),
        "timed": [{**asdict(row), "files_per_second": row.files_per_second} for row in timed],
        "large": [{**asdict(share), "fraction": share.fraction} for share in shares],
        "ratios": [{"what": ratio.what, "value": ratio.value, "is_met": ratio.is_met} for ratio in ratios],
    }
    return json.dumps(value, indent=1) + "\n"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
