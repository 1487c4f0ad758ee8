"""warmbase inspect, as typed: its page, its JSON, the file that a plan is made of, and what it says to nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.hfile.printed import written
from warmbase.cli.commands import warmbase
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.inspection import read_inspection
from warmbase.ground.errors import InvalidInput

ENVIRONMENT = Path(__file__).parents[2] / "environments" / "dev.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two tables, of store files that a real HBase wrote; three of them nobody can read."""
    directory = tmp_path / "hbase"
    for number, file in enumerate(written()):
        family = directory / "data" / "default" / f"t{number % 2}" / f"{number % 5:032x}" / "cf"
        family.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, family / f"{number:032x}")
    (directory / "WALs").mkdir()
    (directory / "WALs" / "x").write_text("x")
    return directory


def run(tmp_path: Path, *arguments: str) -> Result:
    target = tmp_path / "inspections" / "found.json"
    return CliRunner().invoke(warmbase, ["inspect", "--write", str(target), *arguments])


def test_the_page_has_a_table_for_every_family_in_eighty_columns(root: Path, tmp_path: Path) -> None:
    result = run(tmp_path, str(root))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("t")] == ["t0, family cf", "t1, family cf"]
    assert any(line.startswith("  index") and line.endswith("  exact") for line in lines)
    assert any(line.startswith("  in the cache") for line in lines)
    assert "Not read: 3" in lines
    assert any("it is encrypted" in line for line in lines)
    assert "  write-ahead logs: 1 files, 1 B" in lines
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert [file.name for file in (tmp_path / "inspections").iterdir()] == ["found.json"]


def test_the_json_is_as_complete_as_the_page(root: Path, tmp_path: Path) -> None:
    result = run(tmp_path, str(root), "--output", "json")
    document = json.loads(result.stdout)
    assert document["inspection"] == str(tmp_path / "inspections" / "found.json")
    first, second = document["found"]["families"]
    assert first["files"] + second["files"] == len(written())
    assert first["unread"] + second["unread"] == len(document["found"]["unread"]) == 3
    assert first["figures"]["blocks"].keys() == {"value", "low", "high"}
    assert document["found"]["apart"] == {"write-ahead logs": [1, 1]}


def test_a_plan_is_computed_from_an_inspection(root: Path, tmp_path: Path) -> None:
    assert run(tmp_path, str(root)).exit_code == 0
    file = tmp_path / "inspections" / "found.json"
    inspection = read_inspection(file)
    assert inspection.regions == 10
    assert sum(family.files_read for family in inspection.families) == len(written()) - 3
    text = ENVIRONMENT.read_text(encoding="utf-8")
    [stored] = [line for line in text.splitlines() if line.startswith("  stored:")]
    [regions] = [line for line in text.splitlines() if line.startswith("  regions:")]
    changed = text.replace(stored, f"  inspection: {file}").replace(f"{regions}\n", "")
    (tmp_path / "dev.yaml").write_text(changed, encoding="utf-8")
    read = read_environment(str(tmp_path / "dev.yaml"))
    assert read.workload.regions == 10
    plan = plan_of(read, read.active)
    longest = max(family.lengths.largest_bytes for family in inspection.families)
    assert max(plan.cache.bucket_sizes) >= longest
    assert [warning.id for warning in plan.warnings if warning.id.startswith(("family-", "unread-"))] == [
        "unread-t0-cf",
        "unread-t1-cf",
        "family-t0-cf",
        "family-t1-cf",
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["/no/such/place"], "it is neither a directory on this machine nor a URL that begins with s3://"),
        ([str(Path(__file__).parent)], "store files lie in data/NAMESPACE/TABLE/REGION/FAMILY/ below a root"),
    ],
)
def test_a_path_without_a_root_is_refused(arguments: list[str], why: str, tmp_path: Path) -> None:
    result = run(tmp_path, *arguments)
    assert isinstance(result.exception, InvalidInput)
    assert why in str(result.exception)
    assert not (tmp_path / "inspections" / "found.json").exists()


def test_an_inspection_ended_before_it_read_anything_leaves_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("warmbase.cli.size.inspect.inspect_root", ended)
    result = run(tmp_path, str(root))
    assert result.exit_code != 0
    assert "to resume" not in result.stderr
    assert not list((tmp_path / "inspections").iterdir())


def test_an_interrupted_inspection_says_how_to_resume(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(_: object, stage: str, files_read: int, __: int) -> None:
        if stage == "read" and files_read > 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("warmbase.cli.size.inspect._Progress.__call__", ended)
        result = run(tmp_path, str(root))
    assert result.exit_code != 0
    [checkpoint] = (tmp_path / "inspections").iterdir()
    assert f"run the same command again to resume from {checkpoint}" in result.stderr
    assert run(tmp_path, str(root)).exit_code == 0
    assert not checkpoint.exists()
