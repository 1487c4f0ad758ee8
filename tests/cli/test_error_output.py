"""With `--output json` an error is JSON on stdout, with the exit code that it has as text."""

from __future__ import annotations

import importlib
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from warmbase.cli.commands import COMMANDS, LazyGroup, command_module, function_name, warmbase
from warmbase.cli.main import main
from warmbase.cli.options import confirm
from warmbase.ground.errors import Drifted, Infeasible, InvalidInput, OperationFailed, Problem, Refused, WarmbaseError

ARGUMENTS = {"diff": ("nowhere", "--against", "launch"), "explain": ("nowhere", "cache"), "inspect": ("nowhere",)}
"""The arguments that a command takes besides the name of an environment."""
PROBLEM = Problem(where="here", what="is wrong", why="it must not be", fix="mend it")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process; returns the exit code, stdout and stderr."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["warmbase", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        printed = capsys.readouterr()
        return int(code or 0), printed.out, printed.err

    return command


def json_commands() -> list[str]:
    """Return the commands that take --output json."""
    commands = {name: getattr(importlib.import_module(command_module(name)), function_name(name)) for name in COMMANDS}
    return [name for name, command in commands.items() if any(map(is_output, command.params))]


def is_output(parameter: click.Parameter) -> bool:
    kind = parameter.type
    return parameter.name == "output" and isinstance(kind, click.Choice) and "json" in kind.choices


@pytest.mark.parametrize("spelling", [("--output", "json"), ("--output=json",)])
@pytest.mark.parametrize("command", json_commands())
def test_every_command_prints_its_error_as_json(run: Run, command: str, spelling: tuple[str, ...]) -> None:
    code, out, err = run(command, *ARGUMENTS.get(command, ("nowhere",)), *spelling)
    error: dict[str, Any] = json.loads(out)["error"]
    assert (code, error["kind"], error["exit_code"]) == (2, "invalid_input", 2)
    for problem in error["problems"]:
        assert set(problem) == {"where", "what", "why", "fix"}
        assert all(problem.values())
        assert f"fix: {problem['fix']}" in err


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (InvalidInput(PROBLEM), "invalid_input", 2),
        (Infeasible(PROBLEM), "infeasible", 3),
        (Drifted("here", ["is wrong"], why="it must not be", fix="mend it"), "drifted", 3),
        (Refused(PROBLEM), "refused", 3),
        (OperationFailed(PROBLEM), "operation_failed", 1),
    ],
)
def test_every_kind_has_its_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: WarmbaseError, kind: str, code: int
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("warmbase.cli.size.plan_request.read_ranges", fail)
    ended, out, err = run("plan", "prod", "--output", "json")
    assert ended == code
    problem = {"where": "here", "what": "is wrong", "why": "it must not be", "fix": "mend it"}
    assert json.loads(out) == {"error": {"kind": kind, "exit_code": code, "problems": [problem]}}
    assert err == f"{error}\n"


def test_text_stays_off_stdout(run: Run) -> None:
    code, out, err = run("plan", "nowhere")
    assert (code, out) == (2, "")
    assert "fix: " in err


def test_an_invalid_option_is_json_too(run: Run) -> None:
    code, out, _ = run("plan", "prod", "--output", "json", "--nonsense")
    error = json.loads(out)["error"]
    assert (code, error["exit_code"], error["problems"][0]["where"]) == (2, 2, "warmbase plan")
    assert "--nonsense" in error["problems"][0]["what"]


def test_a_plan_that_misses_its_targets_is_one_document(run: Run, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "environments" / "prod.yaml").read_text(encoding="utf-8")
    file = tmp_path / "dear.yaml"
    file.write_text(text.replace("budget_usd_per_month: 9000", "budget_usd_per_month: 1"), encoding="utf-8")
    code, out, err = run("plan", str(file), "--output", "json")
    plan = json.loads(out)
    assert (code, plan["feasible"], plan["error"]["kind"]) == (3, False, "infeasible")
    assert plan["error"]["problems"][0]["fix"] == "relax the requirements: " + "; or ".join(plan["nearest"])
    assert err.startswith(str(file))


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ("n\n", 3, "warmbase: you did not confirm, so nothing was changed\n"),
        ("", 2, "fix: run it on a terminal, or with --yes\n"),
    ],
)
def test_a_question_that_is_not_confirmed_says_that_nothing_changed(
    answer: str, code: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = click.Command("deploy", callback=lambda: confirm("Deploy this?"))
    monkeypatch.setattr(LazyGroup, "get_command", lambda *_: asking)
    result = CliRunner().invoke(warmbase, ["deploy"], input=answer)
    error = result.exception
    assert (error.exit_code if isinstance(error, InvalidInput) else result.exit_code) == code
    assert (result.stderr + (f"{error}\n" if isinstance(error, InvalidInput) else "")).endswith(text)
    assert "nothing was changed" in result.stderr + str(error)
    assert "Aborted" not in result.stderr
