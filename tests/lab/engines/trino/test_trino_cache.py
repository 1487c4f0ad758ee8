"""The scenario of the file-system cache on a real Trino; it takes about four minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.hbase.run import RunFiles
from lab.hbase.store import Settings
from lab.machine import memory
from lab.trino.run import MEMORY_BYTES, TrinoRequest, run
from lab.trino.software import problems
from warmbase.ground.units import GIB

pytestmark = pytest.mark.lab


def test_bytes_are_as_predicted_and_warm_queries_get_no_data(tmp_path: Path) -> None:
    reasons = list(problems())
    available = memory().available_bytes
    if available is not None and available < MEMORY_BYTES:
        reasons.append(f"{available / GIB:.1f} GiB of memory are available; this needs {MEMORY_BYTES / GIB:.0f} GiB")
    if reasons:
        pytest.skip("; ".join(reasons))
    request = TrinoRequest(
        environment="prod",
        release="emr-7.12.0",
        latency=Settings(latency_ms=20.0, latency_p99_ms=60.0),
        command="warmbase lab run prod --scenario trino-cache",
    )
    results = RunFiles(tmp_path, "prod-trino")
    [scenario] = run(request, results, print).scenarios
    assert scenario.missed == ()
    warm = [figure for figure in scenario.figures if figure.name == "GETs of data" and "warm" in figure.case]
    assert [figure.measured for figure in warm] == [0, 0]
    assert results.page.exists()
