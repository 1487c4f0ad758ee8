"""`warmbase diff` against a file: each change with its impact and its cost, in 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import PROJECT, run

SMALLER = PROJECT / "tests/configurations/smaller-cache.json"


def test_the_example_of_a_smaller_cache_differs_in_two_settings(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        document = json.loads(run("render", "prod", "--format", "run-job-flow").stdout)
        site = core_site(document)
        site["hbase.rs.cacheblocksonwrite"], site["hbase.bucketcache.size"] = "false", "409600"
        SMALLER.write_text(json.dumps(document, indent=1) + "\n")
    changes = json.loads(run("diff", "prod", "--against", str(SMALLER), "--output", "json").stdout)["changes"]
    assert {change["key"] for change in changes} == {"hbase.rs.cacheblocksonwrite", "hbase.bucketcache.size"}


def core_site(document: dict[str, Any]) -> dict[str, str]:
    """Return the `hbase-site` of the core nodes."""
    [core] = [
        instance_group
        for instance_group in document["Instances"]["InstanceGroups"]
        if instance_group["InstanceRole"] == "CORE"
    ]
    [site] = [
        configuration["Properties"]
        for configuration in core["Configurations"]
        if configuration["Classification"] == "hbase-site"
    ]
    properties: dict[str, str] = site
    return properties


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what prod was rendered as, before a change of each kind."""
    document = json.loads(run("render", "prod", "--format", "run-job-flow").stdout)
    site = core_site(document)
    site["hbase.rs.cacheblocksonwrite"] = "false"
    site["hbase.regionserver.handler.count"] = "60"
    document["ReleaseLabel"] = "emr-7.11.0"
    file = tmp_path_factory.mktemp("earlier") / "before.json"
    file.write_text(json.dumps(document))
    return file


def test_other_volumes_are_not_what_a_running_cluster_gets(tmp_path: Path) -> None:
    document = json.loads(run("render", "prod", "--format", "run-job-flow").stdout)
    file = tmp_path / "before.json"
    file.write_text(json.dumps(document).replace('"SizeInGB": 1016', '"SizeInGB": 1017'))
    printed = " ".join(run("diff", "prod", "--against", str(file)).stdout.split())
    assert "1 x 1017 GiB" in printed
    assert "`warmbase reconfigure prod` computes all other settings for the nodes that run" in printed
    file.write_text(json.dumps(document).replace("emr-7.12.0", "emr-7.11.0"))
    assert "warmbase reconfigure" not in run("diff", "prod", "--against", str(file)).stdout


def test_diff_names_every_kind_of_change_and_its_cost(earlier: Path) -> None:
    result = run("diff", "prod", "--against", str(earlier))
    assert result.returncode == 0
    assert max(len(line) for line in result.stdout.replace(str(earlier), "").splitlines()) <= 80
    order = [
        "3 differences",
        "Live",
        "hbase.rs.cacheblocksonwrite",
        "false -> true",
        "Rolling restart",
        "60 -> 160",
        "New cluster",
        "emr-7.11.0 -> emr-7.12.0",
        "Cost of applying all of it",
        "for two sets of nodes",
    ]
    text = " ".join(result.stdout.split())
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_diff_as_json_has_every_key(earlier: Path) -> None:
    document = json.loads(run("diff", "prod", "--against", str(earlier), "--output", "json").stdout)
    assert set(document) == {"source", "against", "changes", "cost"}
    assert {change["applied"] for change in document["changes"]} == {"live", "rolling restart", "new cluster"}
    assert set(document["cost"]) >= {"restart_seconds", "cache_lost_bytes", "warm_up_seconds", "get_usd", "node_usd"}


@pytest.mark.parametrize("form", ["emr", "hbase-site", "run-job-flow"])
@pytest.mark.parametrize("group", ["core", "primary"])
def test_no_rendering_differs_from_itself(form: str, group: str, tmp_path: Path) -> None:
    file = tmp_path / "before"
    file.write_text(run("render", "dev", "--format", form, "--group", group).stdout)
    assert run("diff", "dev", "--against", str(file), "--group", group).stdout.split()[-3:] == [
        "nodes:",
        "no",
        "difference",
    ]
