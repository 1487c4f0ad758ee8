"""`warmbase plan --months` prints each purchase in a row, and says how it is applied."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from cli.main import warmbase
from sizing.problem import Infeasible


def run(*options: str) -> Result:
    core = "clusters.blue.core={type: r8g.xlarge}"
    return CliRunner().invoke(warmbase, ["plan", "dev", "--set", core, "--months", "6", "--growth", "30%", *options])


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


@pytest.mark.parametrize("options", [["--frontier", "p99"], ["--why"], ["--output", "markdown"]])
def test_growth_has_a_page_of_its_own(options: list[str]) -> None:
    assert run(*options).exit_code == 2


def test_targets_that_nothing_meets_today_are_an_error() -> None:
    assert isinstance(run("--set", "targets.p99=1 ms").exception, Infeasible)
