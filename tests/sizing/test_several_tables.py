"""Several tables in one cache: each table's hits, the load of all, and what a plan buys for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, SYSTEM, WORLD, gp3_volume, with_core, with_targets
from tests.sizing.replay import Replay
from tests.tiers import quick_where
from warmbase.ground.block import LengthHistogram
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.sizing.cache.bucket_sizes import BucketAllocator, bucket_sizes
from warmbase.sizing.cache.hit_ratio import OccupancyRange, hit_ratio, table_curves
from warmbase.sizing.calculator import plan
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.search.alternatives import tables_with_cost
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.search import search
from warmbase.sizing.service.inputs import CellSizes, SizingInputs
from warmbase.sizing.service.performance import READS, mixed_percentiles, slowest_of
from warmbase.sizing.service.resource import resources
from warmbase.sizing.workload.popularity import (
    UNIFORM,
    Popularity,
    RowPopularity,
    Spread,
    Zipf,
    block_popularity,
    hot_set,
    mixed_popularity,
)
from warmbase.sizing.workload.read import Hits
from warmbase.sizing.workload.workload import ClosedLoad, OpenLoad, Reads, Workload, stored_blocks

WARMING_READS, READS_COUNTED = 150_000, 60_000
POPULARITIES: dict[str, RowPopularity] = {
    "uniform": UNIFORM,
    "zipf 0.7": Zipf(theta=0.7),
    "zipf 0.99": Zipf(theta=0.99),
    "hot set": hot_set(rows_fraction=0.1, reads_fraction=0.9),
}


class Blocks(Struct, frozen=True, dict=True):
    """The blocks of a table in a replay: their number and length, their popularity, and its share of the reads."""

    count: int
    length_bytes: int
    popularity: str
    share: float


MIXTURES: dict[str, tuple[Blocks, ...]] = {
    "equal blocks": (Blocks(2_000, 66_000, "zipf 0.99", 0.7), Blocks(3_000, 66_000, "uniform", 0.3)),
    "small hot ones": (Blocks(2_000, 66_000, "zipf 0.99", 0.7), Blocks(3_000, 132_000, "uniform", 0.3)),
    "large hot ones": (Blocks(1_500, 132_000, "hot set", 0.8), Blocks(4_000, 33_000, "uniform", 0.2)),
    "three tables": (
        Blocks(1_500, 17_000, "hot set", 0.5),
        Blocks(1_500, 66_000, "zipf 0.7", 0.3),
        Blocks(1_500, 132_000, "uniform", 0.2),
    ),
}


@cache
def trace(name: str) -> tuple[list[int], list[int], list[int]]:
    """Return the reads by block, and the length and the table of each block."""
    rng = np.random.default_rng(7)
    weights, lengths, tables = [], [], []
    for number, table in enumerate(MIXTURES[name]):
        of_rank = np.diff(POPULARITIES[table.popularity].reads_of_hottest(np.arange(table.count + 1.0), table.count))
        weights.append(rng.permutation(of_rank) / of_rank.sum() * table.share)
        lengths += [table.length_bytes] * table.count
        tables += [number] * table.count
    chances = np.concatenate(weights)
    reads: list[int] = rng.choice(len(chances), size=WARMING_READS + READS_COUNTED, p=chances / chances.sum()).tolist()
    return reads, lengths, tables


@pytest.mark.parametrize("promotes", [False, True], ids=["2.6.0-2.6.4", "2.6.5+"])
@pytest.mark.parametrize("share", quick_where(lambda share: share == 0.4, [0.2, 0.4, 0.6, 0.8]))
@pytest.mark.parametrize("name", MIXTURES)
def test_the_hit_ratio_of_each_table_agrees_with_the_replayed_cache(name: str, share: float, *, promotes: bool) -> None:
    mixture, (reads, lengths, tables) = MIXTURES[name], trace(name)
    histogram = LengthHistogram.of([(table.length_bytes, table.count) for table in mixture])
    allocator = BucketAllocator(capacity_bytes=int(share * histogram.total_bytes), sizes=bucket_sizes(histogram))
    cached = Replay(allocator, inserts_single=promotes)
    cached.replay(reads[:WARMING_READS], lengths)
    hits, total = np.zeros(len(mixture)), np.zeros(len(mixture))
    for block in reads[WARMING_READS:]:
        hits[tables[block]] += cached.read(block, lengths[block])
        total[tables[block]] += 1

    popularity = mixed_popularity(
        [block_popularity(POPULARITIES[table.popularity], table.count, 1) for table in mixture],
        [table.share for table in mixture],
        [table.length_bytes for table in mixture],
    )
    swing = OccupancyRange.of(allocator, histogram, promotes=promotes)
    predicted = table_curves(popularity, swing, np.ones(1))
    assert 100 * predicted.tables[0] == pytest.approx(100 * hits / total, abs=1.5)
    assert 100 * hit_ratio(popularity, swing) == pytest.approx(100 * hits.sum() / total.sum(), abs=1.0)


def mixtures() -> st.SearchStrategy[Popularity]:
    table = st.tuples(
        st.sampled_from(list(POPULARITIES.values())),
        st.floats(1e3, 1e8),
        st.floats(0.05, 100),
        st.floats(0.01, 1),
        st.floats(8e3, 1e6),
    )
    return st.lists(table, min_size=2, max_size=4).map(mixture_of)


def mixture_of(tables: Sequence[tuple[RowPopularity, float, float, float, float]]) -> Popularity:
    shares = [share for *_, share, _ in tables]
    return mixed_popularity(
        [block_popularity(rows, blocks, rows_per_block) for rows, blocks, rows_per_block, _, _ in tables],
        [share / sum(shares) for share in shares],
        [length for *_, length in tables],
    )


@given(popularity=mixtures(), share=st.floats(0.01, 1.1), promotes=st.booleans())
def test_the_hits_of_the_tables_are_those_of_the_cache(popularity: Popularity, share: float, *, promotes: bool) -> None:
    full = share * popularity.total_blocks
    swing = OccupancyRange(
        full_blocks=full, blocks_after_eviction=0.85 * full, room_blocks=full / 0.95, promotes=promotes
    )
    curves = table_curves(popularity, swing, np.array([0.0, 0.5, 1.0]))
    reads = popularity.by_table(popularity.weights * popularity.blocks)
    assert curves.tables @ reads == pytest.approx(curves.ratios, abs=0.003 if promotes else 1e-6)
    assert curves.ratios[2] == pytest.approx(hit_ratio(popularity, swing), abs=1e-9)
    assert np.all((curves.tables >= 0) & (curves.tables <= 1))
    assert np.all(curves.cached <= popularity.by_table(popularity.claims) * (1 + 1e-9))


def test_large_blocks_that_are_read_often_leave_a_small_cache_soon_where_reads_promote() -> None:
    """In a cache for a twentieth of the blocks, no block stays for as many reads as the cache holds blocks."""
    popularity = mixture_of([(UNIFORM, 2_000, 1.0, 0.8, 909_000), (UNIFORM, 62_000, 1.0, 0.2, 12_500)])
    full = 0.05 * popularity.total_blocks
    swing = OccupancyRange(full_blocks=full, blocks_after_eviction=0.85 * full, room_blocks=full / 0.95, promotes=True)
    curves = table_curves(popularity, swing, np.ones(1))
    assert curves.cached.sum() == pytest.approx(0.925 * full, rel=0.001)
    assert curves.tables[0] @ [0.8, 0.2] == pytest.approx(hit_ratio(popularity, swing))


def table(name: str, **changes: object) -> Workload:
    given_ = Workload(
        name=name,
        stored_bytes=TIB,
        block_bytes=64 * KIB,
        cell_bytes=400,
        row_bytes=4 * KIB,
        codec="none",
        compression_ratio=1.0,
        encoding="NONE",
        reads=Reads(load=OpenLoad(reads_per_second=1_000)),
        write_bytes_per_second=MIB,
        popularity=Zipf(theta=0.99),
        regions=120,
        inspection=None,
        spread="even",
    )
    return replace(given_, **changes)


SCANS = Reads(load=OpenLoad(reads_per_second=20), kind="scan", rows=300)
SCANNED = table("events", block_bytes=128 * KIB, popularity=UNIFORM, reads=SCANS, write_bytes_per_second=4 * MIB)
WIDE = table("documents", cell_bytes=30 * KIB, row_bytes=200 * KIB, codec="zstd", compression_ratio=3.0)


def of(*tables: Workload) -> Requirements:
    return replace(RELAXED, workload=Workload.of(tables))


def figures(sized: Plan) -> tuple[object, ...]:
    return sized.core.instance_type, sized.core.count, sized.core.volumes


def test_two_halves_of_a_table_are_planned_as_the_table() -> None:
    whole = table("users", popularity=UNIFORM)
    half = replace(
        whole,
        stored_bytes=TIB // 2,
        regions=60,
        reads=Reads(load=OpenLoad(reads_per_second=500)),
        write_bytes_per_second=MIB // 2,
    )
    alone, halves = (
        plan(replace(RELAXED, workload=whole), WORLD),
        plan(of(replace(half, name="a"), replace(half, name="b")), WORLD),
    )
    assert figures(halves) == figures(alone)
    assert halves.cost.usd_per_month == pytest.approx(alone.cost.usd_per_month, rel=1e-3)
    assert halves.throughput.p99_latency_ms == pytest.approx(alone.throughput.p99_latency_ms, rel=0.02)
    assert [one.hit_ratio for one in halves.tables] == pytest.approx([alone.hit_ratio.predicted] * 2, abs=1e-3)


def test_an_only_table_is_planned_as_a_workload() -> None:
    alone, only = plan(replace(RELAXED, workload=table("")), WORLD), plan(of(table("users")), WORLD)
    assert figures(only) == figures(alone)
    assert only.cost.usd_per_month == pytest.approx(alone.cost.usd_per_month, rel=1e-4)
    assert only.throughput.p99_latency_ms == pytest.approx(alone.throughput.p99_latency_ms, rel=1e-3)


def test_the_order_of_tables_does_not_matter() -> None:
    one, other = plan(of(table("users"), SCANNED, WIDE), WORLD), plan(of(WIDE, table("users"), SCANNED), WORLD)
    assert figures(one) == figures(other)
    assert one.cost.usd_per_month == pytest.approx(other.cost.usd_per_month)
    ratios = {planned.name: planned.hit_ratio for planned in other.tables}
    assert all(planned.hit_ratio == pytest.approx(ratios[planned.name]) for planned in one.tables)


@pytest.mark.parametrize("added", [SCANNED, WIDE], ids=lambda added: added.name)
def test_one_more_table_never_costs_less_if_the_others_keep_their_hits(added: Workload) -> None:
    both = plan(of(table("users"), added), WORLD)
    kept = with_targets(of(table("users")), hit_ratio=both.tables[0].hit_ratio * 0.999)
    assert both.cost.usd_per_month >= plan(kept, WORLD).cost.usd_per_month


def test_memory_has_room_for_the_small_blocks_of_a_hot_table() -> None:
    """A warm cache holds the hot table, although nearly all stored blocks are large ones."""
    hot = table("users", stored_bytes=300 * GIB, block_bytes=8 * KIB, row_bytes=KIB)
    cold = table(
        "archive",
        stored_bytes=20 * TIB,
        block_bytes=128 * KIB,
        reads=Reads(load=OpenLoad(reads_per_second=0.1)),
        write_bytes_per_second=0,
    )
    alone, both = (SizingInputs.new(of(*tables), WORLD).demand for tables in ([hot], [hot, cold]))
    servers, half = 4, 100 * GIB // MIB
    assert both.blocks_cached(half, servers) == pytest.approx(alone.blocks_cached(half, servers), rel=0.1)
    assert both.blocks_prefetched(half, servers) < 0.2 * both.blocks_cached(half, servers)
    everything = math.ceil(both.everything_bytes / servers / MIB)
    assert both.blocks_cached(everything, servers) == pytest.approx(both.blocks.count / servers, rel=1e-6)
    without_cold, with_cold = plan(of(hot), WORLD), plan(of(hot, cold), WORLD)
    assert with_cold.cost.usd_per_month > without_cold.cost.usd_per_month


@pytest.mark.parametrize("spread", ["even", "hashed"])
def test_many_tables_of_few_regions_spread_as_one_table_of_all_regions(spread: Spread) -> None:
    """HBase's balancer evens out the number of regions over all tables."""
    parts, rows = 12, UNIFORM
    whole = table("", spread=spread, popularity=rows, regions=parts)
    load = Reads(load=OpenLoad(reads_per_second=1_000 / parts))
    tables = [
        table(f"t{number}", spread=spread, popularity=rows, regions=1, stored_bytes=TIB // parts, reads=load)
        for number in range(parts)
    ]
    one = SizingInputs.new(replace(RELAXED, workload=whole), WORLD)
    several = SizingInputs.new(of(*tables), WORLD)
    for servers in (2, 5, 8, 12, 30):
        assert several.imbalance(servers).requests == pytest.approx(one.imbalance(servers).requests, rel=0.05)
        assert several.imbalance(servers).blocks == pytest.approx(one.imbalance(servers).blocks, rel=0.05)


def test_lengths_of_wide_cells_are_merged() -> None:
    wide = [table(f"t{cell}", cell_bytes=cell * KIB, row_bytes=cell * KIB) for cell in (1, 9, 21, 65)]
    lengths = stored_blocks(Workload.of(wide)).lengths
    parts = [stored_blocks(one) for one in wide]
    mean = sum(part.count * part.cached_bytes for part in parts) / sum(part.count for part in parts)
    assert len(lengths.pairs) <= 400
    assert lengths.largest_bytes == max(part.lengths.largest_bytes for part in parts)
    assert mean <= lengths.mean_bytes <= 1.01 * mean


def test_a_table_outside_a_target_is_named() -> None:
    sized = plan(with_targets(of(table("users", stored_bytes=100 * GIB), SCANNED), p99_seconds=0.05), WORLD)
    slow = {one.name for one in sized.tables if one.p99_latency_ms > 50 or one.hit_ratio < 0.95}
    assert slow == {"events"}
    assert {warning.id for warning in sized.warnings if warning.id.startswith("table-")} == {"table-events"}


def test_a_hot_table_keeps_its_hits_beside_one_that_is_scanned() -> None:
    few = with_core(
        of(table("users", stored_bytes=100 * GIB), SCANNED),
        type="r8g.2xlarge",
        count=3,
        volumes=(gp3_volume("cache", 200), SYSTEM),
    )
    sized = plan(few, WORLD)
    users, events = sized.tables
    assert users.hit_ratio > 0.97
    assert events.hit_ratio < 0.6
    assert users.cached_bytes + events.cached_bytes <= sized.cache.size_bytes * sized.core.count
    gets = sum(one.gets_per_second for one in sized.tables)
    assert gets * 3600 == pytest.approx(sized.s3.gets_per_hour_warm, rel=1e-6)


def best(requirements: Requirements) -> Candidate:
    return search(SizingInputs.new(requirements, WORLD)).best.candidate


@pytest.mark.parametrize("tables", [(table("users"), SCANNED), (WIDE, SCANNED), (table("users"), WIDE, SCANNED)])
@pytest.mark.parametrize("hit_ratio", [0.7, 0.95])
def test_the_mean_read_takes_what_the_reads_of_all_tables_take(tables: tuple[Workload, ...], hit_ratio: float) -> None:
    """Only the length of a missing block is a mean at the target hit ratio, so it is not exact at other ratios."""
    candidate = best(with_targets(of(*tables), hit_ratio=hit_ratio))
    inputs, cluster = candidate.inputs, replace(candidate.cluster(candidate.count))
    ratios = inputs.table_hit_ratios(hit_ratio)
    mean = {
        one.name: one.demand_per_read for one in resources(cluster, inputs.read, Hits(ratio=hit_ratio), inputs.timings)
    }
    summed = dict.fromkeys(mean, 0.0)
    for part, ratio in zip(inputs.table_reads, ratios, strict=True):
        for one in resources(cluster, part.read, Hits(ratio=ratio), part.timings):
            summed[one.name] += part.share * one.demand_per_read
    for name in ("cpu", "s3-requests"):
        assert mean[name] == pytest.approx(summed[name], rel=0.01)
    for name in set(mean) - {"cpu", "s3-requests", "network", "handlers"}:
        assert mean[name] == pytest.approx(summed[name], rel=0.05)
    # Either direction of the network may be the busier one, and it may differ between tables.
    assert mean["network"] <= summed["network"] * 1.02


def test_the_peak_hour_has_its_own_mixture() -> None:
    """A table that is read in one hour only decides the capacity for that hour, but hardly the GETs of a month."""
    load = OpenLoad(reads_per_second=1, peak_reads_per_second=2_000)
    rare = table("reports", row_bytes=600 * KIB, reads=Reads(load=load))
    usual = best(of(table("users")))
    peaked = best(of(table("users"), rare))
    assert peaked.inputs.at_peak.read.blocks > 3 * peaked.inputs.read.blocks
    assert peaked.count * peaked.instance.vcpus > usual.count * usual.instance.vcpus
    servers, busiest = peaked.survivors, peaked.inputs.at_peak
    ratios = peaked.inputs.table_hit_ratios(peaked.hit_ratio(servers))
    hits = Hits(ratio=float(np.dot(busiest.demand.blocks.read_shares, ratios)))
    limits = resources(peaked.cluster(servers), busiest.read, hits, busiest.timings)
    assert min(one.max_reads_per_second for one in limits) >= 3_000
    assert [one.demand_per_read for one in peaked.resources(servers)] == pytest.approx(
        [one.demand_per_read for one in limits]
    )


def test_the_cache_of_the_peak_hour_is_that_of_the_mean_hour() -> None:
    """It has the blocks that the mean load has brought, although other tables are read in the peak hour."""
    load = OpenLoad(reads_per_second=5, peak_reads_per_second=300)
    few = with_core(
        of(table("users", stored_bytes=100 * GIB), replace(SCANNED, reads=replace(SCANS, load=load))),
        type="r8g.2xlarge",
        count=3,
        volumes=(gp3_volume("cache", 200), SYSTEM),
    )
    candidate = best(few)
    mean, peak = candidate.performance(3), candidate.performance(3, at_peak=True)
    assert [one.hit_ratio for one in peak.paths] == [one.hit_ratio for one in mean.paths]
    ratios, shares = [one.hit_ratio for one in peak.paths], candidate.inputs.at_peak.demand.blocks.read_shares
    gets = next(one.demand_per_read for one in candidate.resources(3) if one.name == "s3-requests")
    missing = 1 - float(np.dot(shares, ratios))
    assert gets == pytest.approx(candidate.inputs.at_peak.read.blocks * missing)


def test_the_means_of_a_workload() -> None:
    users = table("users", stored_bytes=3 * TIB, reads=Reads(load=OpenLoad(reads_per_second=900)))
    both = Workload.of([users, SCANNED])
    assert both.stored_bytes == 4 * TIB
    assert both.load == OpenLoad(reads_per_second=920)
    assert both.regions == 240
    assert both.row_bytes == round((900 * 4 * KIB + 20 * 300 * 4 * KIB) / 920)
    assert both.write_bytes_per_second == 5 * MIB
    assert both.codec == "none"
    assert Workload.of([users, WIDE]).codec == "different"
    assert Workload.of([users, WIDE]).compressed
    with pytest.raises(LookupError, match="each table has a popularity of its own"):
        both.popularity.ranks_of(1.0)


def test_the_mean_cell_is_that_of_the_written_cells() -> None:
    both = stored_blocks(Workload.of([table("users"), replace(WIDE, write_bytes_per_second=3 * MIB)]))
    written = 4 * MIB / (MIB / 400 + 3 * MIB / (30 * KIB))
    assert CellSizes.of(both).value_bytes == pytest.approx(written)
    assert both.workload.cell_bytes == round(written)


def test_families_share_the_regions_of_their_table() -> None:
    families = [table("events/a"), table("events/b"), table("users", regions=50)]
    assert Workload.of(families).regions == 170


def test_a_closed_load_does_not_part() -> None:
    with pytest.raises(TypeError, match="open loads only"):
        Workload.of([table("users", reads=Reads(load=ClosedLoad(concurrency=8)))])


@given(factor=st.floats(0.01, 100), peak=st.one_of(st.none(), st.floats(1, 50)))
def test_a_load_keeps_the_shares_of_the_tables(factor: float, peak: float | None) -> None:
    both = Workload.of([table("users"), SCANNED])
    mean = 1_020 * factor
    load = OpenLoad(reads_per_second=mean, peak_reads_per_second=None if peak is None else mean * peak)
    changed = both.with_load(load)
    rates = [part.load.reads_per_second for part in changed.tables if isinstance(part.load, OpenLoad)]
    assert rates == pytest.approx([1_000 * factor, 20 * factor])
    assert isinstance(changed.load, OpenLoad)
    assert changed.load.at_peak.reads_per_second == pytest.approx(load.at_peak.reads_per_second)


def test_a_peak_of_all_tables_is_that_of_the_tables_that_have_one() -> None:
    daily = OpenLoad(reads_per_second=1_000, peak_reads_per_second=3_000, peak_hours=2)
    both = Workload.of([table("users", reads=Reads(load=daily)), SCANNED])
    changed = both.with_load(replace(daily, reads_per_second=1_020, peak_reads_per_second=2_020))
    of_users, of_scanned = (part.load for part in changed.tables)
    assert of_users == replace(daily, peak_reads_per_second=2_000)
    assert of_scanned == SCANNED.load
    assert changed.load == OpenLoad(reads_per_second=1_020, peak_reads_per_second=2_020, peak_hours=2)


def test_percentiles_of_equal_tables_are_those_of_one() -> None:
    seconds = np.random.default_rng(3).lognormal(size=READS)
    one, two = mixed_percentiles([1.0], [seconds]), mixed_percentiles([0.3, 0.7], [seconds, seconds])
    assert two.p99_ms == pytest.approx(one.p99_ms, rel=1e-3)
    assert two.mean_ms == pytest.approx(one.mean_ms)


def test_a_rare_slow_table_is_seen_beyond_its_share() -> None:
    fast, slow = np.full(READS, 0.001), np.full(READS, 1.0)
    assert mixed_percentiles([0.995, 0.005], [fast, slow]).p99_ms == pytest.approx(1)
    assert mixed_percentiles([0.98, 0.02], [fast, slow]).p99_ms == pytest.approx(1000)


def test_the_slowest_of_several_answers() -> None:
    draw = np.random.default_rng(5)
    sampled = slowest_of(draw.exponential(size=READS), 8)
    assert sampled.mean() == pytest.approx(draw.exponential(size=(READS, 8)).max(axis=1).mean(), rel=0.05)


def test_the_cost_of_a_table_is_what_a_cluster_for_the_others_saves() -> None:
    needs = with_targets(of(table("users"), SCANNED), hit_ratio=0.8, p99_seconds=2.0)
    sized = plan(needs, WORLD)
    planned = {one.name: one for one in tables_with_cost(needs, WORLD, sized)}
    for name, other in (("users", SCANNED), ("events", table("users"))):
        kept = with_targets(of(other), hit_ratio=0.999 * planned[other.name].hit_ratio, p99_seconds=2.0)
        without = plan(kept, WORLD).cost.usd_per_month
        assert planned[name].usd_per_month == pytest.approx(sized.cost.usd_per_month - without, abs=1.0)
        assert 0 < without < sized.cost.usd_per_month


def test_an_only_table_and_a_pinned_cluster_have_no_cost_of_tables() -> None:
    only = of(table("users"))
    pinned = with_core(of(table("users"), SCANNED), type="r8g.2xlarge", count=8, volumes=plan(only, WORLD).core.volumes)
    for needs in (only, pinned):
        sized = plan(needs, WORLD)
        assert tables_with_cost(needs, WORLD, sized) == sized.tables
        assert {one.usd_per_month for one in sized.tables} == {None}
