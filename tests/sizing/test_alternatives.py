"""Each piece of advice about blocks is a feasible plan that is cheaper by 5 % or more.

The price of cache volumes of another size is that of the bill at the planned size, and linear elsewhere.
"""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, RELAXED, SYSTEM, WORLD, gp3_volume, with_core, with_targets, with_workload
from warmbase.ground.block import Inspection
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS
from warmbase.sizing.plan import Alternative
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.search.alternatives import ASSUMED_RATIO, alternatives, cache_price
from warmbase.sizing.search.search import Search
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import OpenLoad, Reads

SMALL_ROWS = with_workload(
    RELAXED,
    stored_bytes=2 * TIB,
    cell_bytes=KIB,
    row_bytes=KIB,
    regions=200,
    write_bytes_per_second=0,
    reads=Reads(load=OpenLoad(reads_per_second=100_000)),
)
"""100,000 reads a second of rows of 1 KiB, for which blocks of 64 KiB read 64 times too much."""


def advised(requirements: Requirements) -> tuple[Alternative, ...]:
    return alternatives(requirements, WORLD, plan(requirements, WORLD))


@cache
def for_small_rows() -> tuple[Alternative, ...]:
    return advised(SMALL_ROWS)


def test_smaller_blocks_for_small_rows_cost_a_third() -> None:
    cheapest = for_small_rows()[0]
    assert cheapest.block_bytes == 16 * KIB
    assert cheapest.saving_usd_per_month > 2 * cheapest.usd_per_month


@pytest.mark.parametrize("block_kib", [8, 16, 32])
def test_advice_is_the_plan_with_that_block_size(block_kib: int) -> None:
    workload = replace(SMALL_ROWS.workload, block_bytes=block_kib * KIB)
    sized = plan(replace(SMALL_ROWS, workload=workload), WORLD)
    [advice] = [item for item in for_small_rows() if (item.setting, item.block_bytes) == ("BLOCKSIZE", block_kib * KIB)]
    assert (advice.instance_type, advice.count) == (sized.core.instance_type, sized.core.count)
    assert advice.usd_per_month == pytest.approx(sized.cost.usd_per_month)
    assert advice.heap_mib == sized.heap.xmx_mib
    assert advice.restart_seconds == sized.restart.seconds
    stated = plan(SMALL_ROWS, WORLD).cost.usd_per_month
    assert advice.saving_usd_per_month == pytest.approx(stated - advice.usd_per_month)


@pytest.mark.parametrize("candidates", [20, 60, 180])
def test_a_search_that_is_cut_short_returns_a_cluster_that_serves(candidates: int) -> None:
    workload = replace(SMALL_ROWS.workload, block_bytes=16 * KIB)
    inputs = SizingInputs.new(replace(SMALL_ROWS, workload=workload), WORLD)
    whole, cut = Search(inputs=inputs).cheapest_serving(), Search(inputs=inputs).cheapest_serving(candidates)
    assert whole is not None
    assert cut is None or (cut.serves and cut.usd_per_month >= whole.usd_per_month)
    assert cut is not None or candidates < 180


def test_savings_are_worth_a_compaction() -> None:
    stated = plan(SMALL_ROWS, WORLD).cost.usd_per_month
    assert all(advice.usd_per_month <= 0.95 * stated for advice in for_small_rows())
    assert not advised(with_workload(RELAXED, stored_bytes=20 * GIB, reads=Reads(load=OpenLoad(reads_per_second=10))))


def test_a_codec_is_tried_with_an_assumed_ratio() -> None:
    [codec] = [item for item in for_small_rows() if item.setting == "COMPRESSION"]
    assert (codec.codec, codec.compression_ratio, codec.block_bytes) == ("zstd", ASSUMED_RATIO, 64 * KIB)


@pytest.mark.parametrize(
    "requirements",
    [
        PINNED,
        with_targets(RELAXED, budget_usd_per_month=100.0),
        with_workload(RELAXED, inspection=Inspection(root="", inspected_at="", stored_bytes=1, families=())),
    ],
    ids=["pinned", "infeasible", "inspected"],
)
def test_nothing_is_advised_where_nothing_can_be_chosen(requirements: Requirements) -> None:
    sized = plan(replace(requirements, workload=replace(requirements.workload, inspection=None)), WORLD)
    assert not alternatives(requirements, WORLD, sized)


def test_a_block_of_one_cell_is_not_made_smaller() -> None:
    cells = with_workload(SMALL_ROWS, cell_bytes=100 * KIB, row_bytes=100 * KIB, block_bytes=128 * KIB)
    assert not [item for item in advised(cells) if item.setting == "BLOCKSIZE"]


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
