"""`warmbase plan --frontier` prints a row for each cluster, and marks the value of the file."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from warmbase.cli.commands import warmbase
from warmbase.ground.errors import Infeasible, InvalidInput


def run(*options: str) -> Result:
    return CliRunner().invoke(
        warmbase, ["plan", "dev", "--set", "clusters.blue.core={type: r8g.xlarge}", "--frontier", *options]
    )


@pytest.mark.parametrize("target", ["hit_ratio", "p99", "lost_nodes"])
def test_the_page_fits_the_terminal(target: str) -> None:
    result = run(target)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert f"what targets.{target} costs a month" in result.stdout


def test_the_stated_value_is_marked() -> None:
    assert "(stated" in run("hit_ratio").stdout


def test_json_has_every_step() -> None:
    document = json.loads(run("lost_nodes", "--output", "json").stdout)
    assert [step["value"] for step in document["steps"]] == [0, 1, 2, 3, 4]
    assert document["stated"] == 0


@pytest.mark.parametrize("mode", ["hdfs", "s3-plain"])
def test_without_a_cache_there_is_no_hit_ratio_to_price(mode: str) -> None:
    result = run("hit_ratio", "--set", f"storage.mode={mode}")
    assert isinstance(result.exception, InvalidInput)
    assert "no cache on disk answers reads" in str(result.exception)


def test_a_target_is_not_priced_where_another_one_cannot_be_met() -> None:
    result = run("lost_nodes", "--set", "targets.p99=1ms")
    assert isinstance(result.exception, Infeasible)
    assert "no cluster meets the other targets" in str(result.exception)


@pytest.mark.parametrize("options", [["p99", "--why"], ["p99", "--output", "markdown"], ["p99", "--against", "prod"]])
def test_a_frontier_refuses_the_options_of_other_pages(options: list[str]) -> None:
    assert run(*options).exit_code == 2


def test_a_range_needs_one_value_for_a_frontier() -> None:
    error = run("p99", "--set", "workload.stored=1..2 TiB").exception
    assert isinstance(error, InvalidInput)
    assert "--set workload.stored" in str(error)
    assert "which only `warmbase plan ENV` (alone or with --tornado, --months or --report) and" in str(error)
