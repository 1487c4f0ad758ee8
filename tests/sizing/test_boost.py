"""A boost shortens a fill as far as its next limit, and its time is that of the plan's own prefetch."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, RELAXED, SYSTEM, WORLD, gp3_volume, with_core
from warmbase.ground.units import KIB, MIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.recovery.bad_hours import server_fill
from warmbase.sizing.recovery.boost import (
    BURST_SECONDS,
    MOST_MIB_S,
    ServerFill,
    boosts,
    extra_usd_per_hour,
)
from warmbase.sizing.requirements import Volume
from warmbase.sizing.search.search import search
from warmbase.sizing.server.region_server import fill_seconds
from warmbase.sizing.service.inputs import SizingInputs

FASTER = 10.0


def fill_of_prod(**changes: object) -> ServerFill:
    fill = plan(PINNED, WORLD).warm_up.server
    assert fill is not None
    return replace(fill, **changes)


BASE = fill_of_prod()


def test_what_remains_of_a_fill_takes_its_share_of_the_time() -> None:
    for throughput_mib_s in (125, MOST_MIB_S):
        whole, half = (fill.time(throughput_mib_s, BASE.sustained).seconds for fill in (BASE, BASE.remaining(0.5)))
        assert half == pytest.approx(whole / 2, rel=1e-4)


@st.composite
def fills(draw: st.DrawFn) -> ServerFill:
    """Draw servers in which each of the limits can be the slowest."""
    blocks = draw(st.integers(1_000, 20_000_000))
    block_bytes = draw(st.sampled_from([8 * KIB, 66_560, 300 * KIB]))
    vcpus = draw(st.sampled_from([1, 2, 6]))
    sustained = replace(
        BASE.sustained,
        network_bytes_per_second=draw(st.floats(1e7, 1e9)),
        ebs_bytes_per_second=draw(st.floats(2e7, 1e9)),
    )
    burst = replace(
        sustained,
        network_bytes_per_second=sustained.network_bytes_per_second * draw(st.floats(1, 8)),
        ebs_bytes_per_second=sustained.ebs_bytes_per_second * draw(st.floats(1, 8)),
    )
    return replace(
        BASE,
        fill=replace(
            BASE.fill,
            blocks=blocks,
            slot_bytes=blocks * block_bytes,
            s3_bytes=blocks * block_bytes // draw(st.integers(1, 4)),
        ),
        streams=replace(BASE.streams, threads=64, get_bytes=draw(st.sampled_from([block_bytes, 64 * MIB]))),
        vcpus=vcpus,
        s3_gets_per_second=draw(st.floats(50, 5_500)),
        batch_bytes=block_bytes * draw(st.sampled_from([1, 64])),
        written_bytes_per_second=draw(st.floats(0, 1e8)),
        ebs_written_bytes_per_second=draw(st.floats(0, 1e8)),
        sustained=sustained,
        burst=burst,
        volume=replace(BASE.volume, throughput_mib_s=draw(st.integers(125, 1_000)), iops=4_000),
    )


def sped_up(fill: ServerFill, names: AbstractSet[str]) -> ServerFill:
    """Return the server with each of these limits ten times as high, except that of the volume."""

    def times(name: str) -> float:
        return FASTER if name in names else 1.0

    return replace(
        fill,
        streams=replace(
            fill.streams,
            first_byte_seconds=fill.streams.first_byte_seconds / times("s3-streams"),
            stream_bytes_per_second=fill.streams.stream_bytes_per_second * times("s3-streams"),
        ),
        sustained=replace(
            fill.sustained,
            network_bytes_per_second=fill.sustained.network_bytes_per_second * times("network"),
            ebs_bytes_per_second=fill.sustained.ebs_bytes_per_second * times("instance-ebs"),
        ),
        s3_gets_per_second=fill.s3_gets_per_second * times("s3-requests"),
        batch_bytes=fill.batch_bytes * times("cache-writers"),
        vcpus=fill.vcpus * times("cpu"),
    )


def seconds_with(fill: ServerFill, names: AbstractSet[str]) -> float:
    throughput = fill.volume.throughput_mib_s * (FASTER if "volume" in names else 1.0)
    return sped_up(fill, names).time(throughput, sped_up(fill, names).sustained).seconds


@given(fill=fills())
def test_raising_the_limits_helps_and_raising_all_others_does_not(fill: ServerFill) -> None:
    now = fill.time(fill.volume.throughput_mib_s, fill.sustained)
    # A cache writer waits for the disk, so a faster disk helps it too.
    limits = set(now.limits) | ({"volume", "instance-ebs"} if "cache-writers" in now.limits else set())
    assert seconds_with(fill, limits) < 0.99 * now.seconds
    assert seconds_with(fill, set(now.terms) - limits) >= 0.98 * now.seconds


@given(fill=fills(), throughputs=st.lists(st.integers(125, MOST_MIB_S), min_size=2, max_size=2).map(sorted))
def test_more_throughput_never_lengthens_a_fill_nor_costs_less(fill: ServerFill, throughputs: list[int]) -> None:
    less, more = (fill.provision(throughput) for throughput in throughputs)
    planned = fill.boosted(fill.volume.throughput_mib_s, "sustained").seconds
    assert fill.boosted(more[0], "sustained").seconds <= fill.boosted(less[0], "sustained").seconds <= planned
    assert fill.boosted(more[0], "burst").seconds <= fill.boosted(less[0], "burst").seconds * 1.000001
    assert fill.boosted(less[0], "burst").seconds <= planned * 1.000001
    prices = WORLD.prices
    assert 0 <= extra_usd_per_hour(fill.volume, less, prices) <= extra_usd_per_hour(fill.volume, more, prices)


@given(fill=fills())
def test_a_boost_ends_where_more_throughput_would_not_help(fill: ServerFill) -> None:
    for boost in boosts(fill, WORLD.prices):
        assert boost.seconds < fill.boosted(fill.volume.throughput_mib_s, "sustained").seconds
        assert boost.iops <= 500 * fill.volume.size_gib
        assert boost.throughput_mib_s * 4 <= boost.iops
        most = fill.provision(MOST_MIB_S)[0]
        if "cache-writers" in boost.limits:
            continue  # a writer thread waits for the disk after each batch, so it always gains a little
        if boost.throughput_mib_s < most:
            assert fill.boosted(most, boost.level).seconds >= 0.999 * boost.seconds
        else:
            assert boost.throughput_mib_s == most


@pytest.mark.parametrize("instance_type", ["r8g.2xlarge", "r8g.24xlarge"])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("throughput_mib_s", [125, 300, 1_000])
def test_the_time_at_the_planned_throughput_is_that_of_the_plan(
    instance_type: str, count: int, throughput_mib_s: int
) -> None:
    volume = replace(gp3_volume("cache", 1_420, throughput_mib_s), count=count, iops=4_000)
    pinned = with_core(RELAXED, type=instance_type, count=6, volumes=(volume, SYSTEM))
    candidate = replace(search(SizingInputs.new(pinned, WORLD)).best.candidate, exact=True)
    demand, share = candidate.inputs.demand, candidate.share_of(6)
    expected = fill_seconds(demand, share, candidate.cluster(6), candidate.region_server.prefetch_threads)
    fill = server_fill(candidate)
    assert fill is not None
    assert fill.time(throughput_mib_s, fill.sustained).seconds == pytest.approx(expected.seconds)


def test_a_burst_ends_after_half_an_hour() -> None:
    twice = fill_of_prod(burst=replace(BASE.sustained, ebs_bytes_per_second=1e9, network_bytes_per_second=1e9))
    burst = twice.time(MOST_MIB_S, twice.burst).seconds
    assert burst > BURST_SECONDS
    rest = (1 - BURST_SECONDS / burst) * twice.time(MOST_MIB_S, twice.sustained).seconds
    assert twice.boosted(MOST_MIB_S, "burst").seconds == pytest.approx(BURST_SECONDS + rest)


def test_boosts_of_the_published_cluster() -> None:
    """The 7.2 TiB of the published benchmark on six nodes with volumes at 125 MiB/s, computed by hand."""
    sustained, burst = plan(PINNED, WORLD).warm_up.boosts
    slots = BASE.fill.slot_bytes
    # 312.5 MB/s of EBS for ever, and the log and the cache's own writes take some of it.
    assert sustained.seconds == pytest.approx(slots / (312.5e6 - BASE.ebs_written_bytes_per_second))
    assert (sustained.level, sustained.throughput_mib_s, sustained.limits) == ("sustained", 300, ("instance-ebs",))
    assert sustained.usd_per_hour == pytest.approx(6 * (300 - 125) * 0.04 / 730)
    assert (burst.level, burst.limits) == ("burst", ("s3-streams", "volume"))


def test_nothing_is_raised_where_the_cache_is_on_a_drive_of_the_instance() -> None:
    candidate = search(SizingInputs.new(PINNED, WORLD)).best.candidate
    drive = Volume(purpose="cache", type="nvme", count=1, size_gib=1_420, iops=100_000, throughput_mib_s=2_000)
    assert server_fill(replace(candidate, layout=replace(candidate.layout, volumes=(drive, SYSTEM)))) is None
