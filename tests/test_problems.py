"""Every error has a where, a what, a why and a fix, and one place lays them out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import asdict

from tests.syntax import PROJECT, project_files, tree_of
from warmbase.ground.errors import Drifted, InvalidInput, OperationFailed, Problem, Refused, WarmbaseError

LAYOUTS = {
    "warmbase/ground/errors.py",
    # EMR fetches each of these programs alone, so each lays out its own refusal, once.
    "bootstrap-actions/programs/before_regionserver.py",
    "bootstrap-actions/programs/before_trino_worker.py",
    "bootstrap-actions/programs/claim_root.py",
}
PROBLEMS = {"Problem", "PreflightCheck"}
SCRIPT_LAYOUTS = {"bootstrap-actions/shared.sh", "setup.sh"}


def files(suffix: str) -> list[Path]:
    """Return the files with that suffix, without those of the tests."""
    return [file for file in project_files() if file.suffix == suffix and file.relative_to(PROJECT).parts[0] != "tests"]


def name(file: Path) -> str:
    return str(file.relative_to(PROJECT))


def docstrings(tree: ast.AST) -> set[int]:
    """Return the lines on which a docstring or another bare string begins."""
    expressions = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {value.lineno for value in expressions if isinstance(value, ast.Constant)}


def laid_out(file: Path) -> list[int]:
    """Return the lines of string literals that spell a fix by hand."""
    tree = tree_of(file)
    bare = docstrings(tree)
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\bfix:", node.value)
        if node.lineno not in bare
    ]


def test_one_place_lays_out_a_fix() -> None:
    by_hand = {name(file): lines for file in files(".py") if (lines := laid_out(file))}
    assert set(by_hand) == LAYOUTS
    assert all(len(lines) == 1 for lines in by_hand.values()), by_hand


def test_one_place_lays_out_a_fix_of_scripts() -> None:
    lines = {name(file): file.read_text(encoding="utf-8").count("fix: ") for file in files(".sh")}
    assert {script: count for script, count in lines.items() if count} == dict.fromkeys(SCRIPT_LAYOUTS, 1)


def problems() -> Iterator[tuple[str, ast.Call]]:
    """Yield each place where the code makes a Problem, an error of one, or a check that becomes one."""
    for file in files(".py"):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Call) and (is_error_of_one(node) or is_problem(node.func)):
                yield f"{name(file)}:{node.lineno}", node


def is_error_of_one(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "of"
        and any(field.arg == "fix" for field in call.keywords)
    )


def is_problem(called: ast.expr) -> bool:
    return isinstance(called, ast.Name) and called.id in PROBLEMS


def is_empty(argument: ast.keyword) -> bool:
    return isinstance(argument.value, ast.Constant) and not argument.value.value


def test_every_problem_has_a_fix() -> None:
    needed = {"where", "what", "fix"}
    empty = [place for place, call in problems() if needed & {field.arg for field in call.keywords if is_empty(field)}]
    assert not empty


PROBLEM = Problem(where="cluster blue", what="is gone", why="EMR ended it\nafter an hour", fix="launch another")


ERRORS = [InvalidInput(PROBLEM), Refused([PROBLEM]), OperationFailed.of(**asdict(PROBLEM))]


@pytest.mark.parametrize("error", ERRORS)
def test_text_has_where_what_why_and_fix(error: WarmbaseError) -> None:
    assert str(error) == "cluster blue  is gone\n  EMR ended it\n  after an hour\n  fix: launch another"
    assert error.summary == "cluster blue  is gone"


def test_document_has_every_problem() -> None:
    error = Drifted("cluster blue", ["2 nodes", "3 volumes"], why="differs", fix="deploy")
    assert str(error) == "cluster blue differs:\n  2 nodes\n  3 volumes\n  fix: deploy"
    assert error.document() == {
        "error": {
            "kind": "drifted",
            "exit_code": 3,
            "problems": [
                {"where": "cluster blue", "what": "2 nodes", "why": "differs", "fix": "deploy"},
                {"where": "cluster blue", "what": "3 volumes", "why": "differs", "fix": "deploy"},
            ],
        }
    }
