"""The program that Systems Manager runs on a node of Trino: its facts, and null for what it cannot read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.bootstrap_actions import test_publish_trino_metrics
from tests.bootstrap_actions.services import services
from tests.operations.test_verification_probe import answer
from warmbase.engines.trino.verification import PROGRAM
from warmbase.operations.on_node import probe_trino
from warmbase.operations.verify.probe import NodeProgram

PAGE = b"x" * 1000
MEMORY: dict[str, object] = {"HeapMemoryUsage": {"init": 1, "used": 2, "committed": 3, "max": 4096}}


def facts_of(directory: Path, url: str, *keys: str) -> dict[str, Any]:
    places = (f"--configuration={directory}/conf", f"--proc={directory}/proc", f"--trino={url}", "--catalog=hive")
    return answer(directory, NodeProgram(PROGRAM, (*places, *keys)))


def test_facts_are_null_on_a_machine_that_is_not_a_node(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "http://127.0.0.1:1", "config.properties:spill-enabled")
    assert (facts["trino"], facts["info"], facts["pages"]) == (None, None, None)
    assert set(facts["figures"].values()) == {None}
    assert facts["configuration"] == {"config.properties:spill-enabled": None}
    assert facts["owners"] == {"/warmbase/system/hdfs": None}


def test_a_worker_shows_its_server_its_files_and_the_age_of_its_pages(tmp_path: Path) -> None:
    cache, process = tmp_path / "cache" / "LOCAL", tmp_path / "proc" / "7"
    for directory in (cache, process, tmp_path / "conf" / "catalog"):
        directory.mkdir(parents=True)
    (process / "cmdline").write_text("java\0-Xmx4g\0io.trino.server.TrinoServer\0")
    (process / "limits").write_text("Max open files            131072  131072  files\n")
    (tmp_path / "conf" / "config.properties").write_text("# Amazon's\nspill-enabled = true\n")
    (tmp_path / "conf" / "catalog" / "hive.properties").write_text(f"fs.cache.directories={tmp_path}/cache\n")
    for name, age_seconds in (("old", -60), ("young", 60)):
        (cache / name).write_bytes(PAGE)
        os.utime(cache / name, (0, test_publish_trino_metrics.STARTED / 1000 + age_seconds))
    with services() as node:
        node.trino = test_publish_trino_metrics.beans(5_000, 3_000, used=2_000)
        node.trino[test_publish_trino_metrics.RUNTIME]["SpecVersion"] = "24"
        node.trino[probe_trino.MEMORY] = MEMORY
        facts = facts_of(tmp_path, node.url, "config.properties:spill-enabled", "catalog/hive.properties:no.such")
    assert "-Xmx4g" in facts["trino"]["arguments"]
    assert facts["info"] == {"version": "476-amzn-1", "coordinator": False, "starting": False}
    assert facts["figures"] == {
        "java": "24",
        "started_ms": test_publish_trino_metrics.STARTED,
        "heap_bytes": 4096,
        "cached_bytes": 5_000,
        "fetched_bytes": 3_000,
        "space_bytes": 2_000,
    }
    assert facts["configuration"] == {
        "config.properties:spill-enabled": "true",
        "catalog/hive.properties:no.such": None,
    }
    assert facts["pages"] == {"bytes": 2_000, "older_bytes": 1_000}
    assert facts["owners"].keys() == {"/warmbase/system/hdfs", f"{tmp_path}/cache"}


def test_a_server_without_the_cache_has_no_figures_of_it(tmp_path: Path) -> None:
    with services() as node:
        node.trino = {
            test_publish_trino_metrics.RUNTIME: {"StartTime": test_publish_trino_metrics.STARTED, "SpecVersion": "24"}
        }
        figures = facts_of(tmp_path, node.url)["figures"]
    assert (figures["java"], figures["cached_bytes"], figures["space_bytes"]) == ("24", None, None)


def test_pages_are_not_counted_for_longer_than_systems_manager_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page").write_bytes(PAGE)
    assert probe_trino.pages([str(tmp_path)], 0.0) == {"bytes": 1_000, "older_bytes": 0}
    monkeypatch.setattr(probe_trino, "COUNT_SECONDS", -1.0)
    assert probe_trino.pages([str(tmp_path)], 0.0) is None


def test_it_reads_the_beans_of_the_publisher_at_the_same_port() -> None:
    constants = dict(
        re.findall(
            r'^(TRINO|READS|SPACE_USED|RUNTIME) = (".*")', test_publish_trino_metrics.PROGRAM.read_text(), re.MULTILINE
        )
    )
    assert len(constants) == 4
    assert {name: f'"{getattr(probe_trino, name)}"' for name in constants} == constants
