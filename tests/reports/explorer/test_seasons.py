"""The page of a workload whose busiest hours are stated as a multiple of the mean."""

from __future__ import annotations

from tests.reports.explorer.page_cases import ORDERS, TABLES
from warmbase.engines.hbase.reports import hbase_inputs
from warmbase.environments.reader.read import environment_of, read_ranges
from warmbase.reports.explorer.answer import _varied
from warmbase.reports.explorer.page_file import NUMBERS
from warmbase.reports.explorer.page_input import PageInput


def test_the_page_offers_the_multiple_instead_of_the_rate_of_the_peak() -> None:
    document = read_ranges(TABLES.environment).middle
    environment = environment_of(document)
    inputs = hbase_inputs(document, environment.active, [table.name for table in environment.workload.tables])
    keys = {entry.key for entry in inputs if entry.section == "Load"}
    assert f"{ORDERS}reads.seasons.peak" in keys
    assert f"{ORDERS}reads.peak_per_second" not in keys
    assert "workload.tables.events.reads.peak_per_second" in keys


def test_a_multiple_is_varied_and_read_with_its_unit() -> None:
    peak = PageInput.of("workload.reads.seasons.peak", "workload.reads.seasons.peak")
    assert _varied(peak, "2.5x") == ("2x", "3x")
    assert NUMBERS["multiple"]("2.5x") == 2.5
