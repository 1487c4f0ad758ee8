"""A table whose blocks HBase does not cache: it costs the others no hits, and S3 answers all of its reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import SYSTEM, WORLD, gp3_volume, with_core, with_targets
from tests.sizing.test_several_tables import SCANNED, WIDE, figures, of, table
from warmbase.ground.units import GIB, TIB
from warmbase.sizing.calculator import explanations, plan
from warmbase.sizing.modes import HDFS, S3_PLAIN
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.search.alternatives import tables_with_cost
from warmbase.sizing.search.search import search
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.popularity import UNIFORM, Zipf
from warmbase.sizing.workload.workload import OpenLoad, Reads, Workload, stored_blocks

USERS = table("users", stored_bytes=100 * GIB)
ORDERS = table("orders", popularity=UNIFORM, stored_bytes=200 * GIB)


def uncached(workload: Workload) -> Workload:
    return replace(workload, cached=False)


def inputs(*tables: Workload) -> SizingInputs:
    return SizingInputs.new(of(*tables), WORLD)


@given(
    cache_bytes=st.integers(GIB, 400 * GIB),
    stored_bytes=st.integers(GIB, 10 * TIB),
    per_second=st.floats(0.001, 10_000),
)
def test_it_costs_the_other_tables_no_hits(cache_bytes: int, stored_bytes: int, per_second: float) -> None:
    added = uncached(replace(WIDE, stored_bytes=stored_bytes, reads=Reads(load=OpenLoad(reads_per_second=per_second))))
    with_it, without = inputs(USERS, added, ORDERS), inputs(USERS, ORDERS)
    assert with_it.demand.sizes == without.demand.sizes
    assert with_it.demand.everything_bytes == without.demand.everything_bytes
    ratio = without.demand.hit_ratio(cache_bytes)
    assert with_it.demand.hit_ratio(cache_bytes) == ratio
    users, documents, orders = with_it.tables_in_cache(ratio)
    assert (users, orders) == without.tables_in_cache(ratio)
    assert documents == (0.0, 0.0)


def test_without_reads_it_changes_nothing_about_the_cache() -> None:
    unread = replace(SCANNED, reads=replace(SCANNED.reads, load=OpenLoad(reads_per_second=0)), write_bytes_per_second=0)
    with_it, without = plan(of(USERS, uncached(unread)), WORLD), plan(of(USERS), WORLD)
    assert with_it.bucket_cache == without.bucket_cache
    assert with_it.persistence == without.persistence
    # The network and the cores are not shared in quite the same way, because there are more regions.
    assert with_it.warm_up.prefetch_seconds == pytest.approx(without.warm_up.prefetch_seconds, rel=0.01)
    assert with_it.hit_ratio == without.hit_ratio
    assert with_it.s3.gets_per_hour_warm == pytest.approx(without.s3.gets_per_hour_warm)


@pytest.mark.parametrize("other", [SCANNED, WIDE, ORDERS], ids=lambda other: other.name)
@pytest.mark.parametrize("hit_ratio", [0.8, 0.99])
def test_s3_answers_all_of_its_reads_and_the_others_meet_the_target(other: Workload, hit_ratio: float) -> None:
    """All tables together may need fewer GETs than if it were cached, because its blocks would evict theirs."""
    left = plan(with_targets(of(USERS, uncached(other)), hit_ratio=hit_ratio), WORLD)
    assert left.hit_ratio.predicted >= hit_ratio
    users, not_cached = left.tables
    assert (users.cached, not_cached.cached) == (True, False)
    assert (not_cached.hit_ratio, not_cached.cached_bytes) == (0.0, 0.0)
    assert not_cached.gets_per_second == pytest.approx(not_cached.reads_per_second * stored_blocks(other).per_read)
    assert sum(one.gets_per_second for one in left.tables) * 3600 == pytest.approx(left.s3.gets_per_hour_warm)


def test_its_latency_is_that_of_s3_and_its_hit_ratio_causes_no_warning() -> None:
    sized = plan(of(USERS, uncached(SCANNED)), WORLD)
    _, events = sized.tables
    # A scan of 300 rows reads 10 blocks, one after the other, each with S3's first byte.
    assert events.p50_latency_ms > 1_000
    assert not [warning for warning in sized.warnings if "a hit ratio of" in warning.message]


def test_its_reads_fill_no_slots_of_the_cache() -> None:
    """Its blocks take up the network from S3, but no throughput of the cache's volumes."""
    cached, left = inputs(USERS, SCANNED), inputs(USERS, uncached(SCANNED))
    share = left.demand.blocks.read_shares[0]
    assert left.read.cacheable == pytest.approx(share)
    assert cached.read.cacheable == 1.0
    assert left.read.blocks == cached.read.blocks
    assert left.read.cached_length_bytes == left.table_reads[0].read.cached_length_bytes


