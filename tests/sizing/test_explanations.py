"""No explanation lies: for every mode and many workloads the formula, evaluated, is the figure that it explains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.shipped import ENVIRONMENTS
from tests.sizing.clusters import (
    CLOSED,
    FREE,
    PINNED,
    RELAXED,
    REQUIREMENTS,
    SYSTEM,
    WORLD,
    gp3_volume,
    with_core,
    with_targets,
    with_workload,
)
from tests.tiers import quick_where
from warmbase.environments.planning import requirements, world
from warmbase.environments.reader import read_environment
from warmbase.facts.releases import releases
from warmbase.ground.errors import Infeasible
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.explanation import FUNCTIONS, Explanation, Kind, Quantity, names
from warmbase.sizing.modes import HDFS, MODES, S3_PLAIN, Mode
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Pins, Requirements
from warmbase.sizing.workload.popularity import UNIFORM, Zipf, hot_set
from warmbase.sizing.workload.workload import OpenLoad, Reads, Workload

PRODUCT_NAMES = re.compile(r"\b(L1|S3|p99|gp3)\b")
"""Names with a digit, which no constant can change."""

ABSENT = re.compile(r"(?<![\d.,])0 (?!nodes)[A-Za-z]")


def lies(sized: Plan) -> Iterator[str]:
    """Yield each explanation of a plan that is not true, as text."""
    for path, explanation in sized.because.items():
        figure, value = sized.figure(path), explanation.value
        if explanation.kind is Kind.CONSTRAINT:
            if value is not True:
                yield f"{path}: {explanation.formula} does not hold, with {_inputs(explanation)}"
        elif isinstance(figure, str):
            if value != figure:
                yield f"{path} is {figure}, and {explanation.formula} is {value}"
        elif value != pytest.approx(figure, rel=1e-9):
            yield f"{path} is {figure}, and {explanation.formula} is {value}, with {_inputs(explanation)}"


def _inputs(explanation: Explanation) -> str:
    return ", ".join(f"{name} {quantity.value}" for name, quantity in explanation.inputs.items())


@cache
def planned(case: str) -> Plan:
    return plan(CASES[case], WORLD)


CASES: dict[str, Requirements] = {
    "prod": REQUIREMENTS,
    "s3-plain": replace(RELAXED, mode=S3_PLAIN),
    "hdfs": replace(RELAXED, mode=HDFS),
    "hdfs with much data": with_workload(replace(RELAXED, mode=HDFS), stored_bytes=60 * TIB),
    "emr-wal": replace(REQUIREMENTS, wal_service=True),
    "emr-wal in s3-plain": replace(RELAXED, mode=S3_PLAIN, wal_service=True),
    "pinned": PINNED,
    "pinned in hdfs": replace(with_core(PINNED, volumes=(gp3_volume("data", 5_000), SYSTEM)), mode=HDFS),
    "pinned with a cache that runs": with_core(PINNED, cache_mib=700 * 1024),
    "pinned volume too small for everything": with_core(PINNED, volumes=(gp3_volume("cache", 200), SYSTEM)),
    "pinned volume too large for memory": with_core(
        with_workload(PINNED, stored_bytes=20 * TIB), volumes=(gp3_volume("cache", 3_000), SYSTEM)
    ),
    "three pinned cache volumes": with_core(PINNED, volumes=(replace(gp3_volume("cache", 300), count=3), SYSTEM)),
    "several cache volumes": with_core(
        with_workload(
            RELAXED, stored_bytes=90 * TIB, regions=3_000, reads=Reads(load=OpenLoad(reads_per_second=60_000))
        ),
        families=("r8g",),
    ),
    "several cache volumes with a closed load": with_core(
        with_workload(RELAXED, stored_bytes=90 * TIB, regions=3_000, reads=CLOSED), families=("r8g",)
    ),
    "pinned type": with_core(RELAXED, type="r8gd.4xlarge"),
    "pinned count": with_core(RELAXED, count=14),
    "pinned volumes": with_core(RELAXED, volumes=(gp3_volume("cache", 1_000, 250), SYSTEM)),
    "pinned primaries": replace(RELAXED, cluster=replace(RELAXED.cluster, primary_type="m8g.4xlarge")),
    "families with own drives": with_core(RELAXED, families=("i8g",)),
    "no node may be lost": with_targets(REQUIREMENTS, lost_nodes=0),
    "three nodes may be lost": with_targets(RELAXED, lost_nodes=3),
    "three nodes of hdfs may be lost": replace(with_targets(RELAXED, lost_nodes=3), mode=HDFS),
    "p99 that nothing meets": with_targets(RELAXED, p99_seconds=0.001),
    "budget that nothing meets": with_targets(RELAXED, budget_usd_per_month=100.0),
    "load that nothing carries": with_workload(RELAXED, reads=Reads(load=OpenLoad(reads_per_second=10**6))),
    "peak hour": with_workload(RELAXED, reads=Reads(load=OpenLoad(reads_per_second=900, peak_reads_per_second=2_000))),
    "warm-up": with_targets(RELAXED, warm_up_seconds=1_800.0),
    "little data": with_workload(RELAXED, stored_bytes=20 * GIB),
    "much data": with_workload(RELAXED, stored_bytes=90 * TIB, regions=3_000),
    "no writes": with_workload(RELAXED, write_bytes_per_second=0),
    "no writes in s3-plain": with_workload(replace(RELAXED, mode=S3_PLAIN), write_bytes_per_second=0),
    "no writes in hdfs": with_workload(replace(RELAXED, mode=HDFS), write_bytes_per_second=0),
    "many writes": with_workload(RELAXED, write_bytes_per_second=60 * MIB, regions=2_000),
    "few regions": with_workload(RELAXED, regions=3, stored_bytes=200 * GIB),
    "closed load": with_workload(RELAXED, reads=CLOSED),
    "closed load in hdfs": replace(with_workload(RELAXED, reads=CLOSED), mode=HDFS),
    "multi-get": with_workload(
        RELAXED, row_bytes=4 * KIB, reads=Reads(load=OpenLoad(reads_per_second=50), kind="multi-get", rows=50)
    ),
    "scan": with_workload(
        RELAXED, row_bytes=4 * KIB, reads=Reads(load=OpenLoad(reads_per_second=5), kind="scan", rows=10_000)
    ),
    "large answers": with_workload(
        RELAXED, stored_bytes=TIB, row_bytes=40 * MIB, reads=Reads(load=OpenLoad(reads_per_second=2))
    ),
    "small blocks": with_workload(RELAXED, block_bytes=8 * KIB, row_bytes=8 * KIB),
    "long blocks": with_workload(RELAXED, block_bytes=KIB * KIB, row_bytes=8 * KIB),
    "cells of 1 MiB": with_workload(RELAXED, cell_bytes=MIB, row_bytes=MIB, stored_bytes=5 * GIB, regions=10),
    "cells of 4 MiB on a small volume": with_core(
        with_workload(RELAXED, cell_bytes=4 * MIB, row_bytes=4 * MIB, stored_bytes=20 * GIB, regions=10),
        type="r8g.2xlarge",
        count=3,
        volumes=(gp3_volume("cache", 5), SYSTEM),
    ),
    "half of the cells of 1 MiB": with_targets(
        with_workload(RELAXED, cell_bytes=MIB, row_bytes=MIB, stored_bytes=50 * GIB, regions=10), hit_ratio=0.5
    ),
    "compressed": with_workload(RELAXED, codec="zstd", compression_ratio=3.0),
    "encoded": with_workload(RELAXED, encoding="FAST_DIFF"),
    "uniform": with_workload(RELAXED, popularity=UNIFORM),
    "hot set": with_workload(RELAXED, popularity=hot_set(rows_fraction=0.1, reads_fraction=0.9)),
    "many servers": with_core(with_workload(RELAXED, regions=3_000), count=56),
    "pinned by overrides": replace(
        RELAXED,
        pins=Pins(
            handlers=55,
            read_fraction=0.7,
            prefetch_threads=33,
            open_region_threads=5,
            s3_connections=444,
            retain_retries=14,
        ),
    ),
    "low hit ratio": with_targets(RELAXED, hit_ratio=0.5),
}


COMBINED = {
    "hdfs with much data",
    "emr-wal in s3-plain",
    "several cache volumes with a closed load",
    "pinned type",
    "pinned count",
    "pinned primaries",
    "three nodes of hdfs may be lost",
    "much data",
    "no writes in s3-plain",
    "no writes in hdfs",
    "few regions",
    "closed load in hdfs",
    "long blocks",
    "half of the cells of 1 MiB",
    "compressed",
    "encoded",
    "uniform",
    "hot set",
}
"""Cases whose figures have formulas that other cases try, too."""
EACH_CASE = pytest.mark.parametrize("case", quick_where(lambda case: case not in COMBINED, CASES))


@EACH_CASE
def test_a_formula_gives_the_figure_it_explains(case: str) -> None:
    assert not list(lies(planned(case)))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_formula_gives_the_figure_of_a_shipped_environment(name: str) -> None:
    environment = read_environment(name)
    for cluster in environment.clusters.values():
        assert not list(lies(plan(requirements(environment, cluster), world(environment))))


@pytest.mark.parametrize("label", releases())
def test_a_formula_gives_the_figure_with_every_release(label: str) -> None:
    assert not list(lies(plan(RELAXED, replace(WORLD, release=releases()[label]))))


@given(
    mode=st.sampled_from(list(MODES.values())),
    wal_service=st.booleans(),
    lost_nodes=st.integers(0, 3),
    hit_ratio=st.floats(0.1, 1),
    stored_bytes=st.integers(GIB, 40 * TIB),
    block_bytes=st.sampled_from([8 * KIB, 64 * KIB, 128 * KIB]),
    cell_bytes=st.integers(16, 16 * KIB),
    row_bytes=st.integers(1, 4 * MIB),
    reads_per_second=st.floats(0.1, 20_000),
    write_bytes_per_second=st.integers(0, 40 * MIB),
    regions=st.integers(1, 3_000),
    popularity=st.sampled_from([UNIFORM, Zipf(theta=0.99), hot_set(rows_fraction=0.1, reads_fraction=0.9)]),
    p99_seconds=st.sampled_from([None, 0.05, 1.0]),
)
def test_a_formula_gives_the_figure_for_any_workload(  # noqa: PLR0913 - what a workload varies in
    mode: Mode,
    *,
    wal_service: bool,
    lost_nodes: int,
    hit_ratio: float,
    p99_seconds: float | None,
    reads_per_second: float,
    **changes: object,
) -> None:
    workload: Workload = replace(
        REQUIREMENTS.workload,
        reads=Reads(load=OpenLoad(reads_per_second=reads_per_second)),
        **changes,
    )
    targets = replace(FREE, lost_nodes=lost_nodes, hit_ratio=hit_ratio, p99_seconds=p99_seconds)
    requirements = replace(
        REQUIREMENTS, mode=mode, workload=workload, targets=targets, wal_service=wal_service and mode.keeps_data_in_s3
    )
    try:
        sized = plan(requirements, WORLD)
    except Infeasible:
        return
    assert not list(lies(sized))


@EACH_CASE
def test_no_formula_holds_a_number_of_its_own(case: str) -> None:
    for path, explanation in planned(case).because.items():
        assert not re.search(r"\d", explanation.formula), path
        used = names(explanation.formula) - set(FUNCTIONS)
        assert used <= set(explanation.inputs) | set(explanation.functions), path
        assert explanation.source, path
        assert all(quantity.source for quantity in explanation.inputs.values()), path


@EACH_CASE
def test_every_number_in_a_sentence_is_an_input(case: str) -> None:
    for path, explanation in planned(case).because.items():
        text = PRODUCT_NAMES.sub("", explanation.sentence)
        for quantity in sorted(map(str, explanation.inputs.values()), key=len, reverse=True):
            text = text.replace(quantity, "")
        assert not re.search(r"\d", text), f"{path}: {explanation.sentence}"
        assert re.match(r"[A-Z0-9].*\.$", explanation.sentence), f"{path}: {explanation.sentence}"


@EACH_CASE
def test_no_sentence_explains_what_is_not_there(case: str) -> None:
    """A cluster without a cache has no index, one without writes has no cells, and some plans lose no node."""
    sentences = {path: str(explanation.sentence) for path, explanation in planned(case).because.items()}
    assert {path for path, sentence in sentences.items() if ABSENT.search(sentence)} == set()


def test_every_figure_that_decides_a_cluster_is_explained() -> None:
    decisive = {"core.instance_type", "core.count", "primary.instance_type", "heap.xmx_mib", "handlers"}
    for case in ("prod", "s3-plain", "hdfs", "pinned"):
        assert decisive <= set(planned(case).because)
    assert {"bucket_cache.size_mib", "core.volumes.cache.size_gib"} <= set(planned("prod").because)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Quantity(value=1, unit="nodes"), "1 node"),
        (Quantity(value=2, unit="nodes"), "2 nodes"),
        (Quantity(value=0.7, unit="fraction"), "70 %"),
        (Quantity(value=65_950, unit="B"), "65,950 B"),
        (Quantity(value=3 * GIB, unit="B"), "3 GiB"),
        (Quantity(value=-3 * GIB, unit="B"), "-3 GiB"),
        (Quantity(value=828_416, unit="MiB"), "809 GiB"),
        (Quantity(value=1_800, unit="s"), "30 min"),
        (Quantity(value=300_000, unit="ms"), "5 min"),
        (Quantity(value=4280.97, unit="USD/month"), "$4,281 a month"),
        (Quantity(value="r8g.xlarge"), "r8g.xlarge"),
    ],
)
def test_a_quantity_reads_as_people_write_it(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text
