"""No printed text commands a terminal, wherever it comes from."""

from __future__ import annotations

import ast
import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.command import PROCESS, PROJECT, process_variables
from tests.hfile.printed import written
from tests.patience import HANG_SECONDS
from warmbase.cli.commands import warmbase
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import CLUSTER_WORDS, name_cluster, print_error, printable_lines
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.reports.json_text import json_text

HOSTILE = "cf\033[31mRED\033[2J\033]0;title\007\u009b1A\u202e[/x]"
PRINTED = r"cf\x1b[31mRED\x1b[2J\x1b]0;title\x07\x9b1A\u202e[/x]"
DIRECT = {"echo", "secho", "style", "print"}
"""Functions that print or colour text as it is."""
PLACES = {("terminal.py", "echo"), ("page.py", "echo"), ("page.py", "style")}
"""The module of pages, which colours what it has escaped, and the one function through which all other text passes."""


def calls(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = {function.attr for function in functions if isinstance(function, ast.Attribute)}
    bare = {function.id for function in functions if isinstance(function, ast.Name)} & {"print"}
    return (methods & DIRECT) | bare


def test_every_text_passes_through_two_places() -> None:
    direct = {(file.name, name) for file in (PROJECT / "warmbase" / "cli").rglob("*.py") for name in calls(file)}
    assert direct - {("progress.py", "print")} == PLACES, "use warmbase.cli.page or warmbase.cli.terminal.echo"


@given(st.text())
def test_a_text_keeps_its_lines_and_has_no_other_command(text: str) -> None:
    lines = printable_lines(text).replace("\t", "")
    assert lines.count("\n") == text.count("\n")
    assert lines.replace("\n", "").isprintable()


@given(st.text())
def test_json_holds_any_text_and_commands_nothing(text: str) -> None:
    printed = json_text({"key": text})
    assert json.loads(printed) == {"key": text}
    assert not any("\x7f" <= letter <= "\x9f" or letter in "\u202e\u2066" for letter in printed)


def test_the_text_of_an_error_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(OperationFailed.of(where="AWS", what=HOSTILE, why=f"{HOSTILE}\nsecond line", fix="none"))
    assert capsys.readouterr().err == f"AWS  {PRINTED}\n  {PRINTED}\n  second line\n  fix: none\n"


def test_a_progress_line_is_text_and_not_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with TerminalProgress().step(HOSTILE) as say:
        say(HOSTILE)
    printed = capsys.readouterr().err
    assert PRINTED in printed
    assert "\033[2J" not in printed


def test_a_plan_shows_brackets_of_an_override_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    text = (PROJECT / "environments" / "dev.yaml").read_text(encoding="utf-8")
    file.write_text(f'{text}overrides: {{hbase-site: {{a.b: "[/x]"}}}}\n', encoding="utf-8")
    result = CliRunner().invoke(warmbase, ["plan", str(file), "--why"])
    assert result.exit_code == 0, result.exception
    assert "hbase-site a.b = [/x]" in result.output


def test_a_family_of_a_strangers_root_does_not_command_a_terminal(tmp_path: Path) -> None:
    # HBase does not allow the first name, so its files are counted apart.
    for name in (HOSTILE.replace("/", ""), "cf"):
        family = tmp_path / "hbase" / "data" / "default" / "t" / f"{1:032x}" / name
        family.mkdir(parents=True)
        shutil.copy(written()[0], family / f"{1:032x}")
    controller, terminal = pty.openpty()
    target = tmp_path / "inspection.json"
    command = [*PROCESS, "inspect", str(tmp_path / "hbase"), "--all", "--write", str(target)]
    variables = {name: value for name, value in process_variables().items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    ended = subprocess.run(
        command,
        cwd=PROJECT,
        env=variables,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        timeout=HANG_SECONDS,
        check=False,
    )
    os.close(terminal)
    printed = os.read(controller, 2**16).decode()
    os.close(controller)
    assert ended.returncode == 0
    assert "descriptors and temporary files" in printed
    assert "\033" not in printed


@pytest.mark.parametrize(
    ("fix", "named"),
    [
        ("first: warmbase tables ENV", "first: warmbase tables prod --cluster green"),
        ("warmbase restart ENV --rolling --abandon", "warmbase restart prod --cluster green --rolling --abandon"),
        ("warmbase heal ENV; then again", "warmbase heal prod --cluster green; then again"),
        ("warmbase deploy ENV", "warmbase deploy ENV"),
    ],
)
def test_a_fix_names_the_cluster_that_the_command_was_about(fix: str, named: str) -> None:
    """A command without it would be about the active cluster."""
    error = Refused.of(where="orders", what="was interrupted", why="", fix=fix)
    context = click.Context(click.Command("tables"))
    name_cluster(context, error)
    assert error.problems[0].fix == fix
    context.meta[CLUSTER_WORDS] = "prod --cluster green"
    name_cluster(context, error)
    assert error.problems[0].fix == named
    assert named in str(error)