def test_the_peak_hour_may_read_it_more() -> None:
    load = OpenLoad(reads_per_second=1, peak_reads_per_second=60)
    rare = uncached(replace(SCANNED, reads=replace(SCANNED.reads, load=load)))
    result = search(SizingInputs.new(of(USERS, rare), WORLD))
    candidate = result.best.candidate
    servers, busiest = candidate.survivors, candidate.inputs.at_peak
    users, _ = candidate.inputs.table_hit_ratios(candidate.hit_ratio(servers))
    gets = next(one.demand_per_read for one in candidate.resources(servers) if one.name == "s3-requests")
    share = busiest.demand.blocks.read_shares[0]
    assert share < 0.7
    assert gets == pytest.approx(busiest.read.blocks * (1 - share * users))
    explained = explanations(candidate, result)["peak.p99_latency_ms"].inputs["hit_ratio"].value
    assert explained == pytest.approx(share * candidate.hit_ratio(candidate.count))


@pytest.mark.parametrize("mode", [HDFS, S3_PLAIN], ids=str)
def test_without_a_bucket_cache_it_is_a_table_like_any_other(mode: object) -> None:
    def sized(needs: Requirements) -> Plan:
        return plan(with_targets(replace(needs, mode=mode), hit_ratio=0.5), WORLD)

    one, other = sized(of(USERS, uncached(ORDERS))), sized(of(USERS, ORDERS))
    assert figures(one) == figures(other)
    assert one.tables == other.tables


def test_the_costs_of_tables_beside_it() -> None:
    needs = with_targets(of(USERS, ORDERS, uncached(SCANNED)), hit_ratio=0.9)
    sized = plan(needs, WORLD)
    costs = {one.name: one.usd_per_month for one in tables_with_cost(needs, WORLD, sized)}
    assert all(cost is not None and 0 <= cost < sized.cost.usd_per_month for cost in costs.values())
    only = with_targets(of(USERS, uncached(SCANNED)), hit_ratio=0.9)
    assert tables_with_cost(only, WORLD, plan(only, WORLD))[0].usd_per_month is not None


def test_a_pinned_cache_holds_more_of_the_others() -> None:
    pinned = {"type": "r8g.2xlarge", "count": 3, "volumes": (gp3_volume("cache", 200), SYSTEM)}
    both = plan(with_core(of(table("users"), SCANNED), **pinned), WORLD)
    alone = plan(with_core(of(table("users"), uncached(SCANNED)), **pinned), WORLD)
    assert alone.tables[0].hit_ratio > both.tables[0].hit_ratio + 0.01


def test_the_hottest_rows_of_it_are_in_no_memory() -> None:
    """So its blocks spread over RegionServers as unevenly as its requests do."""
    skewed = replace(ORDERS, popularity=Zipf(theta=1.2), spread="hashed", regions=40)
    of_cached, busiest = (inputs(one).imbalance(8) for one in (skewed, uncached(skewed)))
    assert busiest.requests == of_cached.requests
    assert busiest.blocks == pytest.approx(busiest.requests)
    assert busiest.blocks > 1.1 * of_cached.blocks
