"""A volume keeps the limits of EBS, and the bill says which prices it contains: a fee, an estimate or a discount."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, WORLD
from warmbase.environments.planning import world
from warmbase.environments.reader import read_environment
from warmbase.facts.ec2 import instance_types
from warmbase.facts.prices import price_table
from warmbase.ground.units import MIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.cost import Bill, BilledGroup, cost
from warmbase.sizing.gp3 import Provisions, gp3_volume, least_gib, most_iops, usd_per_month
from warmbase.sizing.plan import Plan
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


TABLE = price_table("us-east-1")
GROUP = BilledGroup(role="core", instance_type="r8g.xlarge", count=2, volumes=())
BILL = Bill(
    stored_bytes=0,
    written_bytes_per_second=0.0,
    gets_per_second=0,
    custom_metrics=0,
    dashboards=0,
    alarms=0,
    interface_endpoints=0,
    kms_keys=0,
)


@pytest.mark.parametrize(
    ("confidence", "item", "basis", "table_says"),
    [
        ("estimate", "core EMR fee (estimate)", "a quarter of on demand in us-east-1", "the EMR fee is an estimate"),
        ("list", "core EMR fee", "list price", "the EMR fee is a list price"),
    ],
)
def test_the_fee_says_what_it_is(confidence: str, item: str, basis: str, table_says: str) -> None:
    compute = {name: replace(price, emr_fee_confidence=confidence) for name, price in TABLE.compute.items()}
    table = replace(TABLE, compute=compute)
    [line] = [line for line in cost([GROUP], BILL, table).lines if "EMR fee" in line.item]
    assert line.item == item
    assert line.because.endswith(basis)
    assert table_says in table.described


def pinned_plan(discount: float) -> Plan:
    return plan(PINNED, replace(WORLD, prices=WORLD.prices.discounted(discount)))


def lines(plan: Plan) -> dict[str, float]:
    return {line.item: line.usd_per_month for line in plan.cost.lines}


def test_only_instances_are_cheaper() -> None:
    whole, less = lines(pinned_plan(0)), lines(pinned_plan(0.28))
    assert whole.keys() == less.keys()
    for item, usd in whole.items():
        assert less[item] == pytest.approx(usd * (0.72 if item.endswith(" instances") else 1))


def test_the_bill_says_which_discount_it_contains() -> None:
    sized = pinned_plan(0.28)
    assert sized.prices.discount == 0.28
    assert "less 28 %" in next(line.because for line in sized.cost.lines if line.item == "core instances")
    assert "less 28 % on EC2 instances" in sized.prices.described
    assert "less" not in pinned_plan(0).prices.described


def test_an_estimate_is_discounted_too() -> None:
    table = price_table("eu-west-1").discounted(0.5)
    assert table.note.estimate
    assert "less 50 % on EC2 instances" in table.described
    assert table.compute["r8g.xlarge"].ec2_usd_per_hour == pytest.approx(0.2356 * 0.52736 / 0.47128 / 2)
