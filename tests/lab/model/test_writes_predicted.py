"""Predictions of writes in the lab follow the settings that HBase gets and the rate of the log's volume."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.prediction import WritingLab, write_limit, writing_server
from lab.scaled_plan import Small, miniature
from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import site_properties
from warmbase.facts.releases import releases
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.server.writes import WritingServer
from warmbase.sizing.service.resource import Rates


@pytest.fixture(scope="module")
def server(launches: Callable[[str], Launch]) -> WritingServer:
    launch = launches("prod")
    small = Small(memory_bytes=4 * GIB, data_bytes=128 * MIB)
    scaled = miniature(launch.plan, launch.environment.workload, releases()[launch.environment.release], small)
    properties = dict(site_properties(launch.settings.effective("core")))
    properties["hbase.hregion.memstore.flush.size"] = str(4 * MIB)
    return writing_server(WritingLab(miniature=scaled, properties=properties, regions=4, vcpus=2))


def _rates(mib_per_second: float) -> Rates:
    return Rates(bytes_per_second=mib_per_second * MIB, ios_per_second=inf)


def test_a_slow_volume_takes_its_rate_over_a_log_entry(server: WritingServer) -> None:
    limit = write_limit(server, _rates(1))
    assert limit.name == "log-throughput"
    # Key and value, 55 bytes beside them, and HDFS's checksums.
    entry = (server.cells.key_value_bytes + 55) * (1 + 4 / 512)
    assert limit.max_bytes_per_second == pytest.approx(MIB / entry * server.cells.value_bytes)


@given(rate=st.floats(0.1, 2.0), factor=st.floats(1.0, 2.0))
def test_the_limit_grows_with_the_volume(server: WritingServer, rate: float, factor: float) -> None:
    slow, fast = (write_limit(server, _rates(mib)).max_bytes_per_second for mib in (rate, rate * factor))
    assert fast == pytest.approx(factor * slow)


def test_a_fast_volume_is_not_the_limit(server: WritingServer) -> None:
    assert write_limit(server, _rates(10_000)).name != "log-throughput"


def test_a_larger_flush_is_written_less_often(server: WritingServer) -> None:
    larger = replace(server.memstore, flush_size_bytes=8 * MIB)
    assert replace(server, memstore=larger).flush_cells == pytest.approx(2 * server.flush_cells)
    assert server.settings.amplification > 1
