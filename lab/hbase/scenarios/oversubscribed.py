"""A cache smaller than the data: EMR's defaults, the published recipe, and our plan, on the same disk.

A second scenario has data that compresses well, cached as it is stored, or decompressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.admin import TableFamily
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import Overlay, varied
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, hit_ratios, over_time, performance_figures
from lab.hbase.recording import Window
from lab.hbase.result import Chart, Measurement, MeasurementTarget, TargetKind
from lab.hbase.ycsb import YcsbTable
from lab.prediction import expected_hit_ratio, popularity_of, slot_bytes, swing_of
from lab.scaled_plan import ScaledPlan, Small, miniature_demand
from warmbase.ground.units import MIB
from warmbase.sizing.cache.allocator import DEFAULT_BUCKET_SIZES
from warmbase.sizing.workload.popularity import UNIFORM

TITLE: Final = "A cache smaller than the data"
QUESTION: Final = "With equal disks, how much do EMR's defaults, the published recipe and our plan read from the cache?"
WHY: Final = "the configuration of this case"
CELL_BYTES: Final = 2_048
SHARE: Final = 0.5
SEEDS: Final = (2, 4, 6)
BETTER: Final = 1.15
WARMING_SECONDS: Final = 30.0
SETTLING_SECONDS: Final = 240.0
TURNOVERS: Final = 6.0
"""The number of times that the table's blocks are read, until a cache with any list of sizes is in its steady state.

Two were too few if a prefetch had filled the two sizes of the default list in other proportions than reads do.
"""
# Amazon's best-practice page for HBase on S3, and HBase's defaults for the rest.
EMR_DEFAULTS: Final[Mapping[str, str | None]] = {
    "hbase.bucketcache.bucket.sizes": None,
    "hbase.blockcache.minblocksize": None,
    "hbase.bucketcache.writer.threads": None,
    "hbase.bucketcache.writer.queuelength": None,
    "hbase.bucketcache.queue.addition.waittime": None,
    "hbase.bucketcache.persistent.path": None,
    "hbase.hfile.thread.prefetch": None,
    "hbase.rs.prefetchblocksonopen": None,
    "hbase.rs.cacheblocksonwrite": None,
    "hbase.rs.cachecompactedblocksonwrite": None,
    "hbase.block.data.cachecompressed": None,
}
PERSISTENCE: Final = "hbase.bucketcache.persistent.path"
RECIPE: Final[Mapping[str, str | None]] = {
    **{key: value for key, value in EMR_DEFAULTS.items() if key != PERSISTENCE},
    "hbase.rs.prefetchblocksonopen": "true",
    "hbase.rs.cacheblocksonwrite": "true",
    "hbase.rs.cachecompactedblocksonwrite": "true",
}


class BucketCase(Struct, frozen=True, kw_only=True):
    """One configuration, with the bucket sizes that it comes to."""

    name: str
    overlay: Overlay
    sizes: Sequence[int]


def run(lab: Experiment) -> ScenarioResult:
    """Uniform reads of cells of 2 KiB: a block of 64 KiB is longer than the default list's slot of 65 KiB."""
    cells = _of_cells(lab)
    table = YcsbTable(name="cells2k", rows=cells.rows, value_bytes=CELL_BYTES)
    family = TableFamily(name=table.family, compression="NONE", block_bytes=cells.workload.block_bytes)
    small = lab.with_measured_blocks(table, cells, family).miniature
    cache_mib = small.sized(SHARE)
    cases = _cases(small, cache_mib)
    windows: dict[str, list[Window]] = {}
    charts: list[Chart] = []
    slots: list[Measurement] = []
    figures: list[Measurement] = []
    for case in cases:
        lab.bench.serve(LabServer(varied=case.overlay), cold=True)
        warming = lab.bench.measure(table, lab.quick(WARMING_SECONDS))
        lab.bench.settle(table, lab.quick(SETTLING_SECONDS), TURNOVERS * small.demand.blocks.count)
        charts.append(
            over_time(
                f"Hit ratio while it fills: {case.name}", "hit ratio", [("measured", hit_ratios(warming.samples))]
            )
        )
        cached = lab.bench.sample(0.0).cache
        slots.append(_slot_figure(case, small, cache_mib, cached.l2_bytes / max(1, cached.l2_blocks)))
        windows[case.name] = [lab.bench.measure(table, replace(lab.quick(lab.seconds), seed=seed)) for seed in SEEDS]
        figures.append(_capacity_figure(case, small, cache_mib, windows[case.name]))
    return ScenarioResult(
        figures=(*(figure for case in cases for figure in _figures(case, small, cache_mib, windows)), *figures, *slots),
        charts=tuple(charts),
        limits=(
            f"A cache of {cache_mib} MiB for {SHARE:.0%} of the blocks; reads are uniform, so that no block is hot.",
        ),
    )


def _of_cells(lab: Experiment) -> ScaledPlan:
    """Return the same data in cells of 2 KiB, uncompressed."""
    workload = replace(
        lab.miniature.workload, cell_bytes=CELL_BYTES, codec="none", compression_ratio=1.0, encoding="NONE"
    )
    demand = miniature_demand(
        workload,
        lab.release,
        Small(memory_bytes=lab.miniature.heap_mib * MIB, data_bytes=lab.miniature.workload.stored_bytes),
    )
    return replace(lab.miniature, workload=demand.blocks.workload, demand=demand)


