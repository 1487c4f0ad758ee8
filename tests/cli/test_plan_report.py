"""`warmbase plan ENV --report FILE` refuses what it cannot write before it computes the plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from tests.report_file import blocks_of
from warmbase.cli.size import compare
from warmbase.environments.reader import locate
from warmbase.reports.explorer.page_file import single_page


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
    monkeypatch.setattr(compare, "reports_of", lambda _: pytest.fail("it computes a plan"))
    result = run("plan", "dev", "--report", str(tmp_path / "missing" / "plan.html"))
    assert result.returncode == 2
    assert "you cannot write to that directory, or there is none" in result.stderr


@pytest.mark.parametrize(
    "content", [b"", b"<html>my notes</html>", b"x" * 600 + b'<meta name="generator" content="warmbase" />']
)
def test_a_file_that_is_no_report_is_not_overwritten(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "reports_of", lambda _: pytest.fail("it computes a plan"))
    file = tmp_path / "plan.html"
    file.write_bytes(content)
    result = run("plan", "dev", "--report", str(file))
    assert result.returncode == 2
    assert "exists already, and warmbase overwrites only its own reports" in result.stderr
    assert file.read_bytes() == content


def test_an_earlier_report_may_be_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "plan.html"
    file.write_text(single_page({}))
    compare._check_file(file)


def nodes_of(answer: dict[str, Any]) -> str:
    """Return the nodes in the headline of an answer."""
    [text] = [figure["text"] for figure in answer["figures"] if figure["id"] == "nodes"]
    return str(text)


def test_the_report_of_a_comparison_has_each_mode_without_the_pins_of_the_file(tmp_path: Path) -> None:
    environment, file = tmp_path / "pinned.yaml", tmp_path / "compare.html"
    environment.write_text(
        locate("dev").read_text().replace("families: [m8g, r8g, m7g]", "type: r8g.2xlarge, count: 9")
    )
    assert run("compare", str(environment), "--report", str(file)).returncode == 0
    plans = json.loads(run("compare", str(environment), "--output", "json").stdout)
    blocks = blocks_of(file)
    assert blocks["plan"] == plans
    report = blocks["report"]
    assert report["base"]["command"] == f"warmbase compare {environment}"
    modes = {variant["text"]: nodes_of(variant["answer"]) for variant in report["variants"]["storage.mode"]}
    assert modes == {name: f"{plan['core']['count']} x {plan['core']['instance_type']}" for name, plan in plans.items()}
    assert "r8g.2xlarge" not in nodes_of(report["base"])
    assert report["columns"]["names"] == list(plans)
    printed = " ".join(run("compare", str(environment)).stdout.split())
    assert all(f"{name} " in printed for name, *_ in report["columns"]["rows"])
    assert all(summary in printed for summary in report["columns"]["summaries"])


def test_the_report_of_a_comparison_refuses_another_output(tmp_path: Path) -> None:
    file = tmp_path / "compare.html"
    assert run("compare", "dev", "--report", str(file), "--output", "json").returncode == 2
    assert not file.exists()


def test_the_report_of_ranges_has_the_decision_of_the_command(tmp_path: Path) -> None:
    environment, file = tmp_path / "ranged.yaml", tmp_path / "plan.html"
    written = locate("dev").read_text().replace("stored: 200 GiB", "stored: 100..1500 GiB")
    environment.write_text(written.replace("[m8g, r8g, m7g]", "[m7g]"))
    few = ("plan", str(environment), "--samples", "8")
    assert run(*few, "--report", str(file)).returncode == 0
    blocks = blocks_of(file)
    assert blocks["plan"] == json.loads(run(*few, "--output", "json").stdout)
    report, printed = blocks["report"], " ".join(run(*few, columns=120).stdout.split())
    assert "Buy" in dict(report["rows"])
    assert all(text in printed for _, text in report["rows"])
    assert report["base"]["middle"].endswith("workload.stored 387 GiB.")
