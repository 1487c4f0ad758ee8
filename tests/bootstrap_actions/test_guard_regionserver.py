"""The action that leaves a program and a drop-in for the RegionServer's unit, and what systemd makes of them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from configurations.bootstrap import program, script
from tests.bootstrap_actions.before_regionserver import hbase_site
from tests.bootstrap_actions.node import Node
from tests.bootstrap_actions.test_actions import changed

DROP_IN = "/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf"


@pytest.fixture
def node(core_node: Node) -> Node:
    """With a cache volume of 1 GiB where the plan has it."""
    core_node.write("/action.sh", script("guard-regionserver"), mode=0o755)
    core_node.ask("mkdir", "-p", "/warmbase/cache", "/warmbase/system")
    core_node.ask("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", "/warmbase/cache")
    return core_node


def act(node: Node, *changes: str) -> subprocess.CompletedProcess[str]:
    url, digest = node.upload("before_regionserver.py", program("before_regionserver.py").read_bytes())
    fetched = (f"--program={url}", f"--program-sha256={digest}")
    return node.run("/action.sh", *changed("guard-regionserver", *fetched, *changes))


def test_systemd_accepts_what_is_left_for_it(node: Node) -> None:
    (node.root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    node.write("/stubs/systemctl", '#!/bin/sh\necho "$@" >>/systemctl.calls\n', mode=0o755)
    answer = act(node, "--stop-seconds=900", "--start-seconds=120", "--open-files=100000", "--processes=5000")
    assert answer.returncode == 0, answer.stderr
    assert node.read("/systemctl.calls") == "daemon-reload\n"
    unit = node.read(DROP_IN)
    wanted = {
        "TimeoutStopSec=900",
        "TimeoutStartSec=120",
        "LimitNOFILE=100000",
        "LimitNPROC=5000",
        "OOMScoreAdjust=-500",
    }
    assert wanted <= set(unit.splitlines())
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze to check the unit; the rest passed")
    node.write("/etc/systemd/system/hbase-regionserver.service", "[Service]\nExecStart=/bin/true\n")
    verify = ("systemd-analyze", "verify", "/etc/systemd/system/hbase-regionserver.service")
    assert "warmbase" not in node.run(*verify).stderr
    node.write(DROP_IN, f"{unit}Misspelt=1\n")
    assert "10-warmbase.conf" in node.run(*verify).stderr


def start_pre(node: Node) -> subprocess.CompletedProcess[str]:
    """What systemd would be answered before the RegionServer starts."""
    node.ask("sh", "-c", "id hbase >/dev/null 2>&1 || useradd --system hbase")
    joined = node.read(DROP_IN).replace("\\\n", " ")
    command = next(line for line in joined.splitlines() if line.startswith("ExecStartPre=+"))
    return node.run(*command.removeprefix("ExecStartPre=+").split())


def test_left_command_runs_as_systemd_will_run_it(node: Node) -> None:
    assert act(node).returncode == 0
    answer = start_pre(node)
    assert answer.returncode == 0, answer.stderr
    for directory in ("bucketcache", "index"):
        assert node.ask("stat", "-c", "%U:%G %a", f"/warmbase/cache/{directory}") == "hbase:hbase 750"


def test_left_command_goes_by_the_cache_as_it_was_tuned_since(node: Node) -> None:
    assert act(node).returncode == 0
    tuned = {
        "hbase.bucketcache.ioengine": "files:/warmbase/cache/tuned/blocks",
        "hbase.bucketcache.size": "1024",
        "hbase.bucketcache.persistent.path": "/warmbase/cache/tuned-index/index",
    }
    node.write("/etc/hbase/conf/hbase-site.xml", hbase_site(tuned))
    answer = start_pre(node)
    assert answer.returncode == 1
    assert "1056 MiB needed" in answer.stderr  # 512 MiB with an index of 8 would have fitted
    assert set(node.ask("ls", "/warmbase/cache").split()) == {"tuned", "tuned-index"}


def test_a_second_run_changes_nothing(node: Node) -> None:
    assert act(node).returncode == 0
    files = "find /etc/systemd /usr/local/lib/warmbase -newer /stubs/lsblk -printf '%p %m %T@ %s\\n' | sort"
    before = node.ask("sh", "-c", files)
    again = act(node)
    assert again.returncode == 0
    assert again.stderr.count("is as it should be") == 2
    assert node.ask("sh", "-c", files) == before
