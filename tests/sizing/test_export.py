"""An export by a scan takes what the load leaves, and the blocks that are not cached come from S3."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, RELAXED, SYSTEM, WORLD, gp3_volume, with_core, with_targets, with_workload
from warmbase.ground.units import MIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS, S3_PLAIN
from warmbase.sizing.plan import ScanExport
from warmbase.sizing.recovery.export import GETS_TO_OPEN, Copy, eta, scan_exports
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.search.search import search
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.resource import DISK_LATENCY_SECONDS, S3_GETS_PER_SECOND_PER_PREFIX
from warmbase.sizing.workload.popularity import UNIFORM
from warmbase.sizing.workload.read import S3_STREAM_BYTES_PER_SECOND
from warmbase.sizing.workload.workload import ClosedLoad, OpenLoad, Reads, Workload

# 20 workers with 2.5 Gbit/s sustained (m5.2xlarge, recalled) and 8 mappers each.
EXPORT = Copy(
    copied_bytes=20 * 10**12,
    servers=20,
    mappers=160,
    network_bytes_per_second=2.5e9 / 8,
)
copies = st.builds(
    Copy,
    copied_bytes=st.integers(0, 10**16),
    servers=st.integers(1, 200),
    mappers=st.integers(1, 5_000),
    network_bytes_per_second=st.floats(1e7, 1e10),
    disk_bytes_per_second=st.one_of(st.none(), st.floats(1e7, 1e10)),
    replicas=st.integers(1, 3),
)


@pytest.mark.parametrize(
    ("changes", "limit", "bytes_per_second"),
    [
        ({}, "network", 20 * 2.5e9 / 8 * 0.75),
        ({"mappers": 20}, "streams", 20 * 40e6),
        ({"disk_bytes_per_second": 100e6}, "disk", 20 * 100e6),
        ({"disk_bytes_per_second": 100e6, "replicas": 3}, "disk", 20 * 100e6 / 3),
    ],
)
def test_the_slowest_of_network_disks_and_mappers_binds(
    changes: dict[str, float], limit: str, bytes_per_second: float
) -> None:
    result = eta(replace(EXPORT, **changes))
    assert result.limit == limit
    assert result.bytes_per_second == pytest.approx(bytes_per_second)


@pytest.mark.parametrize(("replicas", "seconds", "within"), [(1, 70 * 60, 0.05), (3, 3 * 3_600, 0.2)])
def test_copies_take_the_published_times(replicas: int, seconds: float, within: float) -> None:
    """Published: an export of 20 TB in about 70 minutes, and its restore to three replicas in about 3 hours."""
    assert eta(replace(EXPORT, replicas=replicas)).seconds == pytest.approx(seconds, rel=within)


@given(copies, st.integers(1, 50))
def test_more_of_anything_never_takes_longer(copy: Copy, more: int) -> None:
    seconds = eta(copy).seconds
    assert eta(replace(copy, servers=copy.servers + more)).seconds <= seconds
    assert eta(replace(copy, mappers=copy.mappers + more)).seconds <= seconds
    assert eta(replace(copy, replicas=copy.replicas + more)).seconds >= seconds
    assert eta(replace(copy, copied_bytes=copy.copied_bytes + more)).seconds >= seconds


@given(copies)
def test_rate_times_time_is_what_was_copied(copy: Copy) -> None:
    result = eta(copy)
    assert result.bytes_per_second * result.seconds == pytest.approx(copy.copied_bytes)


SMALL_CACHES = with_core(PINNED, volumes=(gp3_volume("cache", 600, throughput_mib_s=500), SYSTEM))
HALF_CACHED = with_targets(
    with_workload(SMALL_CACHES, reads=replace(RELAXED.workload.reads, load=OpenLoad(reads_per_second=100))),
    hit_ratio=0.3,
)


def exports(requirements: Requirements) -> tuple[ScanExport, ...]:
    return scan_exports(replace(search(SizingInputs.new(requirements, WORLD)).best.candidate, exact=True))


def with_load(requirements: Requirements, load: OpenLoad | ClosedLoad) -> Requirements:
    return with_workload(requirements, reads=replace(requirements.workload.reads, load=load))


def test_every_run_of_blocks_that_are_not_cached_is_a_get() -> None:
    [export] = exports(HALF_CACHED)
    sized = plan(HALF_CACHED, WORLD)
    assert sized.scan_exports == (export,)
    room = sized.cache.size_bytes * sized.core.count / SizingInputs.new(HALF_CACHED, WORLD).demand.everything_bytes
    assert 0.8 * room <= export.cached_fraction <= room < 0.5
    opening = GETS_TO_OPEN * HALF_CACHED.workload.regions
    assert export.gets == pytest.approx((1 - export.cached_fraction) * export.cached_fraction * export.blocks + opening)
    assert export.gets_usd == pytest.approx(export.gets * WORLD.prices.usd("s3-get"))
    assert export.seconds == pytest.approx(export.blocks / export.blocks_per_second)


def test_without_a_cache_a_file_is_one_run_and_hdfs_sends_no_get() -> None:
    [plain] = exports(with_load(replace(RELAXED, mode=S3_PLAIN), OpenLoad(reads_per_second=100)))
    [hdfs] = exports(replace(with_load(RELAXED, OpenLoad(reads_per_second=100)), mode=HDFS))
    assert (plain.cached_fraction, plain.gets) == (0.0, GETS_TO_OPEN * RELAXED.workload.regions)
    assert (hdfs.cached_fraction, hdfs.gets, hdfs.gets_usd) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("reads_per_second", [50.0, 150.0])
def test_load_and_export_together_stay_within_the_planned_utilisation(reads_per_second: float) -> None:
    """Without a cache, each read of the load takes GETs, but the export takes only a few."""
    requirements = with_load(replace(PINNED, mode=S3_PLAIN), OpenLoad(reads_per_second=reads_per_second))
    candidate = search(SizingInputs.new(requirements, WORLD)).best.candidate
    [export] = scan_exports(candidate)
    load = {one.name: reads_per_second / one.max_reads_per_second for one in candidate.resources(candidate.count)}
    assert max(load.values()) < UTILISATION
    gets = reads_per_second * candidate.inputs.read.blocks + export.blocks_per_second * export.gets / export.blocks
    assert gets <= UTILISATION * S3_GETS_PER_SECOND_PER_PREFIX * (1 + 1e-9)
    assert export.gets < 0.01 * export.blocks


@given(loads=st.tuples(st.floats(1, 3_000), st.floats(1, 3_000)).map(sorted))
def test_more_reads_leave_less_to_an_export(loads: list[float]) -> None:
    pinned = with_targets(PINNED, hit_ratio=0.3)
    [fewer], [more] = (exports(with_load(pinned, OpenLoad(reads_per_second=load))) for load in loads)
    assert more.blocks_per_second <= fewer.blocks_per_second * (1 + 1e-9)
    assert more.gets == pytest.approx(fewer.gets, rel=1e-6)


def test_an_export_runs_in_the_quiet_hours_if_they_are_known() -> None:
    daily = OpenLoad(reads_per_second=90, peak_reads_per_second=100, peak_hours=6)
    [quiet], [busy] = (exports(with_load(HALF_CACHED, load)) for load in (daily, replace(daily, peak_hours=None)))
    assert busy.beside_reads_per_second == 100
    assert quiet.beside_reads_per_second == pytest.approx((24 * 90 - 6 * 100) / 18)
    assert quiet.blocks_per_second >= busy.blocks_per_second


def test_a_cluster_at_its_limit_has_nothing_left_and_a_closed_load_leaves_nothing() -> None:
    [export] = exports(with_load(with_targets(PINNED, hit_ratio=0.3), OpenLoad(reads_per_second=1e6)))
    assert (export.blocks_per_second, export.seconds) == (0.0, None)
    assert exports(with_load(PINNED, ClosedLoad(concurrency=100))) == ()


def test_few_regions_limit_an_export() -> None:
    one, many = (exports(with_workload(HALF_CACHED, regions=regions))[0] for regions in (24, 4_000))
    assert one.limit == "regions"
    assert many.limit != "regions"
    assert one.blocks_per_second < many.blocks_per_second


def test_each_table_has_its_own_export() -> None:
    base = RELAXED.workload
    hot, cold = (
        replace(base, name=name, stored_bytes=base.stored_bytes // 2, reads=replace(base.reads, load=load))
        for name, load in (("hot", OpenLoad(reads_per_second=500)), ("cold", OpenLoad(reads_per_second=5)))
    )
    requirements = replace(HALF_CACHED, workload=Workload.of([hot, replace(cold, cached=False)]))
    of_hot, of_cold = exports(requirements)
    assert (of_hot.table, of_cold.table) == ("hot", "cold")
    assert of_hot.cached_fraction > 0.3
    assert (of_cold.cached_fraction, of_cold.gets) == (0.0, GETS_TO_OPEN * cold.regions)


def test_the_cached_share_of_a_table_that_is_read_evenly_is_its_hit_ratio_whatever_its_blocks() -> None:
    """Every block of such a table is read equally often, so an export finds as many of them as any other read."""
    base = replace(HALF_CACHED.workload, write_bytes_per_second=0, stored_bytes=HALF_CACHED.workload.stored_bytes // 2)
    rows = replace(base, name="rows", reads=replace(base.reads, load=OpenLoad(reads_per_second=80)))
    even = replace(
        base,
        name="even",
        block_bytes=2 * base.block_bytes,
        popularity=UNIFORM,
        reads=Reads(load=OpenLoad(reads_per_second=10), kind="scan", rows=100),
    )
    sized = plan(replace(HALF_CACHED, workload=Workload.of([rows, even])), WORLD)
    of_rows, of_even = sized.scan_exports
    assert 0.05 < of_even.cached_fraction < 0.95
    assert of_even.cached_fraction == pytest.approx(sized.tables[1].hit_ratio, rel=0.01)
    assert of_rows.cached_fraction < sized.tables[0].hit_ratio


@pytest.mark.parametrize("regions", [24, 4_000])
@pytest.mark.parametrize("is_cached", [True, False])
def test_the_rate_is_what_the_scarcest_resource_allows(*, is_cached: bool, regions: int) -> None:
    """The needs of a block are added up again, from independent figures."""
    requirements = with_workload(HALF_CACHED, regions=regions, write_bytes_per_second=0)
    inputs = SizingInputs.new(requirements if is_cached else replace(requirements, mode=S3_PLAIN), WORLD)
    candidate = replace(search(inputs).best.candidate, exact=True)
    nodes, instance = candidate.count, candidate.instance
    [export] = scan_exports(candidate)
    blocks, timings = inputs.demand.blocks, inputs.timings
    missing = 1 - export.cached_fraction
    gets = export.gets / blocks.count
    most_bytes = max(blocks.payload_bytes, missing * blocks.on_disk_bytes)
    network_seconds = most_bytes / instance.network_sustained_bytes_per_second
    cpu_seconds = timings.block_cpu_seconds + timings.rpc_cpu_seconds * blocks.payload_bytes / (2 * MIB)
    get_cpu_seconds = gets * timings.get_cpu_seconds
    s3_seconds = gets * timings.s3_first_byte_seconds + missing * blocks.on_disk_bytes / S3_STREAM_BYTES_PER_SECOND
    volume_bytes = 500 * MIB if is_cached else math.inf
    disk_seconds = export.cached_fraction * inputs.read.of_disk.bytes / volume_bytes
    disk_wait = export.cached_fraction * DISK_LATENCY_SECONDS
    seconds = cpu_seconds + get_cpu_seconds + network_seconds + disk_seconds + s3_seconds + disk_wait
    needed = {
        "cpu": (cpu_seconds + get_cpu_seconds) / (nodes * instance.vcpus),
        "network": network_seconds / nodes,
        "ebs-throughput": disk_seconds / nodes,
        "s3-requests": gets / S3_GETS_PER_SECOND_PER_PREFIX,
        "handlers": seconds / (nodes * candidate.cluster(nodes).handlers),
    }
    used = {one.name: 100 / one.max_reads_per_second for one in candidate.resources(nodes)}
    rates: dict[str, float] = {
        name: (UTILISATION - used[name]) / need for name, need in needed.items() if need and name in used
    }
    rates["regions"] = regions / seconds
    assert export.limit == min(rates, key=lambda name: rates[name])
    assert export.blocks_per_second == pytest.approx(min(rates.values()), rel=0.005)


def test_an_export_outside_the_peak_shares_nodes_with_the_load_of_those_hours() -> None:
    """The peak has nearly only gets. The other hours have more scans, which need far more of each resource.

    A cluster with the load of those hours all day has another mixture in its cache, so it is only similar.
    """
    base = replace(HALF_CACHED.workload, write_bytes_per_second=0, stored_bytes=HALF_CACHED.workload.stored_bytes // 2)
    peak = OpenLoad(reads_per_second=100, peak_reads_per_second=1_000, peak_hours=2)
    rows = replace(base, name="rows", reads=replace(base.reads, load=peak))
    scans = replace(base, name="scans", reads=Reads(load=OpenLoad(reads_per_second=5), kind="scan", rows=100))
    mixed = Workload.of([rows, scans])
    daily, steady = (
        search(SizingInputs.new(replace(HALF_CACHED, workload=workload), WORLD)).best.candidate
        for workload in (mixed, mixed.outside_peak)
    )
    outside, alone, at_peak = (
        min(one.max_reads_per_second for one in limits)
        for limits in (
            daily.resources_outside_peak(daily.count),
            steady.resources(steady.count),
            daily.resources(daily.count),
        )
    )
    assert outside == pytest.approx(alone, rel=0.4)
    assert at_peak > 2 * max(outside, alone)
    assert [export.seconds for export in scan_exports(daily)] == [
        None,
        None,
    ]


def test_a_load_with_all_its_reads_in_the_peak_leaves_nearly_everything_to_an_export() -> None:
    base = replace(HALF_CACHED.workload, write_bytes_per_second=0, stored_bytes=HALF_CACHED.workload.stored_bytes // 2)
    peaks = [
        OpenLoad(reads_per_second=50, peak_reads_per_second=50 * 24 / hours, peak_hours=hours) for hours in (12, 6)
    ]
    one, two = (
        replace(base, name=f"table{number}", reads=replace(base.reads, load=load)) for number, load in enumerate(peaks)
    )
    steady = replace(two, cached=False, reads=replace(base.reads, load=OpenLoad(reads_per_second=5)))
    for tables, beside in (((one, two), 0.0), ((one, steady), 5.0)):
        of_one, of_two = exports(replace(HALF_CACHED, workload=Workload.of(tables)))
        assert of_one.beside_reads_per_second == pytest.approx(beside, abs=0.01)
        assert of_one.seconds is not None
        assert of_two.seconds is not None
