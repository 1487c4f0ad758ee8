"""The action that tries the RegionServer's flags, on real JVMs where the lab has brought one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from configurations.bootstrap import script
from configurations.exported import exported, region_server_flags
from configurations.launch import Launch
from lab.hbase.software import problems
from lab.hbase.software.runtime import runtime
from tests.bootstrap_actions.node import Node

SAYS_ITS_FLAGS = """#!/bin/sh
printf '%s\\n' "$@" >/flags
echo 'openjdk version "21.0.5"' >&2
"""


@pytest.fixture
def node(core_node: Node) -> Node:
    core_node.write("/action.sh", script("prepare-java"), mode=0o755)
    return core_node


def test_what_is_rendered_is_tried_without_what_takes_the_whole_heap(
    node: Node, launches: Callable[[str], Launch]
) -> None:
    flags = region_server_flags(exported(launches("prod").settings.core))
    assert "-XX:+ZGenerational" in flags
    node.write("/opt/jdk/bin/java", SAYS_ITS_FLAGS, mode=0o755)
    answer = node.run("/action.sh", "--java-home=/opt/jdk", f"--flags={' '.join(flags)}")
    assert answer.returncode == 0, answer.stderr
    tried = node.read("/flags").splitlines()
    assert tried[-1] == "-version"
    assert {"-XX:+UseZGC", "-XX:+ZGenerational", "-XX:+HeapDumpOnOutOfMemoryError"} < set(tried)
    left_out = set(flags) - set(tried)
    assert {each.partition("=")[0].rstrip("0123456789m") for each in left_out} == {
        "-Xms",
        "-XX:+AlwaysPreTouch",
        "-XX:HeapDumpPath",
        "-Xlog:gc,gc+init,safepoint:file",
    }


def test_a_java_that_is_not_there_is_installed(node: Node) -> None:
    node.write("/packaged/java", SAYS_ITS_FLAGS, mode=0o755)
    node.write("/stubs/yum", "#!/bin/sh\nmkdir -p /opt/jdk/bin\ncp /packaged/java /opt/jdk/bin/\n", mode=0o755)
    answer = node.run("/action.sh", "--java-home=/opt/jdk", "--flags=-Xmx64m")
    assert answer.returncode == 0, answer.stderr
    assert "installing Corretto 21" in answer.stderr


def test_a_java_that_cannot_be_had_fails_the_node_with_the_reason(node: Node) -> None:
    node.write("/stubs/yum", "#!/bin/sh\necho 'no such package' >&2\nexit 1\n", mode=0o755)
    answer = node.run("/action.sh", "--java-home=/opt/jdk", "--flags=-Xmx64m")
    assert answer.returncode == 1
    assert "/opt/jdk/bin/java is not there. fix: launch a release from emr-7.10.0 on" in answer.stderr


def test_flags_that_a_real_java_refuses_fail_the_node(node: Node, launches: Callable[[str], Launch]) -> None:
    found = runtime()
    if found is None or problems():
        pytest.skip("needs the lab's Java: warmbase lab setup")
    home = Path(found.java).parents[1]
    flags = " ".join(region_server_flags(exported(launches("prod").settings.core)))
    answer = node.run("/action.sh", f"--java-home={home}", f"--flags={flags}")
    assert answer.returncode == 0, answer.stderr
    refused = node.run("/action.sh", f"--java-home={home}", f"--flags={flags} -XX:+UseNoSuchCollector")
    assert refused.returncode == 1
    assert "Unrecognized VM option 'UseNoSuchCollector'" in refused.stderr
    assert "fix: give flags that it knows" in refused.stderr
