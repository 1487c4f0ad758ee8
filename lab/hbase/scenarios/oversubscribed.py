"""A cache smaller than the data: EMR's defaults, the published recipe, and our plan, on the same disk.

A second scenario has data that compresses well, cached as it is stored, or decompressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Final

from msgspec.structs import replace

from lab.hbase.admin import TableFamily
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import (
    UNCOMPRESSED,
    Experiment,
    ScenarioResult,
    at_least,
    hit_ratios,
    over_time,
    performance_figures,
    within_difference,
)
from lab.hbase.result import Chart, Measurement
from lab.hbase.ycsb import YcsbTable
from lab.prediction import expected_hit_ratio, popularity_of, slot_bytes, swing_of
from warmbase.sizing.cache.bucket_sizes import DEFAULT_BUCKET_SIZES
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
PUBLISHED: Final = "published recipe"
PERSISTENCE: Final = "hbase.bucketcache.persistent.path"
RECIPE: Final[Mapping[str, str | None]] = {
    **{key: value for key, value in EMR_DEFAULTS.items() if key != PERSISTENCE},
    "hbase.rs.prefetchblocksonopen": "true",
    "hbase.rs.cacheblocksonwrite": "true",
    "hbase.rs.cachecompactedblocksonwrite": "true",
}


def run(lab: Experiment) -> ScenarioResult:
    """Uniform reads of cells of 2 KiB: a block of 64 KiB is longer than the default list's slot of 65 KiB."""
    bench = lab.bench
    cells = lab.scaled(cell_bytes=CELL_BYTES, **UNCOMPRESSED)
    table = YcsbTable(name="cells2k", rows=cells.rows, value_bytes=CELL_BYTES)
    family = TableFamily(name=table.family, compression="NONE", block_bytes=cells.workload.block_bytes)
    small = lab.with_measured_blocks(table, cells, family).miniature
    cache_mib, even = small.sized(SHARE), popularity_of(small, UNIFORM)
    ours: Mapping[str, str | None] = {
        "hbase.bucketcache.bucket.sizes": ",".join(map(str, small.demand.sizes)),
        "hbase.blockcache.minblocksize": str(round(small.demand.blocks.cached_bytes)),
    }
    ratios: dict[str, list[float]] = {}
    charts: list[Chart] = []
    hits: list[Measurement] = []
    capacities: list[Measurement] = []
    slots: list[Measurement] = []
    for case, settings, sizes in (
        ("EMR's defaults", EMR_DEFAULTS, DEFAULT_BUCKET_SIZES),
        (PUBLISHED, RECIPE, DEFAULT_BUCKET_SIZES),
        ("our plan", ours, small.demand.sizes),
    ):
        overlay = varied({**settings, "hbase.bucketcache.size": str(cache_mib)}, WHY)
        bench.serve(LabServer(varied=overlay), cold=True)
        warming = hit_ratios(bench.measure(table, lab.quick(WARMING_SECONDS)).samples)
        bench.settle(table, lab.quick(SETTLING_SECONDS), TURNOVERS * small.demand.blocks.count)
        charts.append(over_time(f"Hit ratio while it fills: {case}", "hit ratio", [("measured", warming)]))
        cached = bench.sample(0.0).cache
        slots.append(
            Measurement(
                case=case,
                name="slot of a block",
                unit="B",
                measured=cached.l2_bytes / max(1, cached.l2_blocks),
                predicted=slot_bytes(small, cache_mib, sizes),
                because="mean of occupied slots; the prediction assumes that short and long blocks are cached in their "
                "proportions",
            )
        )
        windows = [bench.measure(table, replace(lab.quick(lab.seconds), seed=seed)) for seed in SEEDS]
        swing = swing_of(small, cache_mib, sizes)
        capacities.append(
            Measurement(
                case=case,
                name="blocks held in these windows",
                measured=mean(sample.cache.l2_blocks for window in windows for sample in window.samples),
                predicted=(swing.full_blocks + swing.blocks_after_eviction) / 2,
                because="the middle between the start and the end of an eviction; more where the disk syncs slowly, "
                "because blocks in the writers' queues are read from there",
            )
        )
        ratios[case] = [window.hit_ratio for window in windows]
        hits += [
            Measurement(
                case=f"{case}, seed {seed}",
                name="hit ratio",
                measured=ratio,
                predicted=expected_hit_ratio(small, even, cache_mib, sizes),
                because="Che's approximation for the blocks that fit with this list of bucket sizes; all blocks have "
                "one length",
                target=within_difference(0.02),
            )
            for seed, ratio in zip(SEEDS, ratios[case], strict=True)
        ]
    predicted = expected_hit_ratio(small, even, cache_mib, small.demand.sizes)
    predicted_recipe = expected_hit_ratio(small, even, cache_mib, DEFAULT_BUCKET_SIZES)
    compared = Measurement(
        case=f"our plan against the published recipe, worst of {len(SEEDS)} seeds",
        name="bytes hit",
        unit="x",
        measured=min(mine / theirs for mine, theirs in zip(ratios["our plan"], ratios[PUBLISHED], strict=True)),
        predicted=predicted / predicted_recipe,
        because="the same disk, with slots that fit the blocks",
        target=at_least(BETTER),
    )
    return ScenarioResult(
        figures=(*hits, compared, *capacities, *slots),
        charts=tuple(charts),
        limits=(
            f"A cache of {cache_mib} MiB for {SHARE:.0%} of the blocks; reads are uniform, so that no block is hot.",
        ),
    )


