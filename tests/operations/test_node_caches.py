"""The answer of a node names the files in its cache, and shows how far its index may be behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local_aws.emr.simulated_hbase import BLOCK_BYTES, BLOCKS, persisted_index
from warmbase.operations.hbase.emr_hbase import CacheIndex, contents

COUNTERS = "/var/lib/warmbase/cache-counters.json"
SERVERS = ["a:16020", "b:16020"]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The files of a node whose RegionServer has the regions of the first server in its cache."""
    contents = {
        "index": persisted_index(SERVERS, SERVERS[0]),
        COUNTERS.lstrip("/"): json.dumps({"at": time.time(), "changed_at": None}).encode(),
        "programs/systemctl": b'#!/bin/sh\n[ ! -e "$0.inactive" ]\n',
        "programs/aws": f'#!/bin/sh\necho "$*" >{tmp_path}/call\nexec cat >{tmp_path}/answer\n'.encode(),
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run(node: Path) -> subprocess.CompletedProcess[str]:
    """Run the program of a node on these files."""
    index = CacheIndex(file=str(node / "index"), format="chunked", longest_seconds=600)
    program = index.reading("s3://logs/emr/j-1/warmbase/answer.json")
    program = program.replace("/usr/bin/python3", sys.executable).replace(COUNTERS, f"{node}{COUNTERS}")
    path = f"{node}/programs:{os.environ['PATH']}"
    return subprocess.run(["sh", "-c", program], env={"PATH": path}, capture_output=True, text=True, check=False)


def test_a_node_writes_its_files_to_s3_and_prints_nothing(node: Path) -> None:
    process = run(node)
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    assert (node / "call").read_text().split()[-2:] == ["-", "s3://logs/emr/j-1/warmbase/answer.json"]
    cache = contents(json.loads((node / "answer").read_text()), 600.0)
    assert len(cache.files) == 4
    assert set(cache.files.values()) == {(BLOCKS, BLOCKS * BLOCK_BYTES)}
    assert 0 <= cache.age_seconds < 60


CASES: list[tuple[Callable[[Path], object], str]] = [
    (lambda node: (node / "programs/systemctl.inactive").touch(), "its RegionServer is not running"),
    (lambda node: (node / "index").unlink(), "there is no index at"),
    (lambda node: (node / "index").write_bytes(b"V2UF"), "could not be read"),
    (lambda node: (node / COUNTERS.lstrip("/")).unlink(), "the publisher of the node's figures has not run"),
]


@pytest.mark.parametrize(("damage", "reason"), CASES, ids=[reason for _, reason in CASES])
def test_a_node_that_cannot_answer_says_why(node: Path, damage: Callable[[Path], object], reason: str) -> None:
    damage(node)
    process = run(node)
    assert process.returncode != 0
    assert reason in process.stderr
    assert not (node / "answer").exists()


@pytest.mark.parametrize(
    ("publisher", "written_at", "behind"),
    [
        ({"at": 990.0, "changed_at": None}, 10.0, 10.0),
        ({"at": 990.0, "changed_at": 400.0}, 10.0, 600.0),
        ({"at": 100.0, "changed_at": None}, 300.0, 700.0),
    ],
)
def test_an_old_index_of_an_unchanged_cache_is_current(
    publisher: dict[str, float | None], written_at: float, behind: float
) -> None:
    """The publisher looks each minute; what it has not seen may have changed the cache."""
    document = {"now": 1000.0, "written_at": written_at, "publisher": publisher, "files": {"f": [2, 9]}}
    cache = contents(document, 600.0)
    assert (cache.age_seconds, cache.behind_seconds) == (1000.0 - written_at, behind)
    assert cache.files == {"f": (2, 9)}
