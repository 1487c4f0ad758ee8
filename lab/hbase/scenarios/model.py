"""The calculator's cache model against the real cache: blocks held, hit ratios, GETs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lab.hbase.cluster import Server
from lab.hbase.experiment import Experiment, Findings, within
from lab.hbase.overlay import Overlay, varied
from lab.hbase.result import Chart, Figure, Kind, Series, Target
from sizing.expectation import expected_hit_ratio, swing_of
from sizing.popularity import UNIFORM, YCSB_RANKS, RowPopularity, Zipf, hot_set

__all__ = ["QUESTION", "TITLE", "run"]

TITLE: Final = "The cache model against the real cache"
QUESTION: Final = (
    "Are blocks held, hit ratios and GETs what the calculator says, at five cache sizes and three popularities?"
)
SHARES: Final = (0.2, 0.35, 0.5, 0.65, 0.8)
HOT: Final = (0.1, 0.9)
FILLING_SECONDS: Final = 240.0
SETTLING_SECONDS: Final = 120.0
SETTLED: Final = 1.5
"""Of the table's blocks, asked for in a new way until the cache holds what is asked for so."""
NEARLY_FULL: Final = 0.96
SLOW_PER_SECOND: Final = 80.0
TOPPING_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A popularity, as YCSB draws it and as the calculator states it."""

    name: str
    distribution: str
    rows: RowPopularity
    hot: tuple[float, float] | None = None


READINGS: Final = (
    Reading(name="uniform", distribution="uniform", rows=UNIFORM),
    Reading(name="zipfian", distribution="zipfian", rows=Zipf(theta=0.99, ranks=YCSB_RANKS)),
    Reading(name="hot set", distribution="hotspot", rows=hot_set(rows_fraction=HOT[0], reads_fraction=HOT[1]), hot=HOT),
)


def run(lab: Experiment) -> Findings:
    """Each cache size from empty: filled until the first eviction, then read in three ways until nothing changes."""
    figures: list[Figure] = []
    measured: dict[str, list[tuple[float, float]]] = {reading.name: [] for reading in READINGS}
    lab.filled()
    for share in SHARES:
        cache_mib = lab.miniature.sized(share)
        lab.bench.serve(Server(varied=_cold(cache_mib)), cold=True)
        figures.append(_held(lab, share, cache_mib))
        for reading in READINGS:
            found = _read(lab, share, cache_mib, reading)
            figures += found
            measured[reading.name].append((share, float(found[0].measured)))
    return Findings(
        figures=tuple(figures),
        charts=tuple(_chart(lab, reading, tuple(measured[reading.name])) for reading in READINGS),
        limits=("S3 answers at once here, so that misses are many; which blocks are found does not depend on it.",),
    )


def _cold(cache_mib: int) -> Overlay:
    settings = {"hbase.bucketcache.size": str(cache_mib), "hbase.rs.prefetchblocksonopen": "false"}
    return varied(settings, "the cache size that is tried")


def _held(lab: Experiment, share: float, cache_mib: int) -> Figure:
    """The most blocks seen before the first eviction; the last few are read slowly, so that none are missed."""
    bench, sizes = lab.bench, lab.miniature.demand.sizes
    predicted = swing_of(lab.miniature, cache_mib, sizes).full_blocks
    clients = bench.ycsb.start(lab.table, lab.quick(FILLING_SECONDS), "ycsb-filling")
    try:
        bench.wait_until(lambda now: now.l2_blocks >= NEARLY_FULL * predicted, FILLING_SECONDS)
    finally:
        clients.kill()
    slow = lab.load(seconds=TOPPING_SECONDS, target_per_second=SLOW_PER_SECOND)
    clients = bench.ycsb.start(lab.table, slow, "ycsb-topping")
    try:
        with bench.sampled(0.25) as samples:
            bench.wait_until(lambda now: now.l2_evictions > 0, TOPPING_SECONDS)
    finally:
        clients.kill()
    return Figure(
        case=f"cache of {share:g} of the data",
        name="blocks held before the first eviction",
        unit="",
        measured=float(max((each.cache.l2_blocks for each in samples), default=0)),
        predicted=predicted,
        because="HBase's allocator, bucket by bucket",
        target=within(0.005),
    )


def _read(lab: Experiment, share: float, cache_mib: int, reading: Reading) -> list[Figure]:
    load = lab.load(threads=16, distribution=reading.distribution, hot=reading.hot)
    settling = lab.quick(SETTLING_SECONDS, distribution=reading.distribution, hot=reading.hot)
    lab.bench.settle(lab.table, settling, SETTLED * lab.miniature.demand.blocks.count)
    window = lab.bench.measure(lab.table, load)
    predicted = expected_hit_ratio(lab.miniature, reading.rows, cache_mib, lab.miniature.demand.sizes)
    case = f"cache of {share:g} of the data, {reading.name}"
    return [
        Figure(
            case=case,
            name="hit ratio",
            unit="",
            measured=window.hit_ratio,
            predicted=predicted,
            because="Che's approximation over the swing between evictions",
            target=Target(kind=Kind.WITHIN_DIFFERENCE, bound=0.02),
        ),
        Figure(
            case=case,
            name="GETs",
            unit="",
            measured=float(window.gets),
            predicted=(1 - predicted) * window.measured.reads * lab.miniature.demand.blocks.per_read,
            because="one for each block that is not found",
            target=within(0.05),
        ),
    ]


def _chart(lab: Experiment, reading: Reading, measured: tuple[tuple[float, float], ...]) -> Chart:
    sizes = lab.miniature.demand.sizes
    drawn = tuple(
        (share / 20, expected_hit_ratio(lab.miniature, reading.rows, lab.miniature.sized(share / 20), sizes))
        for share in range(2, 21)
    )
    return Chart(
        title=f"Hit ratio by cache size, {reading.name}",
        x="cache, as a share of what holds all data",
        y="hit ratio",
        series=(Series(name="measured", points=measured), Series(name="predicted", points=drawn)),
    )
