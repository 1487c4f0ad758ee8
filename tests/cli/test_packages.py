"""A command whose packages are not installed: its help, its installation, and its refusal outside a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli import packages
from cli.main import COMMANDS, warmbase
from cli.packages import SETS, PackageSet, missing_set, set_of_module
from tests.command import PROJECT


class Restart(Exception):
    """Ends a command whose process is replaced."""


class Installation:
    """A small installation, and what is run in it."""

    def __init__(self, missing: set[str], status: int) -> None:
        self.missing, self.status, self.calls = missing, status, list[list[str]]()

    def find_spec(self, name: str) -> object:
        return None if name in self.missing else object()

    def run(self, command: list[Any], **_: object) -> subprocess.CompletedProcess[str]:
        self.calls.append([str(word) for word in command])
        if not self.status:
            self.missing.clear()
        return subprocess.CompletedProcess(command, self.status)

    def execv(self, _: str, command: list[str]) -> None:
        self.calls.append(command)
        raise Restart

    def warmbase(self, *arguments: str) -> Result:
        return CliRunner().invoke(warmbase, arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Installation:
    installation = Installation({module for needed in SETS for module in needed.modules}, 0)
    monkeypatch.setattr(packages, "find_spec", installation.find_spec)
    monkeypatch.setattr("cli.packages.subprocess.run", installation.run)
    monkeypatch.setattr("cli.packages.os.execv", installation.execv)
    monkeypatch.setattr(sys, "prefix", str(PROJECT / ".venv"))
    monkeypatch.setattr(sys, "orig_argv", ["python", "warmbase", "deploy", "prod"])
    return installation


@pytest.mark.parametrize("needed", SETS, ids=lambda needed: needed.name)
def test_a_command_installs_its_set_and_starts_again(small: Installation, needed: PackageSet) -> None:
    result = small.warmbase(min(needed.commands), "prod", "--dry-run")
    assert isinstance(result.exception, Restart)
    assert f"needs {needed.title}: installing up to {needed.megabytes} MB, once\n" in result.stderr
    assert result.stdout == ""
    assert small.calls == [
        [str(PROJECT / "setup.sh"), needed.name],
        [sys.executable, "warmbase", "deploy", "prod"],
    ]


def test_a_set_that_cannot_be_downloaded_is_an_error_with_the_command(small: Installation) -> None:
    small.status = 1
    result = small.warmbase("deploy", "prod")
    assert getattr(result.exception, "exit_code", None) == 2
    assert "could not be installed" in str(result.exception)
    assert "fix: make setup-deploy" in str(result.exception)
    assert len(small.calls) == 1


@pytest.mark.parametrize("missing", ["setup.sh", "venv"])
def test_outside_a_checkout_nothing_is_installed(
    small: Installation, missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if missing == "venv":
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
    else:
        monkeypatch.setattr(packages, "SETUP", tmp_path / "setup.sh")
    result = small.warmbase("demo")
    assert getattr(result.exception, "exit_code", None) == 2
    assert str(result.exception).splitlines()[1].startswith("  fix: run `make setup-demo` in ")
    assert small.calls == []


def test_a_module_that_an_option_needs_is_installed_too(small: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """`diff --against live` and `inspect s3://…` load boto3 only then."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.delitem(sys.modules, "operations.identity", raising=False)
    monkeypatch.delitem(sys.modules, "operations.aws", raising=False)
    result = small.warmbase("diff", "dev", "--against", "live")
    assert isinstance(result.exception, Restart)
    assert small.calls[0] == [str(PROJECT / "setup.sh"), "aws"]


def test_a_module_of_no_set_stays_an_error(small: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cli.plan", None)
    assert isinstance(small.warmbase("plan", "dev").exception, ModuleNotFoundError)
    assert small.calls == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_needs_no_set(small: Installation, command: str) -> None:
    page = small.warmbase(command, "--help").stdout
    assert COMMANDS[command] in " ".join(page.split())
    assert f"warmbase {command}" in page.partition("Example:")[2]
    assert small.calls == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_installation_lacks_nothing(command: str) -> None:
    assert missing_set(command) is None


def test_a_module_is_looked_up_by_its_package() -> None:
    names = {module: needed.name for module in ("botocore.session", "cfnlint") if (needed := set_of_module(module))}
    assert names == {"botocore.session": "aws", "cfnlint": "demo"}
    assert set_of_module("numpy") is None
    assert set_of_module(None) is None


def test_every_set_is_one_of_setup_sh_and_has_commands() -> None:
    listed = (PROJECT / "setup.sh").read_text(encoding="utf-8")
    assert all(f" {needed.name}=" in listed for needed in SETS)
    assert {command for needed in SETS for command in needed.commands} <= set(COMMANDS)
