"""Counters of a real RegionServer, recorded by the lab while it warmed and restarted, obey the model."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from lab.hbase.jmx import hit_ratio
from lab.hbase.recording import Recording, Sample, recordings_of_json

RECORDED = Path(__file__).parents[3] / "tests" / "dashboards" / "preview" / "recorded"


def recordings(name: str) -> dict[str, Recording]:
    result = recordings_of_json((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return {recording.name: recording for recording in result}


def ratio(before: Sample, after: Sample) -> float:
    return hit_ratio(after.cache.l2_hits - before.cache.l2_hits, after.cache.l2_misses - before.cache.l2_misses)


def test_reads_warm_the_cache() -> None:
    samples = recordings("warm-up")["warming by reads"].samples
    reading = [sample for sample in samples if sample.cache.l2_hits + sample.cache.l2_misses > 0]
    assert ratio(reading[0], reading[5]) < 0.5
    assert ratio(reading[-10], reading[-1]) > 0.99
    assert all(after.store.store_file_gets >= before.store.store_file_gets for before, after in pairwise(samples))


def test_prefetch_fills_it_without_a_read() -> None:
    samples = recordings("warm-up")["warming by prefetch"].samples
    blocks = [sample.cache.l2_blocks for sample in samples]
    assert blocks == sorted(blocks)
    assert blocks[-1] > 3_000
    assert samples[-1].cache.reads < 1_000


@pytest.mark.parametrize("name", ["clean restart", "kill -9"])
def test_the_cache_is_there_when_the_server_answers_again(name: str) -> None:
    samples = recordings("restart")[name].samples
    away = next(number for number, (one, other) in enumerate(pairwise(samples), 1) if other.seconds - one.seconds > 3)
    back = samples[away:]
    assert samples[away - 1].cache.l2_blocks > 3_000
    assert back[0].cache.l2_blocks > 3_000
    assert back[0].cache.reads == 0
    assert ratio(back[0], back[-1]) > 0.995


def test_without_persistence_the_reads_fill_it_again() -> None:
    samples = recordings("restart")["clean restart, neither persistence nor prefetch"].samples
    blocks = [sample.cache.l2_blocks for sample in samples]
    assert 0 in blocks
    assert blocks[-1] > 3_000
    assert samples[-1].store.store_file_gets - samples[0].store.store_file_gets > 3_000
