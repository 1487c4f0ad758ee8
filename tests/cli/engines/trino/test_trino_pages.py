"""The pages of `warmbase plan` about ranges, targets and growth, for an analytics cluster."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from tests.command import run

FILE = str(Path(__file__).parents[4] / "docs/analytics.yaml")
SCANNED = ("--set", "clusters.lake.workload.scanned=20..120 GiB", "--samples", "8")


def plan(*options: str) -> CompletedProcess[str]:
    return run("plan", FILE, "--cluster", "lake", *options)


def test_the_pin_of_the_page_for_ranges_can_be_planned() -> None:
    page = plan(*SCANNED).stdout
    assert max(map(len, page.splitlines())) <= 80
    assert "workers, each with" in " ".join(page.split())
    pin = yaml.safe_load(page.split("\nPin", 1)[1].strip().replace("\n", " "))["clusters"]["lake"]["workers"]
    best = json.loads(plan(*SCANNED, "--output", "json").stdout)["options"][0]
    assert (pin["type"], pin["count"]) == (best["instance_type"], best["count"])
    planned = json.loads(plan("--set", f"clusters.lake.workers={json.dumps(pin)}", "--output", "json").stdout)
    assert pin["volumes"][0]["type"] == "nvme"
    assert planned["after"]["workers"]["count"] == pin["count"]


def test_ranges_of_the_analytics_cluster_do_not_hide_the_plan_of_hbase(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(Path(FILE).read_text().replace("scanned: 40 GiB", "scanned: 20..120 GiB"))
    assert run("plan", str(file)).stdout.startswith("shop / blue   ")
    assert "samples of the ranges" in run("plan", str(file), "--cluster", "lake", "--samples", "8").stdout
    report = tmp_path / "report.html"
    assert run("plan", str(file), "--report", str(report)).returncode == 0
    assert "mean_regret_usd_per_month" not in report.read_text()
    refused = run("render", str(file), "--cluster", "lake")
    assert refused.returncode == 2
    assert "--cluster lake" in refused.stderr


@pytest.mark.parametrize("target", ["hit_ratio", "query_time", "lost_nodes"])
def test_a_frontier_fits_the_terminal_and_marks_the_stated_value(target: str) -> None:
    page = plan("--frontier", target).stdout
    assert max(map(len, page.splitlines())) <= 80
    assert f"what targets.{target} costs a month" in page
    assert "stated" in page


@pytest.mark.parametrize(("arguments", "target"), [(("--cluster", "lake"), "p99"), ((), "query_time")])
def test_a_target_of_the_other_engine_is_refused(arguments: tuple[str, ...], target: str) -> None:
    result = run("plan", FILE, *arguments, "--frontier", target)
    assert result.returncode == 2
    assert "cluster has no such target" in result.stderr


def test_growth_has_a_row_for_each_purchase() -> None:
    page = plan("--months", "6").stdout
    assert max(map(len, page.splitlines())) <= 80
    assert "working set and queries grow by 8 % a month" in page
    document = json.loads(plan("--months", "6", "--growth", "20%", "--output", "json").stdout)
    assert document["growth"] == 0.2
    assert {"working_set_bytes", "queries_per_hour", "usd_per_month"} <= document["steps"][0].keys()


def test_a_tornado_has_the_plans_at_both_ends_of_each_input() -> None:
    page = plan("--tornado").stdout
    assert max(map(len, page.splitlines())) <= 80
    assert "query, s" in page
    inputs = {one["key"]: one for one in json.loads(plan("--tornado", "--output", "json").stdout)["inputs"]}
    spans = [abs(one["usd_per_month"][1] - one["usd_per_month"][0]) for one in inputs.values()]
    assert spans == sorted(spans, reverse=True)
    key = "clusters.lake.workload.scanned"
    for scanned, usd, ms in zip(
        ("32 GiB", "48 GiB"), inputs[key]["usd_per_month"], inputs[key]["query_ms"], strict=True
    ):
        after = json.loads(plan("--set", f"{key}={scanned}", "--output", "json").stdout)["after"]
        assert after["cost"]["usd_per_month"] == pytest.approx(usd)
        assert after["queries"]["peak_mean_seconds"] == pytest.approx(ms / 1000)


def test_the_growth_of_the_file_is_the_default() -> None:
    stated = ("--set", "clusters.lake.workload.growth=1 % a month", "--months", "2", "--output", "json")
    assert json.loads(plan(*stated).stdout)["growth"] == 0.01
    assert json.loads(plan(*stated, "--growth", "3%").stdout)["growth"] == 0.03
    assert json.loads(plan("--months", "2", "--output", "json").stdout)["growth"] == 0.08
