"""`warmbase plan --months` prints each purchase in a row, and says how it is applied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from warmbase.cli.commands import warmbase
from warmbase.ground.errors import Infeasible, InvalidInput


def months(*options: str) -> Result:
    core = "clusters.blue.core={type: r8g.xlarge}"
    return CliRunner().invoke(warmbase, ["plan", "dev", "--set", core, "--months", "6", *options])


def run(*options: str) -> Result:
    return months("--growth", "30%", *options)


def test_the_page_fits_and_names_each_purchase() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    text = " ".join(result.stdout.split())
    assert "6 months in which data, reads and writes grow by 30 %" in text
    assert "new: a new cluster" in text or "are added while the cluster runs" in text


def test_json_has_the_steps() -> None:
    document = json.loads(run("--output", "json").stdout)
    assert document["steps"][0]["month"] == 0
    assert document["growth"] == 0.3


def test_the_growth_of_the_file_is_the_default() -> None:
    stated = ("--set", "workload.growth=0.5 % a month")
    assert "data, reads and writes grow by 0.5 % a month" in months(*stated).stdout
    assert "data, reads and writes grow by 2 % a month" in months(*stated, "--growth", "2%").stdout


def test_the_option_takes_a_growth_as_the_file_writes_it() -> None:
    assert months("--growth", "2 % a month").stdout == months("--growth", "2%").stdout
    assert '--set, such as "workload.growth=0..10 % a month"' in months("--growth", "0..10%").stderr


def test_the_growth_of_each_table_is_printed_if_it_differs() -> None:
    table = "{stored: 20 GiB, cell: 1 KiB, row: 4 KiB, reads: {per_second: 10}, regions: 9"
    tables = f"workload={{tables: {{users: {table}, growth: 1 % a month}}, growth: {table}}}}}}}"
    printed = months("--set", tables)
    assert printed.exit_code == 0, printed.output
    assert "6 months in which data, reads and writes grow by 1 % to 8 % a month" in " ".join(printed.stdout.split())
    assert "Growth per month: users 1 %, growth 8 %." in printed.stdout
    document = json.loads(months("--set", tables, "--output", "json").stdout)
    assert (document["growth"], document["tables"]) == (None, {"users": 0.01, "growth": 0.08})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("8 %", "'8 %' is not a growth per month"),
        ("0.08", "0.08 is not a growth per month"),
        ("101 % a month", "must be at least 0 and at most 1, not 1.01"),
    ],
)
def test_a_growth_is_a_percentage_a_month(value: str, why: str) -> None:
    error = months("--set", f"workload.growth={value}").exception
    assert isinstance(error, InvalidInput)
    assert why in str(error)


RANGES = ("--set", "workload.growth=4..30 % a month", "--set", "workload.stored=100..1500 GiB", "--samples", "16")


def test_ranges_say_when_the_first_cluster_is_outgrown() -> None:
    document = json.loads(months(*RANGES, "--output", "json").stdout)
    outgrown = document["outgrown_months"]
    assert len(outgrown) == 16
    assert document["growth"] == 0.17
    page = months(*RANGES).stdout
    assert "The table is for the middle of each range. Over 16 samples of the ranges" in page
    assert max(map(len, page.splitlines())) <= 80


def test_faster_growth_outgrows_a_cluster_sooner() -> None:
    slow, fast = (
        json.loads(months("--set", f"workload.growth={growth} % a month", "--output", "json").stdout)["outgrown_months"]
        for growth in ("2..3", "20..30")
    )
    assert all(
        later is None or (sooner is not None and sooner <= later) for sooner, later in zip(fast, slow, strict=True)
    )
    assert fast != slow


def test_a_range_of_growth_changes_nothing_of_a_plan_for_today(tmp_path: Path) -> None:
    def plan(growth: str) -> str:
        file = tmp_path / "dev.yaml"
        text = Path("environments/dev.yaml").read_text()
        file.write_text(text.replace("workload:\n", f"workload:\n  growth: {growth}\n", 1))
        result = CliRunner().invoke(warmbase, ["plan", str(file)])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert plan("4..12 % a month") == plan("8 % a month")


@pytest.mark.parametrize("options", [["--frontier", "p99"], ["--why"], ["--output", "markdown"]])
def test_growth_has_a_page_of_its_own(options: list[str]) -> None:
    assert run(*options).exit_code == 2


def test_targets_that_nothing_meets_today_are_an_error() -> None:
    assert isinstance(run("--set", "targets.p99=1 ms").exception, Infeasible)
