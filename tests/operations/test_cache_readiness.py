"""The program that checks on a node whether a restart would keep the cache names the first reason against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS
from warmbase.configurations.bootstrap import program
from warmbase.configurations.node_files import INDEX_FILE
from warmbase.operations.hbase.emr_hbase import CacheIndex

LONGEST_SECONDS = 600
INDEX = CacheIndex(file=INDEX_FILE, format="chunked", longest_seconds=LONGEST_SECONDS)
WHOLE = b"PBUF\x01\x00"
DROP_IN = "etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf"
GUARD = "usr/local/lib/warmbase/before_regionserver.py"
COUNTERS = "var/lib/warmbase/cache-counters.json"
ROOTS = ("/etc/systemd", "/etc/warmbase", "/usr/local", "/usr/bin/python3", "/var/lib")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The files of a node whose cache would survive."""
    contents = {
        INDEX_FILE.lstrip("/"): WHOLE,
        DROP_IN: b"[Service]\n",
        GUARD: program("before_regionserver.py").read_bytes(),
        COUNTERS: json.dumps({"at": 1.0, "counters": {"hits": 7}, "changed_at": None}).encode(),
        "usr/bin/python3": f'#!/bin/sh\nexec {sys.executable} "$@"\n'.encode(),
        "programs/systemctl": b'#!/bin/sh\n[ ! -e "$0.inactive" ]\n',
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def reason(node: Path) -> str:
    """Return what the program prints, with the paths of a real node."""
    text = INDEX.check()
    for root in (*ROOTS, INDEX_FILE):
        text = text.replace(root, f"{node}{root}")
    path = f"{node}/programs:{os.environ['PATH']}"
    process = subprocess.run(
        ["sh", "-c", text], env={"PATH": path}, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    return process.stdout.strip().replace(str(node), "")


def changed(seconds_ago: float) -> Callable[[Path], object]:
    """Let the cache have differed from its index for so long."""

    def write(node: Path) -> None:
        document = {"at": 1.0, "changed_at": time.time() - seconds_ago}
        (node / COUNTERS).write_text(json.dumps(document))

    return write


def empty(node: Path) -> None:
    """Let the server have cached nothing, so that HBase has written no index."""
    (node / INDEX_FILE.lstrip("/")).unlink()
    (node / COUNTERS).write_text(json.dumps({"at": 1.0, "counters": {"hits": 7, "used_bytes": 0}, "changed_at": None}))


CASES: list[tuple[Callable[[Path], object], str]] = [
    (lambda _: None, ""),
    (changed(LONGEST_SECONDS / 2), ""),
    (changed(2 * LONGEST_SECONDS), "the cache has differed from its index for 1"),
    (lambda node: (node / INDEX_FILE.lstrip("/")).unlink(), f"there is no index at {INDEX_FILE}"),
    (empty, ""),
    (lambda node: (node / INDEX_FILE.lstrip("/")).write_bytes(b"V2UF\0\0"), f"{INDEX_FILE} is damaged: "),
    (lambda node: (node / DROP_IN).unlink(), f"/{DROP_IN} is missing"),
    (lambda node: (node / GUARD).unlink(), f"/{GUARD} is missing"),
    (lambda node: (node / COUNTERS).unlink(), f"/{COUNTERS} cannot be read"),
    (lambda node: (node / "programs/systemctl.inactive").touch(), "its RegionServer is not running"),
]


@pytest.mark.parametrize(("damage", "expected"), CASES)
def test_the_first_reason_is_named(damage: Callable[[Path], object], expected: str, node: Path) -> None:
    damage(node)
    found = reason(node)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_a_guard_that_is_switched_off_is_a_reason(node: Path) -> None:
    (node / "etc/warmbase").mkdir()
    (node / "etc/warmbase/skip-index-guard").touch()
    assert reason(node) == "/etc/warmbase/skip-index-guard exists, so nothing checks the index before the start"
