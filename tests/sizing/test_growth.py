"""Growth: each purchase serves until the next one, which comes in the first month in which it no longer does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from warmbase.environments.planning import requirements, world
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.ground.units import TIB
from warmbase.sizing.ranges.growth import GrowthStep, growing, grown, growth_steps, split_month
from warmbase.sizing.ranges.hbase_situation import HBaseSituation
from warmbase.sizing.workload.workload import OpenLoad, Workload

DEV = read_environment("dev", [Assignment.parse("clusters.blue.core={type: r8g.xlarge}")])
NEEDS, WORLD = requirements(DEV, DEV.active), world(DEV)
GROWING, MONTHS = growing(NEEDS, 0.3), 10


def after(months: int) -> HBaseSituation:
    return HBaseSituation(requirements=grown(GROWING, months), world=WORLD)


@pytest.fixture(scope="module")
def steps() -> list[GrowthStep]:
    return list(growth_steps(after, MONTHS))


def test_the_workload_grows_with_its_peak() -> None:
    load = OpenLoad(reads_per_second=100, peak_reads_per_second=300)
    reads = replace(NEEDS.workload.reads, load=load)
    peaked = replace(NEEDS, workload=replace(NEEDS.workload, reads=reads, write_bytes_per_second=1000))
    workload = grown(growing(peaked, 0.5), 1).workload
    assert workload.stored_bytes == round(1.5 * NEEDS.workload.stored_bytes)
    assert workload.write_bytes_per_second == 1500
    assert workload.load == OpenLoad(reads_per_second=150, peak_reads_per_second=450)


def test_a_growth_that_is_not_stated_is_assumed() -> None:
    assert growing(NEEDS).workload.growth_per_month == 0.08
    stated = replace(NEEDS, workload=replace(NEEDS.workload, growth_per_month=0.0))
    assert grown(growing(stated), 5).workload.stored_bytes == NEEDS.workload.stored_bytes
    assert grown(growing(stated, 0.1), 1).workload.stored_bytes == round(1.1 * NEEDS.workload.stored_bytes)


def test_each_table_has_its_own_growth() -> None:
    part = replace(NEEDS.workload, name="users")
    tables = [replace(part, growth_per_month=0.02), replace(part, name="events"), replace(part, name="logs")]
    needs = replace(NEEDS, workload=Workload.of(tables))
    later = grown(growing(needs), 12).workload
    bytes_per_table = [table.stored_bytes for table in later.tables]
    assert bytes_per_table == [round(part.stored_bytes * rate**12) for rate in (1.02, 1.08, 1.08)]
    assert later.stored_bytes == sum(bytes_per_table)
    # The limit is twice today's mean region, and 1.08 to the tenth power is 2.16.
    large = replace(needs, workload=needs.workload.changed(lambda table: replace(table, stored_bytes=8 * TIB)))
    assert split_month(growing(large), 24) == 10


def test_each_cluster_serves_until_the_next_purchase_and_no_longer(steps: list[GrowthStep]) -> None:
    assert [step.month for step in steps] == sorted({step.month for step in steps})
    assert len(steps) > 2
    ends = [step.month for step in steps[1:]] + [MONTHS + 1]
    for step, end in zip(steps, ends, strict=True):
        assert step.option is not None
        for month in range(step.month, end):
            assert after(month).outcome(step.option).missed == ()
        if end <= MONTHS:
            assert after(end).outcome(step.option).missed != ()


def test_more_nodes_are_of_the_same_kind_and_as_few_as_serve(steps: list[GrowthStep]) -> None:
    for before, step in pairwise(steps):
        assert before.option is not None
        assert step.option is not None
        if step.is_new:
            continue
        assert replace(step.option, count=before.option.count) == before.option
        fewer = replace(step.option, count=step.option.count - 1)
        assert after(step.month).outcome(fewer).missed != ()


def test_a_cluster_grows_up_to_one_node_for_each_region() -> None:
    """Twice as many nodes would have no regions, but one more node serves."""
    needs = growing(replace(NEEDS, workload=replace(NEEDS.workload, regions=10, stored_bytes=12 * TIB)), 0.1)
    first, second = growth_steps(lambda month: HBaseSituation(requirements=grown(needs, month), world=WORLD), 1)
    assert first.option is not None
    assert first.option.count == 9
    assert (second.option, second.is_new) == (replace(first.option, count=10), False)


def test_without_growth_one_purchase_is_enough() -> None:
    still = growing(NEEDS, 0.0)
    [only] = growth_steps(lambda month: HBaseSituation(requirements=grown(still, month), world=WORLD), 3)
    assert (only.month, only.is_new) == (0, True)


def test_regions_split_when_their_mean_passes_the_limit() -> None:
    month = split_month(GROWING, 60)
    assert month is not None
    assert month > 0
    assert split_month(GROWING, month - 1) is None
