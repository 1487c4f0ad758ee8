"""The library that a program imports: what its page shows runs, and the command line prints the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warmbase
from tests.command import PROJECT, run
from warmbase import library

PAGE = (PROJECT / "docs/library.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "cluster.tf").write_text((PROJECT / "tests/environments/their_cluster.tf").read_text())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "docs/library.md", "exec"), names)  # noqa: S102 - the page's own text
    assert names["core"]


def test_the_page_lists_every_function() -> None:
    functions = {name for name in library.__all__ if name[0].islower()}
    assert set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)) == functions


def test_every_name_is_there() -> None:
    assert all(getattr(warmbase, name) is getattr(library, name) for name in library.__all__)
    with pytest.raises(AttributeError, match="no attribute 'plann'"):
        getattr(warmbase, "plann")  # noqa: B009 - mypy knows that there is no such name


def test_the_command_line_prints_the_same() -> None:
    assert json.loads(run("render", "prod", "--group", "core").stdout) == warmbase.render("prod")
    assert (
        json.loads(run("plan", "prod", "--output", "json").stdout)["core"]["count"] == warmbase.plan("prod").core.count
    )


def test_what_a_plan_does_not_explain_is_refused() -> None:
    with pytest.raises(warmbase.InvalidInput, match=r"fix: use a key of `plan\.because`"):
        warmbase.explain(warmbase.plan("dev"), "nothing")


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, warmbase; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert not [name for name in result.stdout.split() if name.startswith("warmbase.") or name == "numpy"]
