"""The price of cache volumes of another size is that of the bill at the planned size, and linear elsewhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, RELAXED, SYSTEM, WORLD, gp3_volume, with_core
from warmbase.ground.units import MIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS
from warmbase.sizing.search.alternatives import cache_price

PLAN = plan(PINNED, WORLD)


def test_the_price_at_the_planned_size_is_that_of_the_bill() -> None:
    (none, least_usd), (most, most_usd) = cache_price(PLAN, WORLD.prices)
    planned = PLAN.core.count * PLAN.cache.size_mib * MIB
    [billed] = [line.usd_per_month for line in PLAN.cost.lines if line.item == "core cache volumes"]
    assert none == 0
    assert most >= planned
    assert least_usd + (most_usd - least_usd) * planned / most == pytest.approx(billed)


def test_without_a_byte_only_iops_and_throughput_above_the_included_cost_money() -> None:
    assert cache_price(PLAN, WORLD.prices)[0][1] == pytest.approx(0, abs=1e-6)
    faster = plan(with_core(PINNED, volumes=(gp3_volume("cache", 1_420, 225), SYSTEM)), WORLD)
    usd = faster.core.count * 100 * WORLD.prices.usd("gp3-mib-s-month")
    assert cache_price(faster, WORLD.prices)[0][1] == pytest.approx(usd)


def test_drives_of_the_instance_and_a_mode_without_a_cache_have_no_price() -> None:
    drives = replace(PLAN.core.volume("cache"), type="nvme")
    on_drives = replace(PLAN, core=replace(PLAN.core, volumes=(drives, SYSTEM)))
    assert cache_price(on_drives, WORLD.prices) == ()
    assert cache_price(plan(replace(RELAXED, mode=HDFS), WORLD), WORLD.prices) == ()
