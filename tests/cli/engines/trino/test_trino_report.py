"""The pages that --report writes for an analytics cluster have the documents of the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from tests.report_file import blocks_of
from warmbase.engines.trino.reports import PLACES

FILE = str(Path(__file__).parents[4] / "docs/analytics.yaml")
LAKE = ("--cluster", "lake")


def document_of(command: str, *options: str) -> Any:
    return json.loads(run(command, FILE, *LAKE, *options, "--output", "json").stdout)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("report") / "lake.html"
    result = run("plan", FILE, *LAKE, "--report", str(file))
    assert result.returncode == 0, result.stderr
    return blocks_of(file)


def test_a_report_has_the_plan_and_the_plan_at_each_stop(blocks: dict[str, Any]) -> None:
    assert blocks["plan"] == document_of("plan")
    variants = blocks["report"]["variants"]
    key = "clusters.lake.workload.scanned"
    assert {key, "clusters.lake.targets.query_time", "clusters.lake.preferred_hosts"} <= variants.keys()
    [double] = [variant["answer"] for variant in variants[key] if variant["text"] == "80 GiB"]
    after = document_of("plan", "--set", f"{key}=80GiB")["after"]
    assert double["usd_per_month"] == after["cost"]["usd_per_month"]


def test_the_plots_show_the_figures_of_the_plan(blocks: dict[str, Any]) -> None:
    plan, plots = blocks["plan"], blocks["report"]["base"]["plots"]
    assert {*plots["lines"], *plots["bars"]} == {place.id for place in PLACES if place.kind in {"lines", "bars"}}
    bars = {name: {bar["name"]: bar["value"] for bar in plot["bars"]} for name, plot in plots["bars"].items()}
    queries = plan["queries"]
    assert max(bars["resources"].values()) == pytest.approx(queries["utilisation_at_peak"])
    assert bars["resources"][queries["bottleneck"]] == max(bars["resources"].values())
    assert bars["memory"]["queries, at most"] == plan["memory"]["query_bytes_per_worker"]
    assert sum(bars["memory"].values()) == 64 * 2**30
    assert sum(bars["cost"].values()) == pytest.approx(plan["cost"]["usd_per_month"])
    knee, here = plots["lines"]["hits"]["marks"]
    assert (knee["x"], here["y"]) == (plan["hit_ratio"]["knee_bytes"], plan["hit_ratio"]["predicted"])
    assert plan["cache"]["size_gib"] * 5 / 1.05 * 2**30 == pytest.approx(here["x"])


def test_the_price_by_working_set_is_that_of_compare(blocks: dict[str, Any]) -> None:
    compared = document_of("compare")
    steps = [step for step in blocks["report"]["base"]["steps"] if step["plot"] == "data"]
    here = [step for step in steps if step["x"] == 2 * 2**40]
    assert {step["column"]: step["price"]["usd_per_month"] for step in here} == {
        kind: pytest.approx(one["cost"]["usd_per_month"]) for kind, one in compared.items()
    }
    assert [step["column"] for step in steps if step["label"] == "here"] == ["drive"]


def test_advice_names_a_cheaper_place_of_the_cache(blocks: dict[str, Any]) -> None:
    [advice] = blocks["report"]["advice"]
    assert advice.startswith("$342 less a month with no cache (8 x m8g.2xlarge): every query reads from S3;")


def test_the_report_of_a_comparison_has_the_places_of_the_cache(tmp_path: Path) -> None:
    file, environment = tmp_path / "compare.html", tmp_path / "shop.yaml"
    environment.write_text(f"{Path(FILE).read_text()}    workers: {{type: r8g.4xlarge, count: 9}}\n")
    assert run("compare", str(environment), *LAKE, "--report", str(file)).returncode == 0
    found = blocks_of(file)
    assert found["plan"] == document_of("compare")
    report = found["report"]
    assert report["columns"]["names"] == ["cache on gp3", "cache on NVMe", "no cache"]
    assert report["base"]["command"] == f"warmbase compare {environment} --cluster lake"
    assert report["base"]["usd_per_month"] == document_of("plan")["cost"]["usd_per_month"], "nothing is pinned"


def test_the_report_of_ranges_has_the_decision_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "plan.html"
    ranged = ("plan", FILE, *LAKE, "--set", "clusters.lake.workload.scanned=20..60 GiB", "--samples", "8")
    assert run(*ranged, "--report", str(file)).returncode == 0
    found = blocks_of(file)
    assert found["plan"] == json.loads(run(*ranged, "--output", "json").stdout)
    assert found["report"]["base"]["middle"].endswith("clusters.lake.workload.scanned 40 GiB.")
    assert "Buy" in dict(found["report"]["rows"])


def test_a_report_of_missed_targets_shows_the_nearest_cluster(tmp_path: Path) -> None:
    file = tmp_path / "plan.html"
    missed = ("plan", FILE, *LAKE, "--set", "clusters.lake.targets.query_time=1.01s", "--report", str(file))
    assert run(*missed).returncode == 3
    verdict = blocks_of(file)["report"]["base"]["verdict"]
    assert verdict == (
        "No cluster meets the targets; this is the nearest one. It misses query_time: 1.267 s, limit 1.01."
    )
