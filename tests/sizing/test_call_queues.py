"""How handlers are shared between reads and writes, and how many there are."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import REQUIREMENTS, WORLD
from warmbase.environments.reader import read_environment
from warmbase.facts.ec2 import instance_types
from warmbase.ground.units import KIB, MIB
from warmbase.sizing.requirements import Pins
from warmbase.sizing.server.memory import Heap, split_memory
from warmbase.sizing.server.region_server import (
    DEFAULT_S3_CONNECTIONS,
    FEWEST_HANDLERS,
    ServerShare,
    call_queues,
    handlers,
    region_server,
)
from warmbase.sizing.service.inputs import SizingInputs

HANDLERS = st.integers(min_value=FEWEST_HANDLERS, max_value=1_000)


@given(HANDLERS)
def test_without_writes_every_handler_reads(count: int) -> None:
    shared = call_queues(count, writes=False)
    assert (shared.read_fraction, shared.read_handlers) == (0.0, count)


@given(HANDLERS)
def test_with_writes_some_handlers_write_and_most_read(count: int) -> None:
    """HBase's RWQueueRpcExecutor lets at least one handler write, and the rest read."""
    apart = call_queues(count, writes=True)
    writers = count - apart.read_handlers
    assert writers == max(1, count - max(1, round(count * apart.read_fraction)))
    assert min(8, count // 2) <= writers <= apart.read_handlers
    assert writers <= max(8, ceil(count * 0.1)) + 1 + count * 0.01


HEAP = Heap(xmx_mib=10_240, collector="zgc", l1_fraction=0.1, memstore_fraction=0.1)


@pytest.mark.parametrize(
    ("row_bytes", "reads_in_progress", "expected"),
    [
        (64 * KIB, 3, 30),  # HBase's default
        (64 * KIB, 101.2, 120),  # 102 that read and 12 that write, in steps of ten
        (64 * KIB, 90_000, 2_419),  # 9.3 GiB of RAM have room for the buffers of so many, 62 x 66,560 B each
        (40 * MIB, 101.2, 25),  # a tenth of the heap holds so many answers
        (1_000 * MIB, 101.2, FEWEST_HANDLERS),
    ],
)
def test_handlers_follow_the_reads_and_give_way_to_memory(
    row_bytes: int, reads_in_progress: float, expected: int
) -> None:
    workload = replace(read_environment("prod").workload, row_bytes=row_bytes)
    assert handlers(instance_types()["r8g.xlarge"], workload, HEAP, reads_in_progress) == expected
    split_memory(instance_types()["r8g.xlarge"].memory_bytes, HEAP, expected)


@given(readers=st.integers(1, 500), writes=st.integers(0, 1))
def test_as_many_handlers_read_as_the_load_needs(readers: int, *, writes: int) -> None:
    workload = replace(read_environment("prod").workload, row_bytes=64 * KIB, write_bytes_per_second=writes)
    count = handlers(instance_types()["r8g.xlarge"], workload, HEAP, readers)
    assert call_queues(count, writes=writes > 0).read_handlers >= readers * 0.98 - 1


@given(HANDLERS, st.integers(1, 500))
def test_every_thread_that_may_ask_s3_finds_a_connection(answer: int, prefetch: int) -> None:
    pins = Pins(handlers=answer, prefetch_threads=prefetch)
    inputs = SizingInputs.new(replace(REQUIREMENTS, pins=pins), WORLD)
    server = region_server(instance_types()["r8g.16xlarge"], ServerShare.of(inputs.demand, 0, 8), inputs, 0.0)
    assert server.s3_connections >= max(DEFAULT_S3_CONNECTIONS, answer + prefetch)
