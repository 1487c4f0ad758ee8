"""Counters of a RegionServer and of the S3 server in front of which it stands, recorded while something happened."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from configurations.metrics import MISSES_FOR_ONE
from lab.hbase.jmx import CacheCounters, hit_ratio
from lab.hbase.store.client import StoreCounters
from lab.hbase.ycsb import YcsbLoad, YcsbResult


class Sample(Struct, frozen=True, kw_only=True):
    """All counters at one moment, so many seconds after the first."""

    seconds: float
    cache: CacheCounters
    store: StoreCounters


class Recording(Struct, frozen=True, kw_only=True):
    """A named series of samples; it has gaps where the server did not answer."""

    name: str
    samples: tuple[Sample, ...]


class Window(Struct, frozen=True, kw_only=True):
    """A load and its measurements: the clients' figures, and the differences of all counters."""

    load: YcsbLoad
    measured: YcsbResult
    hits: int
    misses: int
    gets: int
    evictions: int
    idle: float | None
    samples: tuple[Sample, ...]

    @property
    def hit_ratio(self) -> float:
        """Return the share of block reads that the BucketCache answered."""
        return hit_ratio(self.hits, self.misses)

    @property
    def lookups(self) -> float:
        """Return the number of blocks that were looked up in the BucketCache."""
        return self.hits + self.misses / MISSES_FOR_ONE

    @property
    def gets_per_1000_reads(self) -> float:
        """Return the number of store-file GETs for each thousand operations."""
        return 1000 * self.gets / max(1.0, self.measured.reads)


def recordings_to_json(recordings: Sequence[Recording]) -> str:
    """Return the recordings as JSON, one sample on each line, its counters in the order of `counters`."""
    cache, store = list(CacheCounters.__struct_fields__), ["store_file_gets", "bytes_down"]
    head = {"cache": cache, "store": store}
    lines = []
    for recording in recordings:
        rows = ",\n   ".join(json.dumps(_row(sample, cache, store)) for sample in recording.samples)
        lines.append(f' {{"name": {json.dumps(recording.name)},\n  "samples": [\n   {rows}]}}')
    return f'{{"counters": {json.dumps(head)},\n "recordings": [\n' + ",\n".join(lines) + "]}\n"


def recordings_of_json(text: str) -> tuple[Recording, ...]:
    """Return the recordings in the text; store counters that were not recorded are 0."""
    value = json.loads(text)
    cache, store = value["counters"]["cache"], value["counters"]["store"]
    return tuple(
        Recording(
            name=recording["name"],
            samples=tuple(
                Sample(
                    seconds=seconds,
                    cache=CacheCounters(**dict(zip(cache, rest[: len(cache)], strict=True))),
                    store=StoreCounters(**dict(zip(store, rest[len(cache) :], strict=True))),
                )
                for seconds, *rest in recording["samples"]
            ),
        )
        for recording in value["recordings"]
    )


def _row(sample: Sample, cache: Sequence[str], store: Sequence[str]) -> list[float]:
    of_cache, of_store = asdict(sample.cache), asdict(sample.store)
    return [round(sample.seconds, 1), *(of_cache[name] for name in cache), *(of_store[name] for name in store)]