COMPRESSED_TITLE: Final = "Compressed data, cached compressed or not"
COMPRESSED_QUESTION: Final = "What does caching compressed blocks gain, and what does decompressing each hit cost?"
RATIO: Final = 3.0

COMPRESSED_SETTLING_SECONDS: Final = 180.0
COMPRESSED_TURNOVERS: Final = 8.0
"""The reads, in multiples of the table's blocks, until the cache is steady: 1 in 3,000 is then still unread."""


def run_compressed(lab: Experiment) -> ScenarioResult:
    """Run the same cache, half as large as the decompressed blocks, with compressed and with decompressed blocks.

    The blocks are those in the cache; decompressed, they have as many bytes as the lab's data.
    """
    bench, data_bytes = lab.bench, lab.miniature.workload.stored_bytes
    packed = lab.scaled(data_bytes / RATIO, codec="zstd", compression_ratio=RATIO, encoding="NONE")
    plain = lab.scaled(**UNCOMPRESSED)
    table = YcsbTable(name="words", rows=plain.rows, value_bytes=lab.table.value_bytes, compressible=RATIO)
    family = TableFamily(name=table.family, compression="ZSTD", block_bytes=plain.workload.block_bytes)
    cache_mib = plain.sized(SHARE)
    figures: list[Measurement] = []
    for case, scaled, keeps in (("cached compressed", packed, "true"), ("cached decompressed", plain, "false")):
        small = lab.with_measured_blocks(table, scaled, family).miniature
        demand = small.demand
        settings = {
            "hbase.block.data.cachecompressed": keeps,
            "hbase.bucketcache.size": str(cache_mib),
            "hbase.bucketcache.bucket.sizes": ",".join(map(str, demand.sizes)),
            "hbase.blockcache.minblocksize": str(round(demand.blocks.cached_bytes)),
            "hbase.rs.prefetchblocksonopen": "false",
        }
        bench.serve(LabServer(varied=varied(settings, "varied here")), cold=True)
        bench.settle(table, lab.quick(COMPRESSED_SETTLING_SECONDS), COMPRESSED_TURNOVERS * demand.blocks.count)
        window = bench.measure(table, lab.load())
        cached = bench.sample(0.0).cache
        figures += [
            *performance_figures(case, window, "reads of the same keys"),
            Measurement(
                case=case,
                name="hit ratio",
                measured=window.hit_ratio,
                predicted=expected_hit_ratio(small, popularity_of(small, UNIFORM), cache_mib, demand.sizes),
                because=f"{cache_mib} MiB for blocks of {demand.blocks.cached_bytes:,.0f} B in the cache",
                target=within_difference(0.02),
            ),
            Measurement(
                case=case,
                name="slot of a block",
                unit="B",
                measured=cached.l2_bytes / max(1, cached.l2_blocks),
                predicted=slot_bytes(small, cache_mib, demand.sizes),
                because="mean of occupied slots",
            ),
        ]
    return ScenarioResult(
        figures=tuple(figures),
        limits=(
            f"Values consist of words that ZSTD compresses about {RATIO:.0f}:1; your data compresses differently.",
        ),
    )
