from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.facts.keys.class_bytes import STRING, class_bytes
from tools.keys.jar import class_keys, is_key, jar_keys, read_class

KEYS = (
    "hbase.rootdir",
    "hbase.regionserver.handler.count",
    "hbase.MetaMigrationConvertingToPB",
    "hbase.normalizer.throughput.max_bytes_per_sec",
    "hadoop.http.header.X-FRAME-OPTIONS",
    "fs.AbstractFileSystem.file.impl",
    "zookeeper.4lw.commands.whitelist",
    "security.client.protocol.acl",
)
OTHERS = (
    "hbase",
    "hbase:meta",
    "hbase.",
    "hbase.coprocessor.",
    "yarn.client.failover-",
    "hbase.some key",
    "hbase.%s.size",
    "hbase..size",
    "hbase.id",
    "hbase.rs.META_OPEN",
    "replication.FPBQ",
    "hfile.LASTKEY",
    "yarn.css",
    "hadoop.sh",
    "zookeeper.properties",
    "fs.capability.paths.append",
    "org.apache.hadoop.hbase.HConstants",
    "java.io.tmpdir",
    "source.ageOfLastShippedOp",
    "RegionServer.Server",
)
DEFAULTS = (
    (("SOME_KEY", "DEFAULT_SOME"), ("I", 30), "30"),
    (("SOME_KEY", "SOME_DEFAULT"), ("I", 30), "30"),
    (("SOME_KEY", "DEFAULT_SOME_KEY"), ("J", 1 << 40), "1099511627776"),
    (("SOME_CONF_KEY", "DEFAULT_SOME"), ("Z", 0), "false"),
    (("SOME_CONF", "SOME_DEFAULT"), ("Z", 1), "true"),
    (("CONF_SOME", "DEFAULT_SOME"), ("F", 0.1), "0.1"),
    (("SOME", "DEFAULT_SOME_VALUE"), ("D", 0.25), "0.25"),
    (("SOME_NAME", "DEFAULT_SOME"), (STRING, "FILE"), "FILE"),
)


@pytest.mark.parametrize("text", KEYS)
def test_key_is_a_key(text: str) -> None:
    assert is_key(text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_string_is_no_key(text: str) -> None:
    assert not is_key(text)


@pytest.mark.parametrize(("names", "value", "default"), DEFAULTS)
def test_default_is_that_of_the_sibling_constant(
    names: tuple[str, str], value: tuple[str, str | float], default: str
) -> None:
    data = class_bytes([(names[0], STRING, "hbase.some"), (names[1], *value)])
    assert class_keys(read_class(data)) == {"hbase.some": {default}}


def test_another_key_is_no_default() -> None:
    data = class_bytes([("SOME", STRING, "hbase.some"), ("DEFAULT_SOME", STRING, "hbase.other")])
    assert class_keys(read_class(data)) == {"hbase.some": frozenset(), "hbase.other": frozenset()}


def test_jar_has_keys_of_its_default_file_and_of_its_classes(tmp_path: Path) -> None:
    path = tmp_path / "some.jar"
    properties = (("hbase.some", " 1 "), ("ipc.[port_number].impl", "x"), ("hbase.empty", ""))
    listed = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("hbase-default.xml", f"<configuration>{listed}</configuration>")
        jar.writestr("a/One.class", class_bytes([("X", STRING, "hbase.x"), ("DEFAULT_X", "I", 1)]))
        jar.writestr("a/Two.class", class_bytes([("X", STRING, "hbase.x"), ("DEFAULT_X", "I", 2)], ["hbase.y"]))
        jar.writestr("a/hbase-site.xml", "not read")
    keys = jar_keys(path)
    assert keys.in_default_file == {"hbase.some": " 1 ", "hbase.empty": ""}
    assert keys.in_code == {"hbase.x": {"1", "2"}, "hbase.y": frozenset()}
