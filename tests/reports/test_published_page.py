"""docs/published-results.md is what the calculator computes today."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.published import page as published_page
from tools.published.benchmark import Benchmark
from tools.published.figure import SourceFigures
from tools.published.page import page_text, published_benchmark
from tools.published.sources import all_results
from tools.reference import reference

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs/published-results.md"


@pytest.fixture(scope="module", autouse=True)
def sources() -> Iterator[tuple[SourceFigures, ...]]:
    """Compute the figures once, for the page, for the command and for the tests: it takes two seconds."""
    benchmark = published_benchmark()
    figures = all_results(benchmark)

    def computed(of: Benchmark) -> tuple[SourceFigures, ...]:
        assert of == benchmark
        return figures

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_page, "all_results", computed)
        yield figures


@pytest.fixture(scope="module")
def page() -> str:
    return page_text()


def test_the_page_is_current(request: pytest.FixtureRequest, page: str) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_the_command_prints_the_page(page: str) -> None:
    result = CliRunner().invoke(reference, ["published-results"])
    assert result.exit_code == 0
    assert result.stdout == page


def test_every_figure_is_a_row_and_every_remark_is_below_its_table(
    page: str, sources: tuple[SourceFigures, ...]
) -> None:
    flat = " ".join(page.split())
    for results in sources:
        assert f"*{results.title}*" in page
        for number, figure in enumerate(results.figures, 1):
            assert f"| {number} | **{figure.what}**, {figure.place} | {figure.published} {figure.unit}".rstrip() in page
            assert not figure.remark or f"- **{number}**: {figure.remark}" in flat


def test_every_row_of_a_table_has_the_cells_of_its_header(page: str) -> None:
    tables = [part.splitlines() for part in page.split("\n\n") if part.startswith("|")]
    assert len(tables) > 10
    for lines in tables:
        assert {line.count("|") for line in lines} == {lines[0].count("|")}
