"""The commands that know an analytics cluster, as a user sees them, and what the others say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import run as warmbase
from warmbase.engines.trino.properties import COORDINATOR_CACHE

PROJECT = Path(__file__).parents[4]
FILE = str(PROJECT / "docs/analytics.yaml")
LAKE = ("--cluster", "lake")


def test_the_summary_says_what_to_buy_and_fits_a_terminal() -> None:
    page = warmbase("plan", FILE, *LAKE).stdout
    assert "workers: 5 x i8g.2xlarge" in page
    assert "in addition to the HBase clusters" in " ".join(page.split())
    assert len(page.splitlines()) <= 30
    assert all(len(line) <= 80 for line in page.splitlines() if "warmbase" not in line)


def test_json_is_the_plan_with_its_reasons() -> None:
    plan = json.loads(warmbase("plan", FILE, *LAKE, "--output", "json").stdout)
    assert plan["engine"] == "trino"
    assert plan["workers"]["count"] == 5
    assert {"cache.size_gib", "queries.mean_seconds", "export.hours"} <= plan["because"].keys()


def test_every_page_of_the_plan_has_its_sections() -> None:
    page = warmbase("plan", FILE, *LAKE, "--all").stdout
    assert [title in page for title in ("Why\n", "Watch\n", "Cost per month\n", "Rejected")] == [True] * 4
    assert "$0.00" not in page


def test_a_target_that_no_cluster_meets_is_an_answer_of_no(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(Path(FILE).read_text().replace("query_time: 60 s", "query_time: 1.01 s"))
    result = warmbase("plan", str(file), *LAKE)
    assert result.returncode == 3
    assert "query_time" in result.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("cold", "With empty caches"),
        ("fs.cache.directories", "/warmbase/cache/trino"),
        ("hive.metastore", "Glue"),
        ("memory", "EMR writes jvm.config itself"),
        ("cache.pages", "1 host"),
    ],
)
def test_words_properties_and_figures_are_explained(words: str, part: str) -> None:
    assert part in " ".join(warmbase("explain", FILE, words, *LAKE).stdout.split())


def test_lists_on_the_page_are_explained() -> None:
    plan = json.loads(warmbase("plan", FILE, *LAKE, "--output", "json").stdout)
    watch = " ".join(warmbase("explain", FILE, "watch", *LAKE).stdout.split())
    assert all(f"{one['severity']}: {one['message']} fix: {one['fix']}" in watch for one in plan["warnings"])
    assert (
        json.loads(warmbase("explain", FILE, "watch", *LAKE, "--output", "json").stdout)["warnings"] == plan["warnings"]
    )
    assumed = json.loads(warmbase("explain", FILE, "assumed", *LAKE, "--output", "json").stdout)["assumed"]
    assert warmbase("explain", FILE, "assumed", *LAKE).stdout.startswith("\n".join([*assumed, "State a value"]))


def test_an_unknown_word_has_a_suggestion() -> None:
    result = warmbase("explain", FILE, "fs.cache.directory", *LAKE)
    assert result.returncode == 2
    assert "did you mean fs.cache.directories" in result.stderr


def test_a_property_of_several_catalogs_is_suggested_once() -> None:
    assert warmbase("explain", FILE, "fs.cache.max-size", *LAKE).stderr.count("fs.cache.max-sizes") == 1


def test_classifications_are_rendered_for_each_group() -> None:
    core = json.loads(warmbase("render", FILE, *LAKE).stdout)
    primary = json.loads(warmbase("render", FILE, *LAKE, "--group", "primary").stdout)
    of = {
        name: {each["Classification"]: each["Properties"] for each in group}
        for name, group in (("core", core), ("primary", primary))
    }
    assert of["core"]["trino-connector-hive"]["fs.cache.directories"] == "/warmbase/cache/trino"
    assert of["primary"]["trino-connector-hive"]["fs.cache.directories"] == COORDINATOR_CACHE
    assert of["core"]["trino-connector-hive"]["fs.cache.max-sizes"] == "1484GB"
    assert warmbase("render", FILE, *LAKE, "--format", "hbase-site").returncode == 2


def test_a_command_for_hbase_says_so() -> None:
    result = warmbase("tables", FILE, *LAKE)
    assert result.returncode == 2
    assert "Trino cluster" in result.stderr


def test_caches_are_compared_side_by_side() -> None:
    result = warmbase("compare", FILE, *LAKE)
    assert result.returncode == 0
    page = " ".join(result.stdout.split())
    assert "cache on gp3 cache on NVMe no cache" in page
    compared = json.loads(warmbase("compare", FILE, *LAKE, "--output", "json").stdout)
    plan = json.loads(warmbase("plan", FILE, *LAKE, "--output", "json").stdout)
    prices = {kind: each["cost"]["usd_per_month"] for kind, each in compared.items()}
    assert min(prices["gp3"], prices["drive"]) == pytest.approx(plan["cost"]["usd_per_month"])
