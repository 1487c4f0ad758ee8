"""docs/published-results.md is what the calculator computes today."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.published import published
from published.sources import all_results
from reports.published_page import page_text, published_benchmark

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs/published-results.md"


@pytest.fixture(scope="module")
def page() -> str:
    return page_text()


def test_the_page_is_current(request: pytest.FixtureRequest, page: str) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_the_command_prints_the_page(page: str) -> None:
    result = CliRunner().invoke(published)
    assert result.exit_code == 0
    assert result.stdout == page


def test_every_figure_is_a_row_and_every_remark_is_below_its_table(page: str) -> None:
    flat = " ".join(page.split())
    for results in all_results(published_benchmark()):
        assert f"*{results.source.title}*" in page
        for number, figure in enumerate(results.figures, 1):
            assert f"| {number} | **{figure.what}**, {figure.place} | {figure.published} {figure.unit}".rstrip() in page
            assert not figure.remark or f"- **{number}**: {figure.remark}" in flat


def test_every_row_of_a_table_has_the_cells_of_its_header(page: str) -> None:
    tables = [part.splitlines() for part in page.split("\n\n") if part.startswith("|")]
    assert len(tables) > 10
    for lines in tables:
        assert {line.count("|") for line in lines} == {lines[0].count("|")}
