"""How handlers are shared between reads and writes, and how many there are."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.reader import read_environment
from facts.instance_types import instance_types
from sizing.call_queues import call_queues
from sizing.heap import Heap
from sizing.region_server import DEFAULT_S3_CONNECTIONS, FEWEST_HANDLERS, handlers, s3_connections
from sizing.units import KIB, MIB

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
    ("row_bytes", "instance", "expected"),
    [
        (64 * KIB, "r8g.xlarge", 30),  # HBase's default
        (64 * KIB, "r8g.16xlarge", 256),  # four for each vCPU
        (40 * MIB, "r8g.16xlarge", 25),  # a tenth of the heap holds so many answers
        (1_000 * MIB, "r8g.16xlarge", FEWEST_HANDLERS),
    ],
)
def test_handlers_follow_vcpus_and_give_way_to_large_answers(row_bytes: int, instance: str, expected: int) -> None:
    workload = replace(read_environment("prod").workload, row_bytes=row_bytes)
    assert handlers(instance_types()[instance], workload, HEAP) == expected


@given(HANDLERS, st.integers(1, 500))
def test_every_thread_that_may_ask_s3_finds_a_connection(answer: int, prefetch: int) -> None:
    assert s3_connections(answer, prefetch) >= max(DEFAULT_S3_CONNECTIONS, answer + prefetch)
