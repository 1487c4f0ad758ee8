from __future__ import annotations

from pathlib import Path

import pytest

from tools.keys.artifacts import Artifact, fetch
from warmbase.ground.errors import OperationFailed

HERE = Artifact(group="org.apache.hbase", module="hbase-here", version="2.6.2")
ABSENT = Artifact(group="org.apache.hbase", module="hbase-gone", version="2.6.2")


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An mvn first on the PATH; tests write what it does."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin" / "mvn"


def does(maven: Path, text: str) -> None:
    maven.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    maven.chmod(0o755)


def test_fetches_what_is_there_and_says_so(maven: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    does(maven, f"mkdir -p {cache}/jars; touch {cache}/jars/hbase-here-2.6.2.jar; echo Reactor Summary; exit 1")
    assert fetch([HERE, ABSENT], cache) == {HERE}
    assert "<version>2.6.2</version>" in (cache / "project" / HERE.name / "pom.xml").read_text(encoding="utf-8")


def test_what_is_in_the_cache_needs_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    HERE.jar(tmp_path).parent.mkdir()
    HERE.jar(tmp_path).touch()
    assert fetch([HERE], tmp_path) == {HERE}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Could not transfer artifact x: Checksum validation failed'; echo Reactor Summary; exit 1", "Checksum"),
        ("echo 'The JAVA_HOME environment variable is not defined'; exit 1", "JAVA_HOME"),
    ],
)
def test_failure_does_not_count_as_absence(maven: Path, tmp_path: Path, script: str, message: str) -> None:
    does(maven, script)
    with pytest.raises(OperationFailed, match=message):
        fetch([HERE], tmp_path / "cache")


def test_says_when_there_is_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OperationFailed, match="install Apache Maven"):
        fetch([HERE], tmp_path)
