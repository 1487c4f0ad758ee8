"""A run of Trino's scenario: its software, its machine and scale, and the result as JSON and as a page."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.engines.trino import trino_cache
from lab.engines.trino.bench import trino_bench
from lab.engines.trino.cluster import WORKERS
from lab.engines.trino.overlay import HEAP_MIB, server_overlay
from lab.engines.trino.scenarios import SCENARIOS, TRINO_CACHE
from lab.engines.trino.software import SERVER, TrinoSoftware, trino_software
from lab.engines.trino.tables import ONE_FILE, SEVERAL_FILES
from lab.hbase.limits import machine
from lab.hbase.overlay import Overlay
from lab.hbase.paths import home
from lab.hbase.result import Run, Scenario
from lab.hbase.run import RunFiles, this_machine
from lab.hbase.run_directory import run_directory
from lab.hbase.store.settings import Settings
from sizing.problem import InvalidInput, OperationFailed
from sizing.units import GIB, MIB, format_size

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
    record = _header(request, software)
    scenario = SCENARIOS[TRINO_CACHE]
    say(f"{TRINO_CACHE}: {scenario.question}")
    with run_directory() as root:
        at, began = datetime.now(UTC), time.monotonic()
        try:
            with trino_bench(software, trino_cache.CATALOGS, request.latency, root, say) as bench:
                findings = trino_cache.run(bench)
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
    record = replace(record, scenarios=(finished,))
    results.write(record)
    return record


def _header(request: TrinoRequest, software: TrinoSoftware) -> Run:
    latency = request.latency
    return Run(
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
                for catalog in trino_cache.CATALOGS
            ),
            ("first byte from S3", "", f"median {latency.latency_ms:g} ms, p99 {latency.latency_p99_ms or 0:g} ms"),
        ),
        properties=0,
        substitutions=_properties().substitutions({}),
        scenarios=(),
    )


def _properties() -> Overlay:
    """Return the properties of a worker and of its main catalog, with a place of the lab instead of this run's."""
    node = Path("/lab/worker-1")
    server = server_overlay(
        is_coordinator=False,
        port=8081,
        coordinator_port=8080,
        etc=node / "etc",
        plugins=Path("/lab/trino-server/plugin"),
    )
    return server | trino_cache.LARGE.overlay(node, "http://127.0.0.1:9000")
