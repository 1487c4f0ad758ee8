"""`make setup` as a newcomer runs it: what it installs, how large that is, and which commands it is enough for."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

import app
from cli.main import COMMANDS
from cli.packages import SETS
from tests.hfile.printed import written
from tests.patience import HANG_SECONDS
from tests.stacks.recorded import launch_record_of

PROJECT: Final = Path(__file__).parents[1]
MOST_MEGABYTES: Final = 150
TOLERANCE: Final = 0.1
NOT_COPIED: Final = (".venv", "node_modules", ".git", "cdk.out", ".*_cache", ".hypothesis", "__pycache__", "golden")

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this checkout after `make setup`."""
    return installed_copy(tmp_path_factory.mktemp("fresh") / "warmbase")


def installed_copy(directory: Path) -> Path:
    shutil.copytree(PROJECT, directory, ignore=shutil.ignore_patterns(*NOT_COPIED))
    call(directory, "make", "setup")
    return directory


def call(checkout: Path, *command: str) -> str:
    """Return what a command prints in the copy, with none of this checkout's code on its path."""
    process = subprocess.run(
        command,
        cwd=checkout,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home()), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "needs" not in process.stderr
    return process.stdout


def megabytes(checkout: Path) -> int:
    lines = call(checkout, "sh", "-c", "du -smc .venv node_modules 2>/dev/null || true").splitlines()
    return int(lines[-1].split()[0])


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "prod"),
        ("plan", "prod", "--output", "json"),
        ("explore", "--help"),
        ("lint", "prod"),
        ("lint", "--file", "tests/configurations/smaller-cache.json"),
        ("render", "prod"),
        ("render", "prod", "--format", "hbase-site"),
        ("explain", "prod", "hbase.bucketcache.size"),
        ("compare", "prod"),
        ("new", "events", "--stored", "3TiB", "--reads", "2000", "--row", "2KiB", "--region", "us-east-1", "--yes"),
        *((name, "--help") for name in COMMANDS),
    ],
    ids=" ".join,
)
def test_a_small_installation_is_enough(checkout: Path, command: Sequence[str]) -> None:
    assert call(checkout, ".venv/bin/warmbase", *command)


def test_a_plan_is_compared_with_a_launch_record_and_a_file(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    shutil.copy(PROJECT / "environments/dev.yaml", file)
    launch_record_of(file, app.synthesise(str(file), str(tmp_path / "cdk.out")).assembly)
    assert "no difference" in call(checkout, ".venv/bin/warmbase", "diff", str(file), "--against", "launch")
    rendered = tmp_path / "rendered.json"
    rendered.write_text(call(checkout, ".venv/bin/warmbase", "render", "dev"), encoding="utf-8")
    assert call(checkout, ".venv/bin/warmbase", "diff", "dev", "--against", str(rendered))


def test_a_local_root_is_inspected(checkout: Path, tmp_path: Path) -> None:
    family = tmp_path / "hbase/data/default/t" / f"{1:032x}" / "cf"
    family.mkdir(parents=True)
    for number, file in enumerate(written()):
        shutil.copy(file, family / f"{number:032x}")
    target = tmp_path / "inspection.json"
    call(checkout, ".venv/bin/warmbase", "inspect", str(tmp_path / "hbase"), "--write", str(target))
    assert target.exists()


def test_nothing_else_is_installed(checkout: Path) -> None:
    modules = sorted({module for needed in SETS for module in needed.modules})
    code = f"from importlib.util import find_spec; print(*[name for name in {modules} if find_spec(name)])"
    assert call(checkout, ".venv/bin/python", "-c", code).split() == []
    assert not (checkout / "node_modules").exists()
    assert not (checkout / ".venv/bin/node").exists()


def test_the_installation_is_as_small_as_the_readme_says(checkout: Path) -> None:
    [stated] = re.findall(r"`make setup` [^.]*?(\d+) MB", (PROJECT / "README.md").read_text(encoding="utf-8"))
    assert megabytes(checkout) <= MOST_MEGABYTES
    assert int(stated) == pytest.approx(megabytes(checkout), rel=TOLERANCE)


def test_a_set_is_as_large_as_its_command_says(tmp_path: Path) -> None:
    """Two sets are installed in seconds. The others take a minute, and their size changes only with a release."""
    checkout = installed_copy(tmp_path / "warmbase")
    for needed in [packages for packages in SETS if packages.name in {"aws", "pictures"}]:
        before = megabytes(checkout)
        call(checkout, "make", f"setup-{needed.name}")
        assert needed.megabytes == pytest.approx(megabytes(checkout) - before, rel=TOLERANCE)
