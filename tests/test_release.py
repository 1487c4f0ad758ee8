"""A release: its notes from the changelog, and workflows whose actions are pinned by commit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import click
import pytest
import yaml

from tools.release import release_notes

PROJECT: Final = Path(__file__).parents[1]
CHANGELOG: Final = """\
# Changelog

## Unreleased

- Later.

## 0.2.0 (2027-01-02)

### Changed

- A line that goes
  on.
- Another one.

## 0.1.0 (2026-11-28)

First.
"""
WORKFLOWS: Final = [*sorted((PROJECT / ".github/workflows").glob("*.yml")), PROJECT / "docs/ci/github-action.yml"]


@pytest.mark.parametrize(
    ("version", "notes"),
    [("0.2.0", "### Changed\n\n- A line that goes on.\n- Another one.\n"), ("0.1.0", "First.\n")],
)
def test_notes_are_the_section_of_the_version(version: str, notes: str) -> None:
    assert release_notes(CHANGELOG, version) == notes


@pytest.mark.parametrize("version", ["0.2", "0.3.0"])
def test_a_version_without_a_section_is_refused(version: str) -> None:
    with pytest.raises(click.ClickException, match=f"no section for version {version}"):
        release_notes(CHANGELOG, version)


def test_the_version_has_its_section() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert release_notes((PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), version)


def test_actions_are_pinned_to_one_commit() -> None:
    used = {line.strip() for file in WORKFLOWS for line in re.findall(r"uses: (.*)", file.read_text(encoding="utf-8"))}
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used)
    assert len({line.partition("@")[0] for line in used}) == len(used)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_run_targets_that_exist(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    for command in commands:
        if command.startswith("make "):
            assert set(re.findall(r"\b[a-z][a-z-]+\b", command.partition(" ARGS")[0])) - {"make"} <= targets
