"""Data that compresses well: cached as it is stored, or decompressed."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, performance_figures
from lab.hbase.overlay import varied
from lab.hbase.result import Measurement, MeasurementTarget, TargetKind
from lab.hbase.table_spec import TableFamily
from lab.hbase.ycsb import YcsbTable
from lab.model.prediction import expected_hit_ratio, popularity_of, slot_bytes
from lab.model.scaled_plan import ScaledPlan, Small, miniature_demand
from sizing.popularity import UNIFORM
from sizing.units import MIB

TITLE: Final = "Compressed data, cached compressed or not"
QUESTION: Final = "What does caching compressed blocks gain, and what does decompressing each hit cost?"
RATIO: Final = 3.0
SHARE: Final = 0.5
SETTLING_SECONDS: Final = 180.0
TURNOVERS: Final = 8.0
"""The reads, in multiples of the table's blocks, until the cache is steady: 1 in 3,000 is then still unread."""


def run(lab: Experiment) -> ScenarioResult:
    """The same cache, half of what the decompressed blocks would need, both ways."""
    packed, plain = _of(lab, "zstd", RATIO), _of(lab, "none", 1.0)
    table = YcsbTable(name="words", rows=plain.rows, value_bytes=lab.table.value_bytes, compressible=RATIO)
    family = TableFamily(name=table.family, compression="ZSTD", block_bytes=plain.workload.block_bytes)
    cache_mib = plain.sized(SHARE)
    return ScenarioResult(
        figures=(
            *_figures(lab.with_measured_blocks(table, packed, family), "cached compressed", cache_mib, keeps="true"),
            *_figures(lab.with_measured_blocks(table, plain, family), "cached decompressed", cache_mib, keeps="false"),
        ),
        limits=(
            f"Values consist of words that ZSTD compresses about {RATIO:.0f}:1; your data compresses differently.",
        ),
    )


def _figures(lab: Experiment, name: str, cache_mib: int, *, keeps: str) -> tuple[Measurement, ...]:
    """The table cached one way; `keeps` is HBase's word for compressed."""
    bench, demand = lab.bench, lab.miniature.demand
    settings = {
        "hbase.block.data.cachecompressed": keeps,
        "hbase.bucketcache.size": str(cache_mib),
        "hbase.bucketcache.bucket.sizes": ",".join(map(str, demand.sizes)),
        "hbase.blockcache.minblocksize": str(round(demand.blocks.cached_bytes)),
        "hbase.rs.prefetchblocksonopen": "false",
    }
    bench.serve(LabServer(varied=varied(settings, "varied here")), cold=True)
    bench.settle(lab.table, lab.quick(SETTLING_SECONDS), TURNOVERS * demand.blocks.count)
    window = bench.measure(lab.table, lab.load())
    cached = bench.sample(0.0).cache
    return (
        *performance_figures(name, window, "reads of the same keys"),
        Measurement(
            case=name,
            name="hit ratio",
            unit="",
            measured=window.hit_ratio,
            predicted=expected_hit_ratio(lab.miniature, popularity_of(lab.miniature, UNIFORM), cache_mib, demand.sizes),
            because=f"{cache_mib} MiB for blocks of {demand.blocks.cached_bytes:,.0f} B in the cache",
            target=MeasurementTarget(kind=TargetKind.WITHIN_DIFFERENCE, bound=0.02),
        ),
        Measurement(
            case=name,
            name="slot of a block",
            unit="B",
            measured=cached.l2_bytes / max(1, cached.l2_blocks),
            predicted=slot_bytes(lab.miniature, cache_mib, demand.sizes),
            because="mean of occupied slots",
        ),
    )


def _of(lab: Experiment, codec: str, ratio: float) -> ScaledPlan:
    """The table's blocks as they are in the cache; decompressed, as many bytes as the lab's data."""
    data = lab.miniature.workload.stored_bytes
    workload = replace(lab.miniature.workload, codec=codec, compression_ratio=ratio, encoding="NONE")
    small = Small(memory_bytes=lab.miniature.heap_mib * MIB, data_bytes=round(data / ratio))
    demand = miniature_demand(workload, lab.release, small)
    return replace(lab.miniature, workload=demand.blocks.workload, demand=demand)
