"""`warmbase plan ENV --report FILE` refuses what it cannot write before it computes the plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import plan_report
from reports.explorer.page_file import single_page
from tests.command import run


@pytest.mark.parametrize("options", [("--output", "json"), ("--no-advice",), ("--why",), ("--against", "launch")])
def test_a_report_refuses_an_option_that_it_cannot_follow(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "plan.html"
    result = run("plan", "dev", "--report", str(file), *options)
    assert result.returncode == 2
    assert "--report writes one plan: use it only with ENV, --set and --cluster." in result.stderr
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_refused_before_the_plans_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_report, "advised_plan_of", lambda *_: pytest.fail("it computes a plan"))
    result = run("plan", "dev", "--report", str(tmp_path / "missing" / "plan.html"))
    assert result.returncode == 2
    assert "you cannot write to that directory, or there is none" in result.stderr


@pytest.mark.parametrize(
    "content", [b"", b"<html>my notes</html>", b"x" * 600 + b'<meta name="generator" content="warmbase" />']
)
def test_a_file_that_is_no_report_is_not_overwritten(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_report, "advised_plan_of", lambda *_: pytest.fail("it computes a plan"))
    file = tmp_path / "plan.html"
    file.write_bytes(content)
    result = run("plan", "dev", "--report", str(file))
    assert result.returncode == 2
    assert "exists already, and warmbase overwrites only its own reports" in result.stderr
    assert file.read_bytes() == content


def test_an_earlier_report_may_be_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "plan.html"
    file.write_text(single_page({}))
    plan_report._check_file(file)
