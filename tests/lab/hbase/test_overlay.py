"""The lab gives HBase the rendered files, except for the changes that it lists with reasons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.hbase.configuration import Overlay, ServerIdentity, rendered_flags, server_site, varied, write_site
from lab.hbase.result import Substitution
from lab.machine.paths import LabPaths, Ports
from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import site_properties

PORTS = Ports(
    store=1, endpoint=2, control=3, zookeeper=4, master=5, master_info=6, servers=(7, 8), servers_info=(9, 10)
)


def test_the_one_above_wins_and_none_leaves_out() -> None:
    below = Overlay({"a": ("1", "below"), "b": ("1", "below")})
    both = below | varied({"b": None, "c": "3"}, "above")
    assert both.laid_over({"b": "0", "d": "4"}) == {"a": "1", "c": "3", "d": "4"}


def test_only_what_differs_is_a_substitution() -> None:
    overlay = Overlay({"same": ("1", "why"), "other": ("2", "why"), "gone": (None, "why")})
    assert overlay.substitutions({"same": "1", "other": "1", "gone": "1"}) == (
        Substitution(key="gone", rendered="1", lab=None, why="why"),
        Substitution(key="other", rendered="1", lab="2", why="why"),
    )


def test_what_decides_which_blocks_are_detected_is_as_rendered(
    launches: Callable[[str], Launch], tmp_path: Path
) -> None:
    place = LabPaths(root=tmp_path, ports=PORTS)
    site = server_site(launches("prod"), place, 284, ServerIdentity(number=0, volume=tmp_path))
    decisive = (
        "hbase.bucketcache.bucket.sizes",
        "hbase.bucketcache.writer.threads",
        "hbase.block.data.cachecompressed",
        "hbase.rs.prefetchblocksonopen",
        "hbase.rs.cachecompactedblocksonwrite",
        "hfile.block.cache.size",
        "hbase.master.scp.retain.assignment.force",
    )
    rendered = site_properties(site.rendered)
    assert {key: site.properties[key] for key in decisive if key in rendered} == {
        key: rendered[key] for key in decisive if key in rendered
    }
    assert site.as_rendered + sum(substitution.rendered is not None for substitution in site.substitutions) == len(
        rendered
    )


def test_nothing_listens_beyond_loopback(launches: Callable[[str], Launch], tmp_path: Path) -> None:
    place = LabPaths(root=tmp_path, ports=PORTS)
    site = server_site(launches("prod"), place, 284, ServerIdentity(number=0, volume=tmp_path))
    write_site(site, place, "server-0")
    addresses = {key: value for key, value in site.properties.items() if "ddress" in key or key.endswith("quorum")}
    assert set(addresses.values()) == {"127.0.0.1"}
    assert "127.0.0.1" in (place.configuration("server-0") / "hbase-site.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ('"-XX:+UseZGC -XX:+ZGenerational"', ("-XX:+UseZGC", "-XX:+ZGenerational")),
        ('"$HBASE_REGIONSERVER_OPTS -Xmx31g -Xms31g"', ()),
        ('"-XX:MaxDirectMemorySize=4g -Xlog:gc*:file=/var/log/hbase/gc.log"', ()),
    ],
)
def test_flags_are_as_rendered_but_for_sizes_and_paths(options: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    flags_here = rendered_flags(
        {"HBASE_REGIONSERVER_OPTS": options}, heap_mib=1536, direct_mib=512, log=tmp_path / "gc.log"
    )
    sizes = ("-Xms1536m", "-Xmx1536m", "-XX:MaxDirectMemorySize=512m")
    assert flags_here == (*flags, *sizes, f"-Xlog:gc*=info:file={tmp_path / 'gc.log'}:time,uptime,level,tags")
