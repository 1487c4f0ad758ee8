"""The lab's software: what is locked, how it is fetched, what is left of it. Of the network only loopback is used."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from lab.hbase.software import Software, jars, problems, remove, set_up, setup, software
from lab.hbase.software.jars import LOCK, Jar, Repository, download, hbase_sets, jar_sets
from lab.hbase.software.lock import SOURCES
from lab.hbase.software.setup import Compilation, Runtime, locked
from lab.machine.paths import home
from warmbase.facts.releases import releases
from warmbase.ground.errors import InvalidInput, OperationFailed

CONTENT = b"a jar, as far as anybody knows" * 5000


def silent(_: str) -> None:
    """Takes a line of progress."""


class Maven(Struct, dict=True):
    """A repository on the loopback interface: what it answers by path, and how often each path was asked."""

    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    """Paths of which half is sent."""
    busy: dict[str, int] = field(default_factory=dict)
    """How often a path answers 503 before it answers."""
    requests: list[str] = field(default_factory=list)

    @property
    def source(self) -> Repository:
        """Return the repository, which retries at once where the server is busy."""
        return Repository(url=self.url, pause_seconds=0.001)


@pytest.fixture
def maven() -> Iterator[Maven]:
    served = Maven()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.removeprefix("/")
            served.requests.append(path)
            if served.busy.get(path, 0) > 0:
                served.busy[path] -= 1
                self.send_error(503)
            elif path not in served.content:
                self.send_error(404)
            else:
                content = served.content[path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if path in served.cut else content)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


def jar(name: str, content: bytes = CONTENT) -> Jar:
    digest = hashlib.sha256(content).hexdigest()
    return Jar(group="org.some", artifact=name, version="1.0", classifier="", size_bytes=len(content), sha256=digest)


def files(directory: Path) -> set[str]:
    return {str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file()}


def test_every_locked_jar_is_one_file_with_a_hash() -> None:
    rows = [line.split(",") for line in LOCK.read_text().splitlines() if not line.startswith(("#", "sets,"))]
    locked_jars = {item for jars in jar_sets().values() for item in jars}
    assert len(rows) == len(locked_jars) == len({locked_jar.path for locked_jar in locked_jars})
    for locked_jar in locked_jars:
        assert re.fullmatch(r"[0-9a-f]{64}", locked_jar.sha256), locked_jar.path
        assert locked_jar.size_bytes > 0
        assert re.fullmatch(r"[A-Za-z0-9][\w.+-]*(/[A-Za-z0-9][\w.+-]*)+\.jar", locked_jar.path), locked_jar.path


def test_the_sets_are_those_that_the_poms_make() -> None:
    assert set(jar_sets()) == set(SOURCES)
    for pom, profile in SOURCES.values():
        text = LOCK.with_name(pom).read_text()
        assert profile is None or f"<id>{profile}</id>" in text


@pytest.mark.parametrize("name", hbase_sets())
def test_an_hbase_set_has_one_hadoop_and_it_is_hadoop_3(name: str) -> None:
    versions = {jar_set.version for jar_set in jar_sets()[name] if jar_set.group == "org.apache.hadoop"}
    assert len(versions) == 1
    assert versions.pop().startswith("3.")


@pytest.mark.parametrize("name", hbase_sets())
def test_an_hbase_set_is_of_the_hbase_it_is_named_for(name: str) -> None:
    version = jars.version_of("hbase-server", name)
    assert version.removesuffix("-hadoop3") == name.removeprefix("hbase-")
    assert {
        jar_set.version for jar_set in jar_sets()[name] if jar_set.artifact in ("hbase-client", "hbase-common")
    } == {version}


def test_no_set_brings_two_loggers_behind_slf4j() -> None:
    backends = {"slf4j-reload4j", "log4j-slf4j-impl", "log4j-slf4j2-impl", "logback-classic", "slf4j-simple"}
    for name in (*hbase_sets(), jars.STORE):
        assert len([jar_set for jar_set in jar_sets()[name] if jar_set.artifact in backends]) == 1, name


@pytest.mark.parametrize(
    ("hbase", "name"),
    [
        ((2, 6, 1), "hbase-2.6.2"),
        ((2, 6, 2), "hbase-2.6.2"),
        ((2, 6, 3), "hbase-2.6.4"),
        ((2, 6, 4), "hbase-2.6.4"),
        ((2, 6, 7), "hbase-2.6.4"),
        ((2, 5, 9), "hbase-2.6.4"),
        ((3, 0, 0), "hbase-2.6.2"),
    ],
)
def test_the_nearest_hbase_stands_for_a_release(hbase: tuple[int, int, int], name: str) -> None:
    assert setup.nearest_set(hbase) == name


@pytest.fixture
def nothing_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a runtime that cannot run, and two jars to be had; nothing of the lab is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home_ = Runtime(java=tmp_path / "no-java", version="21")
    monkeypatch.setattr(setup, "runtime", lambda: home_)
    monkeypatch.setattr(setup, "install_runtime", lambda _: None)
    sets = {"hbase-2.6.2": (jar("shared"), jar("server")), "store": (jar("shared"),), "compiler": ()}
    monkeypatch.setattr(setup, "jar_sets", lambda: sets)
    monkeypatch.setattr(setup, "hbase_sets", tuple)
    return tmp_path


def test_what_is_not_set_up_is_an_invalid_input_that_names_the_command(nothing_set_up: Path) -> None:
    with pytest.raises(InvalidInput, match="fix: run `warmbase lab setup`") as raised:
        software(releases()["emr-7.12.0"])
    assert f"2 of 2 jars are not in {nothing_set_up}/warmbase/lab/jars" in str(raised.value)
    assert len(problems()) == 1


def test_a_set_up_brings_every_jar_once_and_the_next_brings_none(nothing_set_up: Path, maven: Maven) -> None:
    maven.content = {jar(name).path: CONTENT for name in ("shared", "server")}
    set_up(silent, maven.source)
    assert sorted(maven.requests) == sorted(maven.content)
    assert files(setup.jars_directory()) == set(maven.content)
    assert problems() == ()
    set_up(silent, maven.source)
    assert len(maven.requests) == 2
    assert nothing_set_up in home().parents


def test_a_set_up_goes_on_where_the_last_one_was_cut(nothing_set_up: Path, maven: Maven) -> None:
    assert nothing_set_up in home().parents
    maven.content = {jar("server").path: CONTENT}
    with pytest.raises(OperationFailed, match=r"shared-1\.0\.jar  could not be downloaded in 1 try\n  HTTP Error 404"):
        set_up(silent, maven.source)
    remaining = setup.jars_directory() / f"{jar('server').path}abc.part"
    remaining.parent.mkdir(parents=True, exist_ok=True)
    remaining.write_bytes(b"half")
    maven.content[jar("shared").path] = CONTENT
    set_up(silent, maven.source)
    assert files(setup.jars_directory()) == set(maven.content)


def test_a_file_of_another_length_is_fetched_anew(nothing_set_up: Path, maven: Maven) -> None:
    assert nothing_set_up in home().parents
    maven.content = {jar(name).path: CONTENT for name in ("shared", "server")}
    set_up(silent, maven.source)
    damaged = setup.jars_directory() / jar("server").path
    damaged.write_bytes(CONTENT[:-1])
    set_up(silent, maven.source)
    assert damaged.read_bytes() == CONTENT


def test_a_full_disk_is_reported_before_anything_is_fetched(
    nothing_set_up: Path, maven: Maven, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nothing_set_up in home().parents
    usage = shutil.disk_usage(nothing_set_up)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
    with pytest.raises(OperationFailed, match="has 1 MB free\n  the lab needs 10 MB on that disk\n  fix: make room"):
        set_up(silent, maven.source)
    assert maven.requests == []


@pytest.mark.parametrize(
    "sent",
    [CONTENT[:-1] + b"!", CONTENT + b"!", b"<html>sign in</html>".ljust(len(CONTENT))],
    ids=["one byte", "one more", "another's page"],
)
def test_a_jar_that_is_not_what_is_locked_is_refused_and_not_stored(tmp_path: Path, maven: Maven, sent: bytes) -> None:
    wanted = jar("some")
    maven.content = {wanted.path: sent}
    with pytest.raises(OperationFailed, match="is not the file that is locked"):
        download([wanted], tmp_path, silent, maven.source)
    assert files(tmp_path) == set()
    assert len(maven.requests) == 1


def test_a_cut_download_is_tried_again_and_leaves_nothing(tmp_path: Path, maven: Maven) -> None:
    wanted = jar("some")
    maven.content, maven.cut = {wanted.path: CONTENT}, {wanted.path}
    with pytest.raises(OperationFailed, match="could not be downloaded in 5 tries"):
        download([wanted], tmp_path, silent, maven.source)
    assert len(maven.requests) == 5
    assert files(tmp_path) == set()


def test_a_busy_server_is_waited_for(tmp_path: Path, maven: Maven) -> None:
    wanted = jar("some")
    maven.content, maven.busy = {wanted.path: CONTENT}, {wanted.path: 3}
    download([wanted], tmp_path, silent, maven.source)
    assert (tmp_path / wanted.path).read_bytes() == CONTENT


def test_an_interrupt_leaves_only_whole_jars(tmp_path: Path, maven: Maven, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [jar(f"some{number}", CONTENT + bytes([number])) for number in range(40)]
    maven.content = {item.path: CONTENT + bytes([number]) for number, item in enumerate(wanted)}

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lab.hbase.software.jars.REPORT_SECONDS", -1.0)
    with pytest.raises(KeyboardInterrupt):
        download(wanted, tmp_path, interrupt, maven.source)
    whole = files(tmp_path)
    assert 1 <= len(whole) < len(wanted)
    assert whole < set(maven.content)
    assert all((tmp_path / path).read_bytes() == maven.content[path] for path in whole)


def test_removal_deletes_its_own_and_nothing_beside_it(nothing_set_up: Path, maven: Maven) -> None:
    maven.content = {jar(name).path: CONTENT for name in ("shared", "server")}
    set_up(silent, maven.source)
    beside = nothing_set_up / "warmbase" / "else"
    elsewhere = nothing_set_up / "target"
    for item in (beside, elsewhere):
        item.write_text("keep")
    (home() / "link").symlink_to(elsewhere)
    assert remove() >= 2 * len(CONTENT)
    assert not home().exists()
    assert (beside.read_text(), elsewhere.read_text()) == ("keep", "keep")
    assert remove() == 0


def test_removal_refuses_a_link(nothing_set_up: Path) -> None:
    (nothing_set_up / "warmbase").mkdir()
    (nothing_set_up / "mine").mkdir()
    home().symlink_to(nothing_set_up / "mine")
    with pytest.raises(OperationFailed, match="is a symbolic link, so warmbase does not delete it"):
        remove()
    assert (nothing_set_up / "mine").exists()


def test_one_set_up_at_a_time(nothing_set_up: Path, maven: Maven) -> None:
    assert nothing_set_up in home().parents
    with locked(home()):
        for item in (lambda: set_up(silent, maven.source), remove):
            with pytest.raises(OperationFailed, match="another set-up is running there"):
                item()


@pytest.mark.parametrize("named", ["", "relative/cache"])
def test_without_a_cache_directory_that_is_named_whole_it_is_in_the_home(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert home() == Path("/home/somebody/.cache/warmbase/lab")


def test_a_platform_without_a_runtime_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "mips")
    reason = setup.unsupported()
    assert reason is not None
    assert reason.startswith("there is no Java runtime for ")
    assert reason in problems()
    with pytest.raises(OperationFailed, match="fix: run the lab on one of these"):
        set_up(silent)


def test_a_python_without_uv_is_reported_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "runtime", lambda: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(OperationFailed, match=r"fix: run \./setup\.sh in a clone"):
        setup.install_runtime(silent)


def test_uv_is_requested_for_the_runtime_and_to_leave_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = tmp_path / "uv"
    uv.write_text(f'#!/bin/sh\necho "$UV_PROJECT_ENVIRONMENT $*" >{tmp_path}/asked\necho no index >&2\nexit 2\n')
    uv.chmod(0o755)
    monkeypatch.setattr(setup, "runtime", lambda: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(OperationFailed, match="no index\n  fix: correct this, and set up again"):
        setup.install_runtime(silent)
    command = (tmp_path / "asked").read_text().split()
    assert command[0] == str(tmp_path)
    assert {"--frozen", "--inexact", "--only-group"} < set(command)


@pytest.fixture(scope="module")
def here() -> Software:
    """The software as it is set up on this machine."""
    if reasons := problems():
        pytest.skip("; ".join(reasons))
    return software(releases()["emr-7.12.0"])


@pytest.mark.lab
@pytest.mark.parametrize("label", releases())
def test_every_release_has_software_and_is_reported_what_it_replaces(label: str, here: Software) -> None:
    software_ = software(releases()[label])
    assert software_.java == here.java
    assert all(Path(path).exists() for path in (*software_.class_path, *software_.store_class_path))
    assert software_.substitution.startswith(f"{label} runs Amazon's own builds of HBase ")
    assert f"the lab runs Apache HBase {software_.hbase}" in software_.substitution
    assert dict(software_.versions)["Java"].startswith(software_.java_version)


@pytest.mark.lab
def test_an_edited_source_is_compiled_anew_and_an_error_is_listed(here: Software, tmp_path: Path) -> None:
    source = tmp_path / "java" / "warmbase" / "Small.java"
    source.parent.mkdir(parents=True)
    source.write_text("package warmbase; class Small extends org.apache.hadoop.conf.Configured {}")
    work = Compilation(
        java=here.java,
        jars=setup.jars_directory(),
        classes=tmp_path / "classes",
        name="hbase-2.6.2",
        directory=tmp_path / "java",
    )
    first = work.compile()
    assert files(first) == {"warmbase/Small.class"}
    assert work.compile() == first
    source.write_text("package warmbase; class Small { Absent absent; }")
    assert work.target != first
    with pytest.raises(OperationFailed, match="Absent cannot be resolved to a type"):
        work.compile()
    assert {path.name for path in work.classes.iterdir()} == {first.name}
    assert replace(work, name="hbase-2.6.4").target != work.target
