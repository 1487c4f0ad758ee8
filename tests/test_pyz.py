"""`make pyz`: one file that works in an empty folder, with whichever supported Python is there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.patience import HANG_SECONDS

PROJECT: Final = Path(__file__).parents[1]
PYTHONS: Final = [
    path
    for minor in range(11, 15)
    if (path := shutil.which(f"python3.{minor}"))
    and not subprocess.run([path, "-c", "pass"], capture_output=True, check=False).returncode
]

pytestmark = pytest.mark.thorough


def build(file: Path) -> Path:
    process = subprocess.run(
        [PROJECT / "pyz.sh", "linux-x86_64", file], capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert process.returncode == 0, process.stderr
    return file


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, built as `make pyz` builds it."""
    return build(tmp_path_factory.mktemp("pyz") / "warmbase.pyz")


@pytest.fixture(params=PYTHONS)
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def call(command: Sequence[str | Path], directory: Path, standard_input: str = "") -> subprocess.CompletedProcess[str]:
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(directory.parent), "COLUMNS": "80"}
    return subprocess.run(
        command,
        cwd=directory,
        env=variables,
        input=standard_input,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    directory = tmp_path / "empty"
    directory.mkdir()
    return directory


def test_every_kind_of_command_works_in_an_empty_folder(pyz: Path, python: str, empty: Path) -> None:
    help_page = call([python, pyz, "--help"], empty)
    assert help_page.stdout.startswith("Usage: warmbase"), help_page.stderr
    assert call([python, pyz, "--version"], empty).stdout == "warmbase 0.1.0\n"
    (empty / "mine.yaml").write_text(
        (PROJECT / "environments/prod.yaml").read_text().replace("name: prod", "name: mine")
    )
    for arguments in (
        ("plan", "mine.yaml"),
        ("plan", "prod"),
        ("render", "mine.yaml"),
        ("explain", "prod", "heap.xmx_mib"),
    ):
        answer = call([python, pyz, *arguments], empty)
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout
    created = call(
        [
            python,
            pyz,
            "new",
            "events",
            "--stored",
            "3TiB",
            "--reads",
            "2000",
            "--row",
            "2KiB",
            "--region",
            "us-east-1",
            "--yes",
        ],
        empty,
    )
    assert created.returncode == 0, created.stderr
    assert (empty / "environments/events.yaml").exists()
    assert call([python, pyz, "plan", "events"], empty).returncode == 0
    page = call([python, pyz, "plan", "dev", "--report", "plan.html"], empty)
    assert page.returncode == 0, page.stderr
    assert "<title>" in (empty / "plan.html").read_text()
    stranger = (PROJECT / "tests/lint/broken/old-share-of-heap.xml").read_text()
    for name in ("-", "theirs.xml"):
        (empty / "theirs.xml").write_text(stranger)
        assert "WB210" in call([python, pyz, "lint", "--file", name, "--release", "emr-7.14.0"], empty, stranger).stdout


def test_a_command_that_needs_a_checkout_names_it(pyz: Path, empty: Path) -> None:
    for command in ("deploy", "demo", "lab"):
        refused = call([PYTHONS[0], pyz, command, "prod"], empty)
        assert refused.returncode == 2
        assert f"fix: run `make setup-{command}` in a clone of warmbase" in refused.stderr


def test_the_same_inputs_give_the_same_file(pyz: Path, tmp_path: Path) -> None:
    assert build(tmp_path / "again.pyz").read_bytes() == pyz.read_bytes()


def test_an_unknown_platform_is_refused() -> None:
    process = subprocess.run([PROJECT / "pyz.sh", "windows"], capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert "fix: name linux-x86_64, linux-aarch64 or macos-arm64" in process.stderr
