"""Options that `warmbase plan ENV --report FILE` would leave out of account."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import run


@pytest.mark.parametrize("options", [("--output", "json"), ("--no-advice",), ("--why",), ("--against", "launch")])
def test_a_report_refuses_an_option_that_it_cannot_follow(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "plan.html"
    result = run("plan", "dev", "--report", str(file), *options)
    assert result.returncode == 2
    assert "--report writes one plan: give it ENV, --set and --cluster alone." in result.stderr
    assert not file.exists()
