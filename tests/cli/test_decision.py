"""`warmbase plan` with ranges: the page fits the terminal, JSON is complete, and the pin on the page can be planned."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner, Result

from warmbase.cli.commands import warmbase
from warmbase.environments.planning import plan_of, requirements, world
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.reports.decision_page import pin_text
from warmbase.sizing.ranges.hbase_situation import HBaseSituation

CORE = "clusters.blue.core"
RANGES = ("--set", "clusters.blue.core={families: [r8g]}", "--set", "workload.stored=100..1500 GiB", "--samples", "8")


def run(*options: str) -> Result:
    return CliRunner().invoke(warmbase, ["plan", "dev", *RANGES, *options])


@pytest.fixture(scope="module")
def page() -> str:
    return run().stdout


def test_the_page_fits_and_names_the_cluster_and_its_risk(page: str) -> None:
    assert max(map(len, page.splitlines())) <= 80
    assert len(page.splitlines()) <= 40
    text = " ".join(page.split())
    for words in (
        "8 samples of the ranges, seed 1",
        "workload.stored 100 GiB to 1.46 TiB",
        "x r8g.",
        "Regret $",
        "Pin",
    ):
        assert words in text


def test_plan_evaluates_the_pin_on_the_page(page: str) -> None:
    pin = yaml.safe_load(page.split("\nPin", 1)[1].strip().replace("\n", " "))["clusters"]["blue"]["core"]
    document = json.loads(run("--output", "json").stdout)
    best = document["options"][0]
    assert (pin["type"], pin["count"]) == (best["instance_type"], best["count"])
    pinned = read_environment("dev", [Assignment.parse(f"clusters.blue.core={json.dumps(pin)}")])
    planned = plan_of(pinned, pinned.active)
    assert (planned.core.instance_type, planned.core.count) == (pin["type"], pin["count"])


@pytest.mark.parametrize("mode", ["hdfs", "s3-plain"])
def test_a_pin_without_a_cache_has_no_volumes_and_can_be_read(mode: str) -> None:
    environment = read_environment("dev", [Assignment.parse(f"storage.mode={mode}")])
    optimum = HBaseSituation(
        requirements=requirements(environment, environment.active), world=world(environment)
    ).cheapest
    assert optimum is not None
    pin = pin_text(optimum[0])
    pinned = read_environment("dev", [Assignment.parse(text) for text in (f"storage.mode={mode}", f"{CORE}={pin}")])
    assert plan_of(pinned, pinned.active).core.volumes == optimum[0].volumes


def test_the_page_and_json_name_the_range_that_another_follows() -> None:
    reads = "workload.reads.per_second={low: 100, high: 300, follows: workload.stored}"
    result = run("--set", reads, "--output", "json")
    document = json.loads(result.stdout)
    assert [entry["follows"] for entry in document["ranges"]] == [None, "workload.stored"]
    assert list(document["worth_usd_per_month"]) == ["workload.stored"]
    page = run("--set", reads).stdout
    assert "workload.reads.per_second 100 to 300, following workload.stored" in " ".join(page.split())


def test_json_has_every_option_with_the_least_regret_first() -> None:
    document = json.loads(run("--output", "json").stdout)
    regrets = [option["mean_regret_usd_per_month"] for option in document["options"]]
    assert regrets == sorted(regrets)
    assert document["samples"] == 8
    assert document["ranges"][0]["key"] == "workload.stored"
    assert set(document["worst_sample"]) == {"workload.stored"} == set(document["worth_usd_per_month"])


@pytest.mark.parametrize("options", [["--why"], ["--against", "prod"], ["--output", "markdown"]])
def test_a_plan_from_ranges_refuses_the_options_of_other_pages(options: list[str]) -> None:
    assert run(*options).exit_code == 2
