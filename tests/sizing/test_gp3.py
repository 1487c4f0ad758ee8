"""EBS's own limits of a gp3 volume, which every provision keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.planning import world
from environments.reader import read_environment
from sizing.cluster import Volume
from sizing.gp3 import gp3_volume, least_gib, most_iops, provisions, usd_per_month


@given(most_mib_s=st.integers(1, 4_000), most=st.integers(100, 100_000))
def test_every_provision_is_one_that_ebs_and_emr_sell(most_mib_s: int, most: int) -> None:
    sold = provisions(most_mib_s, most)
    assert (125, 3_000) in sold, "included, whatever the instance sustains"
    for throughput_mib_s, iops in sold:
        assert 125 <= throughput_mib_s <= 1_000
        assert iops >= 4 * throughput_mib_s, "0.25 MiB/s for each IOPS"
        assert 3_000 <= iops <= max(3_000, most)
        assert throughput_mib_s <= max(125, most_mib_s), "what is beyond the instance's own limit is a burst"


@given(iops=st.integers(3_000, 80_000))
def test_the_smallest_volume_for_iops_is_allowed_them_and_a_smaller_one_is_not(iops: int) -> None:
    size_gib = least_gib(iops)
    assert most_iops(size_gib) >= iops
    assert iops <= 3_000 or most_iops(size_gib - 1) < iops


def test_a_gibibyte_may_have_500_iops() -> None:
    assert most_iops(8) == 4_000
    assert (least_gib(4_000), least_gib(4_001)) == (8, 9)


@pytest.mark.parametrize(
    ("provision", "usd"), [((125, 3_000), 80.0), ((225, 3_000), 84.0), ((125, 4_000), 85.0), ((225, 4_000), 89.0)]
)
def test_a_volume_costs_its_size_and_what_is_beyond_the_included(provision: tuple[int, int], usd: float) -> None:
    prices = world(read_environment("prod")).prices
    assert usd_per_month(gp3_volume("cache", 1_000, provision), prices) == pytest.approx(usd)
    assert usd_per_month(gp3_volume("cache", 1_000, provision, count=2), prices) == pytest.approx(2 * usd)


def test_an_own_drive_costs_nothing_more() -> None:
    drive = Volume(purpose="cache", type="nvme", count=1, size_gib=900, iops=100_000, throughput_mib_s=2_000)
    assert usd_per_month(drive, world(read_environment("prod")).prices) == 0.0
