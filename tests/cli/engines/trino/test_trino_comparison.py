"""`warmbase plan` for two plans of an analytics cluster, and for environments that have one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import run
from tests.stacks.recorded import launch_record_of
from warmbase import app

PROJECT = Path(__file__).parents[4]
FILE = str(PROJECT / "docs/analytics.yaml")
LAKE = ("--cluster", "lake")
FASTER = ("--set", "clusters.lake.targets.query_time=40s")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the environment whose analytics cluster has the record of its launch."""
    directory = tmp_path_factory.mktemp("recorded")
    file = directory / "shop.yaml"
    file.write_text(Path(FILE).read_text())
    launch_record_of(file, app.synthesise(str(file), str(directory / "cdk.out")).assembly, "lake")
    return file


def test_another_value_is_compared() -> None:
    page = run("plan", FILE, *LAKE, *FASTER)
    assert page.returncode == 0
    assert max(map(len, page.stdout.splitlines())) <= 80
    text = " ".join(page.stdout.split())
    assert text.startswith("lake (Trino): $3,504 → $4,156 a month (+$653, +19 %): +1 worker; applied by a rolling")
    assert "EMR restarts Trino on each node" in text
    plans = json.loads(run("plan", FILE, *LAKE, *FASTER, "--output", "json").stdout)
    assert plans["after"]["workers"]["count"] == plans["before"]["workers"]["count"] + 1


def test_without_a_cluster_the_plans_that_differ_are_shown() -> None:
    page = run("plan", FILE, *FASTER).stdout
    assert "The plans of blue do not differ." in page
    assert "lake (Trino): $3,504 → $4,156 a month" in page
    assert list(json.loads(run("plan", FILE, *FASTER, "--output", "json").stdout)["analytics"]) == ["lake"]
    assert "- lake (Trino): $3,504 → $4,156" in run("plan", FILE, *FASTER, "--output", "markdown").stdout


def test_a_value_of_hbase_does_not_show_the_analytics_cluster() -> None:
    document = json.loads(run("plan", FILE, "--set", "targets.hit_ratio=0.8", "--output", "json").stdout)
    assert document["analytics"] == {}
    assert run("plan", FILE, FILE).stdout.endswith("The plans do not differ.\n")
    assert run("plan", FILE, FILE, *LAKE).stdout.endswith("The plans of lake do not differ.\n")


def test_a_cluster_that_only_one_file_has_is_shown(tmp_path: Path) -> None:
    without = tmp_path / "shop.yaml"
    without.write_text(Path(FILE).read_text().partition("  lake:")[0])
    assert "lake (Trino): no such cluster → $3,504 a month (5 x i8g.2xlarge)" in run("plan", str(without), FILE).stdout
    assert "lake (Trino): $3,504 a month (5 x i8g.2xlarge) → no such cluster" in run("plan", FILE, str(without)).stdout


@pytest.mark.parametrize("arguments", [(), LAKE])
def test_the_newer_plan_decides_the_exit_code(arguments: tuple[str, ...]) -> None:
    worse = run("plan", FILE, *arguments, "--set", "clusters.lake.targets.query_time=1.01s")
    assert worse.returncode == 3
    assert "no cluster meets the targets; the nearest, 200 x" in " ".join(worse.stdout.split())
    assert "clusters.lake: no cluster meets the targets" in worse.stderr


def test_the_launch_is_compared_with_today_s_plan(recorded: Path) -> None:
    launch = ("--against", "launch", "--output", "json")
    same = json.loads(run("plan", str(recorded), *LAKE, *launch).stdout)
    assert same["application"]["changes"] == []
    assert same["sources"]["before"].endswith("shop.launch/lake")
    changed = json.loads(run("plan", str(recorded), *LAKE, *launch, *FASTER).stdout)
    assert {change["key"] for change in changed["application"]["changes"]} >= {"InstanceCount"}


def test_diff_has_the_changes_that_plan_counts(recorded: Path, tmp_path: Path) -> None:
    against = ("--against", "launch", "--output", "json")
    assert json.loads(run("diff", str(recorded), *LAKE, *against).stdout)["changes"] == []
    (tmp_path / "shop.yaml").write_text(recorded.read_text().replace("query_time: 60 s", "query_time: 40 s"))
    (tmp_path / "shop.launch").symlink_to(recorded.with_suffix(".launch"))
    file = str(tmp_path / "shop.yaml")
    of_plan, of_diff = (json.loads(run(command, file, *LAKE, *against).stdout) for command in ("plan", "diff"))
    assert of_plan["application"]["changes"] == of_diff["changes"]
    assert {change["key"] for change in of_diff["changes"]} == {"InstanceCount", "query.max-memory"}
    assert "regions" not in next(change["why"] for change in of_diff["changes"] if change["key"] == "InstanceCount")


def test_diff_against_a_file_prints_each_change_and_its_cost(tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    rendered = run("render", FILE, *LAKE, "--format", "run-job-flow").stdout
    file.write_text(rendered)
    assert "no difference" in " ".join(run("diff", FILE, *LAKE, "--against", str(file)).stdout.split())
    file.write_text(rendered.replace('"i8g.2xlarge"', '"r8g.2xlarge"').replace('"1484GB"', '"1000GB"'))
    page = run("diff", FILE, *LAKE, "--against", str(file)).stdout
    assert max(map(len, page.splitlines())) <= 80
    text = " ".join(page.split())
    assert "fs.cache.max-sizes" in text
    assert "r8g.2xlarge -> i8g.2xlarge" in text
    assert "`warmbase reconfigure shop --cluster lake`" in text
    assert "all of it lost with the old cluster" in text


def test_one_plan_is_printed_as_markdown() -> None:
    page = run("plan", FILE, *LAKE, "--output", "markdown").stdout
    assert "lake (Trino): $3,504 a month (5 x i8g.2xlarge)" in page
    assert "| worker instances | $2,505 |" in page
