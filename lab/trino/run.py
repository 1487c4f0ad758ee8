"""A run of Trino's scenario: its software, its machine and scale, and the result as JSON and as a page.

The scenario compares the file-system cache with its prediction: bytes from the cache and from S3, to the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab import machine
from lab.hbase.experiment import SAME, ScenarioResult, at_least, within
from lab.hbase.laboratory import run_directory
from lab.hbase.result import Measurement, Run, Scenario
from lab.hbase.run import RunFiles, this_machine
from lab.hbase.store import Settings
from lab.machine.paths import home
from lab.trino import SCENARIOS, TRINO_CACHE
from lab.trino.bench import COLUMNS, ONE_FILE, SEVERAL_FILES, QueryWindow, TrinoBench, trino_bench
from lab.trino.cluster import HEAP_MIB, WORKERS, Catalog, server_overlay
from lab.trino.prediction import PageCache, QueryBytes
from lab.trino.software import SERVER, trino_software
from warmbase.engines.trino.cached_scan import ByteRange, usable_bytes
from warmbase.ground.errors import InvalidInput, OperationFailed
from warmbase.ground.units import GIB, MIB, format_size

FEW_COLUMNS: Final = ("quantity", "extendedprice", "returnflag")
LARGE: Final = Catalog(name="hive", cache_mib=600, preferred_hosts=1)
SMALL: Final = Catalog(name="hive_small", cache_mib=12, preferred_hosts=1)
DEFAULT_HOSTS: Final = Catalog(name="hive_default_hosts", cache_mib=600)
CATALOGS: Final = (LARGE, SMALL, DEFAULT_HOSTS)
PASSES: Final = 3
WARM_RUNS: Final = 3
CLIENTS: Final = 4
ROUNDS: Final = 2
CLOSE: Final = within(0.05)

LIMITS: Final = (
    (
        "Cached pages are read from this machine's page cache, and Trino shares the cores with the S3 server, so the "
        "seconds are no measure of a cluster's speed."
    ),
    (
        "The JVMs use only the C1 compiler. The cache that is too small is measured first, so that the "
        "cold runs after it do not measure cold JVMs; the first query after the restart does."
    ),
    (
        "After a restart the scenario waits until the coordinator has counted both workers as active for 30 s. Before, "
        "it may lose one again and give its files to the other, which then fetches them from S3."
    ),
    (
        "Each file is one split. Several splits of a larger file are read at once, and may fetch its last page more "
        "than once."
    ),
)


def run_trino_cache(bench: TrinoBench) -> ScenarioResult:
    """Run queries that fill the caches and then are served by them; each is predicted before it runs."""
    bench.fill(LARGE)
    figures = list[Measurement]()
    # One file is scanned several times through a cache of about half its pages, the least recently read evicted first.
    small_bytes = usable_bytes(SMALL.cache_mib * MIB)
    small, stored_bytes = PageCache(small_bytes), bench.stored(ONE_FILE)[0].layout.object_bytes
    for number in range(1, PASSES + 1):
        predicted = small.query(bench.stored(ONE_FILE), COLUMNS)
        name = f"cache of {small_bytes / stored_bytes:.0%} of the file, scan {number}"
        figures += _figures(name, bench.query(SMALL, ONE_FILE, COLUMNS), predicted)
    cache, files = PageCache(usable_bytes(LARGE.cache_mib * MIB)), bench.stored(SEVERAL_FILES)
    for name, columns in (("three columns", FEW_COLUMNS), ("all columns", COLUMNS)):
        for run_name in ("only three columns cached" if cache.pages else "cold", "first warm run"):
            predicted = cache.query(files, columns)
            figures += _figures(f"{name}, {run_name}", bench.query(LARGE, SEVERAL_FILES, columns), predicted)
        seconds = min(bench.query(LARGE, SEVERAL_FILES, columns).seconds for _ in range(WARM_RUNS))
        figures.append(_seconds(f"{name}, best of {WARM_RUNS} more", seconds))
    # One worker is stopped and the other killed; both start again, and the last query is repeated.
    figure = partial(Measurement, case="all columns, workers restarted")
    cached = sum(bench.cluster.pages(LARGE))
    seconds = bench.cluster.restart()
    bench.say(f"  the workers are active after {seconds:.0f} s")
    predicted = cache.query(files, COLUMNS)
    window = bench.query(LARGE, SEVERAL_FILES, COLUMNS)
    figures += [
        figure(
            name="pages found again",
            measured=sum(bench.cluster.restored_pages(LARGE)),
            predicted=cache.pages,
            because="every page is a file of its own and needs no index, so a worker that is killed finds as many as "
            f"one that is stopped; the caches had {cached} pages before",
            target=SAME,
        ),
        figure(
            name="time until both workers are active for good",
            unit="s",
            measured=seconds,
            because="from the end of the old processes; most of it is the start of two JVMs on this machine",
        ),
        *_figures("all columns, workers restarted", window, predicted),
    ]
    return ScenarioResult(figures=(*figures, *_copies(bench)), limits=LIMITS)


def _copies(bench: TrinoBench) -> list[Measurement]:
    """Run the same query from several clients at once, with files on one worker, and on any of two."""
    objects = bench.stored(SEVERAL_FILES)
    pages = sum(len(ByteRange(0, stored.layout.object_bytes).pages) for stored in objects)
    figures: list[Measurement] = []
    for catalog in (LARGE, DEFAULT_HOSTS):
        statement = SEVERAL_FILES.query(catalog, COLUMNS)
        with ThreadPoolExecutor(CLIENTS) as clients:
            tuple(clients.map(bench.cluster.client.run, [statement] * (CLIENTS * ROUNDS)))
        hosts, cached = catalog.preferred_hosts, bench.cluster.pages(catalog)
        figure = partial(
            Measurement,
            case=f"{CLIENTS} clients at once, {hosts or 'two'} preferred worker{'' if hosts else 's, the default'}",
        )
        figures += [
            figure(
                name="pages on each worker",
                measured=" and ".join(map(str, cached)),
                because=f"files on the disks of the workers' caches; the table has {len(objects)} files",
            ),
            figure(
                name="copies of a page",
                measured=sum(cached) / pages,
                predicted=1.0 if hosts else None,
                because="pages of both caches divided by pages of the table. A file is read, and cached, by its "
                "preferred workers (`fs.cache.preferred-hosts-count`)",
                target=SAME if hosts else None,
            ),
        ]
    return figures


def _figures(case: str, window: QueryWindow, predicted: QueryBytes) -> list[Measurement]:
    figure = partial(Measurement, case=case)
    counted = "the workers' counters; predicted from the files' layout, by whole pages"
    figures = [
        figure(
            name="bytes from S3",
            unit="B",
            measured=window.read.fetched_bytes,
            predicted=predicted.fetched_bytes,
            because=counted,
            target=CLOSE,
        ),
        figure(
            name="bytes from the cache",
            unit="B",
            measured=window.read.cached_bytes,
            predicted=predicted.cached_bytes,
            because=counted,
            target=CLOSE,
        ),
        figure(
            name="hit ratio",
            measured=window.read.hit_ratio,
            predicted=predicted.hit_ratio,
            because="bytes from the cache divided by all bytes",
            target=at_least(1) if predicted.hit_ratio == 1 else CLOSE,
        ),
        figure(
            name="GETs of data",
            measured=window.store.store_file_gets,
            predicted=predicted.gets,
            because="counted in front of the S3 server; one for each read that is not wholly cached",
            target=SAME,
        ),
        figure(
            name="HEADs and listings",
            measured=window.store.heads + window.store.lists,
            because="counted in front of the S3 server; the coordinator looks for the table's files at each query",
        ),
    ]
    if predicted.fetched_bytes:
        figures.append(
            figure(
                name="bytes that S3 sent",
                unit="B",
                measured=window.store.bytes_down,
                predicted=predicted.fetched_bytes,
                because="counted in front of the S3 server, with the headers of its responses",
                target=CLOSE,
            )
        )
    return [*figures, _seconds(case, window.seconds)]


def _seconds(case: str, seconds: float) -> Measurement:
    return Measurement(case=case, name="time", unit="s", measured=seconds, because="measured by the client")


MEMORY_BYTES: Final = 5 * GIB
"""The three servers were seen to take 2 GiB, of 5 GiB that their heaps and code may grow to."""
DISK_BYTES: Final = GIB
SEED: Final = 0


class TrinoRequest(Struct, frozen=True, kw_only=True):
    """A request for a run, for an environment of this name and release."""

    environment: str
    release: str
    latency: Settings
    command: str


def run(request: TrinoRequest, results: RunFiles, say: Callable[[str], None]) -> Run:
    """Run the scenario and write its result.

    Raises InvalidInput where this machine is too small or the lab is not set up for Trino, and OperationFailed where
    the scenario fails.
    """
    if lacks := machine.needs(MEMORY_BYTES, DISK_BYTES, home()):
        raise InvalidInput(lacks)
    software = trino_software()
    scenario = SCENARIOS[TRINO_CACHE]
    say(f"{TRINO_CACHE}: {scenario.question}")
    with run_directory() as root:
        at, began = datetime.now(UTC), time.monotonic()
        try:
            with trino_bench(software, CATALOGS, request.latency, root, say) as bench:
                findings = run_trino_cache(bench)
        except Exception as error:
            raise OperationFailed([results.failed(TRINO_CACHE, error, root)]) from error
    finished = Scenario(
        name=TRINO_CACHE,
        title=scenario.title,
        question=scenario.question,
        figures=findings.figures,
        charts=findings.charts,
        limits=findings.limits,
        seed=SEED,
        began=at.isoformat(timespec="seconds"),
        seconds=time.monotonic() - began,
    )
    # The configuration of a worker and of its main catalog names a fixed directory instead of this run's.
    node, latency = Path("/lab/worker-1"), request.latency
    server = server_overlay(
        is_coordinator=False,
        port=8081,
        coordinator_port=8080,
        etc=node / "etc",
        plugins=Path("/lab/trino-server/plugin"),
    )
    properties = server | LARGE.overlay(node, "http://127.0.0.1:9000")
    record = Run(
        environment=request.environment,
        release=request.release,
        command=request.command,
        software=software.versions,
        substitution=f"EMR runs Amazon's own build of Trino. The lab runs Trino {SERVER.version} from Maven Central, "
        "without Amazon's changes",
        machine=this_machine(),
        scale=(
            ("workers", "", f"{WORKERS}, and a coordinator that reads no data"),
            ("heap of a server", "", format_size(HEAP_MIB * MIB)),
            *(
                (f"table {table.name}", "", f"lineitem of TPC-H at scale {table.scale}, in {files}")
                for table, files in ((ONE_FILE, "one Parquet file"), (SEVERAL_FILES, "several Parquet files"))
            ),
            *(
                (f"cache of a worker in catalog {catalog.name}", "", format_size(catalog.cache_mib * MIB))
                for catalog in CATALOGS
            ),
            ("first byte from S3", "", f"median {latency.latency_ms:g} ms, p99 {latency.latency_p99_ms or 0:g} ms"),
        ),
        properties=0,
        substitutions=properties.substitutions({}),
        scenarios=(finished,),
    )
    results.write(record)
    return record
