"""EBS's own limits of a gp3 volume, which every provision keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmbase.environments.planning import world
from warmbase.environments.reader import read_environment
from warmbase.facts.ec2 import instance_types
from warmbase.ground.units import MIB
from warmbase.sizing.gp3 import Provisions, gp3_volume, least_gib, most_iops, usd_per_month
from warmbase.sizing.requirements import Volume


@given(
    sustained_mib_s=st.integers(1, 4_000),
    sustained_iops=st.integers(100, 100_000),
    mib_s=st.floats(0, 5_000),
    iops=st.floats(0, 100_000),
)
def test_every_provision_is_one_that_ebs_and_emr_sell(
    sustained_mib_s: int, sustained_iops: int, mib_s: float, iops: float
) -> None:
    instance = replace(
        instance_types()["r8g.xlarge"],
        ebs_sustained_bytes_per_second=sustained_mib_s * MIB,
        ebs_sustained_iops=sustained_iops,
    )
    most = Provisions.of(instance)
    (throughput,), (operations,) = most.sufficient(np.array([mib_s]), np.array([iops]))
    assert 125 <= throughput <= min(1_000, max(125, sustained_mib_s)), "what is beyond the instance's limit is a burst"
    assert operations >= 4 * throughput, "0.25 MiB/s for each IOPS"
    assert 3_000 <= operations <= max(3_000, sustained_iops)
    assert throughput >= min(mib_s, most.mib_s)
    assert operations >= min(iops, most.iops)
    assert throughput < max(126, mib_s + 25)
    assert operations < max(3_001, iops + 500, 4 * throughput + 500)


@given(iops=st.integers(3_000, 80_000))
def test_the_smallest_volume_for_iops_is_allowed_them_and_a_smaller_one_is_not(iops: int) -> None:
    size_gib = int(least_gib(iops))
    assert most_iops(size_gib) >= iops
    assert iops <= 3_000 or most_iops(size_gib - 1) < iops


def test_a_gibibyte_may_have_500_iops() -> None:
    assert most_iops(8) == 4_000
    assert least_gib(np.array([4_000.0, 4_001.0])).tolist() == [8.0, 9.0]


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
