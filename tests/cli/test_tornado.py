"""`warmbase plan --tornado` prints the inputs in the order in which they move the price."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from warmbase.cli.commands import warmbase
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.uncertainty.judgements import JUDGEMENTS

CORE = "clusters.blue.core={type: r8g.xlarge}"
STORED = "workload.stored=100..1500 GiB"


def run(*options: str) -> Result:
    return CliRunner().invoke(warmbase, ["plan", "dev", "--tornado", "--set", CORE, "--set", STORED, *options])


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return dict(json.loads(run("--output", "json").stdout))


@pytest.fixture(scope="module")
def inputs(document: dict[str, Any]) -> list[dict[str, Any]]:
    return list(document["inputs"])


def test_the_input_that_moves_the_price_most_comes_first(inputs: list[dict[str, Any]]) -> None:
    spans = [abs(one["usd_per_month"][1] - one["usd_per_month"][0]) for one in inputs]
    assert spans == sorted(spans, reverse=True)
    assert inputs[0]["key"] == "workload.stored"
    assert len(inputs) == len({str(one["key"]) for one in inputs}) == 5


def test_an_input_does_not_move_to_a_value_that_the_file_may_not_have() -> None:
    inputs = json.loads(run("--set", "workload.cell=2 KiB", "--set", "workload.row=2 KiB", "--output", "json").stdout)
    ends = {one["key"]: (one["low"], one["high"]) for one in inputs["inputs"]}
    assert ends["workload.row"] == (2048, pytest.approx(1.2 * 2048))
    assert ends["workload.cell"] == (pytest.approx(0.8 * 2048), 2048)
    assert all(None not in one["usd_per_month"] for one in inputs["inputs"])


def test_each_end_is_the_plan_for_that_value(inputs: list[dict[str, Any]]) -> None:
    for stored, usd in zip(("100 GiB", "1500 GiB"), inputs[0]["usd_per_month"], strict=True):
        environment = read_environment("dev", [Assignment.parse(CORE), Assignment.parse(f"workload.stored={stored}")])
        assert plan_of(environment, environment.active).cost.usd_per_month == pytest.approx(usd)


def test_every_judgement_is_in_the_document(document: dict[str, Any]) -> None:
    judgements = document["judgements"]
    assert [one["key"] for one in judgements if one["key"] == "memory of other daemons"]
    assert len(judgements) == len(JUDGEMENTS)
    spans = [abs(one["usd_per_month"][1] - one["usd_per_month"][0]) for one in judgements]
    assert spans == sorted(spans, reverse=True)


def test_the_page_shows_the_judgements_that_matter_and_counts_the_others(document: dict[str, Any]) -> None:
    page = run().stdout
    shown = [one for one in document["judgements"] if one["key"] in page]
    for one in document["judgements"]:
        (low, high), (fast, slow) = one["usd_per_month"], one["p99_ms"]
        assert (one in shown) == (abs(high - low) > 0.001 * low or abs(slow - fast) > 0.05 * fast)
    assert f"{len(document['judgements']) - len(shown)} other judgements move the price by at most 0.1 %" in page


def test_the_page_fits_the_terminal_and_names_an_end_that_nothing_serves() -> None:
    result = run("--set", "targets.p99=5 ms")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "one input at a time" in result.stdout


@pytest.mark.parametrize("options", [["--why"], ["--frontier", "p99"], ["--output", "markdown"]])
def test_it_has_a_page_of_its_own(options: list[str]) -> None:
    assert run(*options).exit_code == 2
