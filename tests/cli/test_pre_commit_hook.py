"""The hook for pre-commit, run as pre-commit runs it: its own entry, over the files that its pattern selects."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.lint.test_published_files import OF_AWS

PROJECT = Path(__file__).parents[2]
(HOOK,) = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PATHS = [
    ("hbase-site.xml", True),
    ("conf/hbase-site.xml", True),
    ("clusters/emr-prod.yaml", True),
    ("create-hbase-cluster.sh", True),
    ("my_emr.json", True),
    ("modules/emr-cluster.tf", True),
    ("hbase.md", False),
    ("hdfs-site.xml", False),
    ("package.json", False),
    ("emr/README.txt", False),
]


@pytest.mark.parametrize(("path", "selected"), PATHS)
def test_the_pattern_selects_configurations(path: str, *, selected: bool) -> None:
    assert bool(re.search(HOOK["files"], path)) == selected


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with a good file, one with an error, and one that is no business of the hook."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shutil.copy(OF_AWS / "release-guide-s3.json", tmp_path / "emr good.json")
    shutil.copy(OF_AWS / "best-practices-audit-log.json", tmp_path / "hbase-audit.json")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    return tmp_path


def run_hook(repository: Path, *arguments: str, without: str = "nothing") -> subprocess.CompletedProcess[str]:
    """Run the hook on all files of a repository that it selects, except those named `without`."""
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.splitlines() if re.search(HOOK["files"], name) and without not in name]
    command = [*shlex.split(HOOK["entry"]), *(arguments or HOOK["args"]), *files]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)


def test_a_commit_with_an_error_is_stopped(repository: Path) -> None:
    result = run_hook(repository, "--release=emr-7.14.0", "--least=error")
    assert result.returncode == 3
    assert "WB108" in result.stdout
    assert "emr good.json, emr-7.14.0" in " ".join(result.stdout.split())


def test_a_commit_without_an_error_passes(repository: Path) -> None:
    result = run_hook(repository, without="audit")
    assert (result.returncode, result.stderr) == (0, "")
    assert "emr good.json" in result.stdout
