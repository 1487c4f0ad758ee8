"""What bootstrap actions, and the program that systemd runs before each RegionServer start, are tried on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bootstrap_actions.before_regionserver import PROGRAM, Volume
from tests.bootstrap_actions.node import INSTANCE, Node, Unavailable


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)


@pytest.fixture
def core_node(tmp_path: Path) -> Iterator[Node]:
    """A core node without disks; skipped, with the reason, where there can be none."""
    directory = tmp_path / "node"
    directory.mkdir()
    try:
        node = Node(directory)
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        node.write(INSTANCE, '{"isMaster": false}')
        yield node
    except Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        node.close()


@pytest.fixture
def small_volume(core_node: Node) -> Node:
    """A core node whose /warmbase/cache has 64 MiB, with the program and a user hbase."""
    core_node.write("/before-regionserver", PROGRAM, mode=0o755)
    core_node.ask("sh", "-c", "id hbase >/dev/null 2>&1 || useradd --system hbase")
    core_node.ask("mkdir", "-p", "/warmbase/cache", "/etc/warmbase")
    core_node.ask("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", "/warmbase/cache")
    core_node.ask("mkdir", "/warmbase/cache/bucketcache", "/warmbase/cache/persistence")
    return core_node
