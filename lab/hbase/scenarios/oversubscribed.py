"""A cache smaller than the data: EMR's defaults, the published recipe, and our plan, on the same disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, hit_ratios, over_time
from lab.hbase.overlay import Overlay, varied
from lab.hbase.recording import Window
from lab.hbase.result import Chart, Measurement, MeasurementTarget, TargetKind
from lab.hbase.table_spec import TableFamily
from lab.hbase.ycsb import YcsbTable
from lab.model.prediction import expected_hit_ratio, popularity_of, slot_bytes, swing_of
from lab.model.scaled_plan import ScaledPlan, Small, miniature_demand
from sizing.allocator import DEFAULT_BUCKET_SIZES
from sizing.popularity import UNIFORM
from sizing.units import MIB

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