def _cases(small: ScaledPlan, cache_mib: int) -> tuple[BucketCase, ...]:
    ours = {
        "hbase.bucketcache.bucket.sizes": ",".join(map(str, small.demand.sizes)),
        "hbase.blockcache.minblocksize": str(round(small.demand.blocks.cached_bytes)),
    }
    size = {"hbase.bucketcache.size": str(cache_mib)}
    return (
        BucketCase(name="EMR's defaults", overlay=varied({**EMR_DEFAULTS, **size}, WHY), sizes=DEFAULT_BUCKET_SIZES),
        BucketCase(name="published recipe", overlay=varied({**RECIPE, **size}, WHY), sizes=DEFAULT_BUCKET_SIZES),
        BucketCase(name="our plan", overlay=varied({**ours, **size}, WHY), sizes=small.demand.sizes),
    )


def _slot_figure(case: BucketCase, small: ScaledPlan, cache_mib: int, measured: float) -> Measurement:
    return Measurement(
        case=case.name,
        name="slot of a block",
        unit="B",
        measured=measured,
        predicted=slot_bytes(small, cache_mib, case.sizes),
        because="mean of occupied slots; the prediction assumes that short and long blocks are cached in their "
        "proportions",
    )


def _capacity_figure(case: BucketCase, small: ScaledPlan, cache_mib: int, windows: Sequence[Window]) -> Measurement:
    swing = swing_of(small, cache_mib, case.sizes)
    return Measurement(
        case=case.name,
        name="blocks held in these windows",
        unit="",
        measured=mean(sample.cache.l2_blocks for window in windows for sample in window.samples),
        predicted=(swing.full_blocks + swing.blocks_after_eviction) / 2,
        because="the middle between the start and the end of an eviction; more where the disk syncs slowly, because "
        "blocks in the writers' queues are read from there",
    )


def _figures(
    case: BucketCase, small: ScaledPlan, cache_mib: int, windows: dict[str, list[Window]]
) -> tuple[Measurement, ...]:
    ratios = [window.hit_ratio for window in windows[case.name]]
    even = popularity_of(small, UNIFORM)
    predicted = expected_hit_ratio(small, even, cache_mib, case.sizes)
    figures = [
        Measurement(
            case=f"{case.name}, seed {seed}",
            name="hit ratio",
            unit="",
            measured=ratio,
            predicted=predicted,
            because="Che's approximation for the blocks that fit with this list of bucket sizes; all blocks have "
            "one length",
            target=MeasurementTarget(kind=TargetKind.WITHIN_DIFFERENCE, bound=0.02),
        )
        for seed, ratio in zip(SEEDS, ratios, strict=True)
    ]
    if case.name == "our plan":
        recipe = [window.hit_ratio for window in windows["published recipe"]]
        worst = min(mine / theirs for mine, theirs in zip(ratios, recipe, strict=True))
        figures.append(
            Measurement(
                case=f"our plan against the published recipe, worst of {len(SEEDS)} seeds",
                name="bytes hit",
                unit="x",
                measured=worst,
                predicted=predicted / expected_hit_ratio(small, even, cache_mib, DEFAULT_BUCKET_SIZES),
                because="the same disk, with slots that fit the blocks",
                target=at_least(BETTER),
            )
        )
    return tuple(figures)


COMPRESSED_TITLE: Final = "Compressed data, cached compressed or not"
COMPRESSED_QUESTION: Final = "What does caching compressed blocks gain, and what does decompressing each hit cost?"
RATIO: Final = 3.0

COMPRESSED_SETTLING_SECONDS: Final = 180.0
COMPRESSED_TURNOVERS: Final = 8.0
"""The reads, in multiples of the table's blocks, until the cache is steady: 1 in 3,000 is then still unread."""


def run_compressed(lab: Experiment) -> ScenarioResult:
    """The same cache, half of what the decompressed blocks would need, both ways."""
    packed, plain = _of(lab, "zstd", RATIO), _of(lab, "none", 1.0)
    table = YcsbTable(name="words", rows=plain.rows, value_bytes=lab.table.value_bytes, compressible=RATIO)
    family = TableFamily(name=table.family, compression="ZSTD", block_bytes=plain.workload.block_bytes)
    cache_mib = plain.sized(SHARE)
    return ScenarioResult(
        figures=(
            *_compressed_figures(
                lab.with_measured_blocks(table, packed, family), "cached compressed", cache_mib, keeps="true"
            ),
            *_compressed_figures(
                lab.with_measured_blocks(table, plain, family), "cached decompressed", cache_mib, keeps="false"
            ),
        ),
        limits=(
            f"Values consist of words that ZSTD compresses about {RATIO:.0f}:1; your data compresses differently.",
        ),
    )


def _compressed_figures(lab: Experiment, name: str, cache_mib: int, *, keeps: str) -> tuple[Measurement, ...]:
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
    bench.settle(lab.table, lab.quick(COMPRESSED_SETTLING_SECONDS), COMPRESSED_TURNOVERS * demand.blocks.count)
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
