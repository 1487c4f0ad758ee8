"""The program of `warmbase verify` beside a real Trino: it reads beans, files, and the pages after a restart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.hbase.store import Settings
from lab.machine import memory
from lab.trino.bench import COLUMNS, SEVERAL_FILES, TrinoBench, trino_bench
from lab.trino.cluster import HEAP_MIB
from lab.trino.run import LARGE, MEMORY_BYTES
from lab.trino.software import SERVER, problems, trino_software
from tests.patience import HANG_SECONDS
from warmbase.ground.units import GIB, MIB
from warmbase.operations.on_node import probe_trino

pytestmark = pytest.mark.lab

SIZES = "catalog/hive.properties:fs.cache.max-sizes"


def facts_of(bench: TrinoBench, node: str) -> dict[str, Any]:
    cluster = bench.cluster
    port = cluster.ports[("coordinator", *cluster.workers).index(node)]
    places = (f"--trino=http://127.0.0.1:{port}", f"--configuration={cluster.directory(node) / 'etc'}")
    command = [sys.executable, "-m", probe_trino.__name__, *places, "--catalog=hive", SIZES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_a_probe_at_a_node_sees_what_trino_counts_and_that_a_restart_keeps_its_pages(tmp_path: Path) -> None:
    reasons = list(problems())
    available = memory().available_bytes
    if available is not None and available < MEMORY_BYTES:
        reasons.append(f"{available / GIB:.1f} GiB of memory are available; this needs {MEMORY_BYTES / GIB:.0f} GiB")
    if reasons:
        pytest.skip("; ".join(reasons))
    with trino_bench(trino_software(), (LARGE,), Settings(latency_ms=5.0), tmp_path, print) as bench:
        bench.fill(LARGE)
        for _ in range(2):
            bench.query(LARGE, SEVERAL_FILES, COLUMNS)
        facts = {node: facts_of(bench, node) for node in ("coordinator", "worker-1", "worker-2")}
        read = bench.cluster.read_bytes(LARGE)
        bench.cluster.restart()
        restarted = facts_of(bench, "worker-1")
    assert {node: one["info"]["coordinator"] for node, one in facts.items()} == {
        "coordinator": True,
        "worker-1": False,
        "worker-2": False,
    }
    workers = [facts["worker-1"], facts["worker-2"]]
    for worker in workers:
        assert worker["info"]["version"] == SERVER.version
        assert worker["figures"]["heap_bytes"] == HEAP_MIB * MIB
        assert int(worker["figures"]["java"]) >= 24
        assert worker["configuration"] == {SIZES: f"{LARGE.cache_mib * MIB}B"}
        assert worker["pages"] == {"bytes": worker["figures"]["space_bytes"], "older_bytes": 0}
        assert worker["trino"] is not None
    assert sum(worker["figures"]["cached_bytes"] for worker in workers) == read.cached_bytes > 0
    pages = facts["worker-1"]["pages"]["bytes"]
    assert restarted["pages"] == {"bytes": pages, "older_bytes": pages}
    assert restarted["figures"]["space_bytes"] == pages
