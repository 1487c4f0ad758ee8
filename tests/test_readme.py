"""The README and the pages by task: their commands print what is shown, their links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from lab.commands.demo import AFTER_REMOVAL
from local_aws.server import is_healthy
from tests.command import run
from tests.pages import DOCS, PAGES, PROJECT, README, WARMBASE, assert_printed_in_order, blocks, sessions
from tests.patience import HANG_SECONDS
from warmbase.cli.commands import COMMANDS, warmbase
from warmbase.linter.rules import RULES

MAX_README_LINES: Final = 200
OFFLINE: Final = {"plan", "explain", "compare", "render", "lint", "diff", "lab scenarios", "--help"}
"""Commands that print the same everywhere. test_rehearsal.py runs the others, on the emulated AWS."""


def is_offline(command: str) -> bool:
    words = command.partition("#")[0].removeprefix(f"{WARMBASE} ")
    live = re.search(r"--against (launch|live)", words)
    return command.startswith(WARMBASE) and not live and any(f"{words} ".startswith(f"{name} ") for name in OFFLINE)


def printed_by(command: str) -> list[str]:
    """Return the lines that a command prints, those of standard error last."""
    result = run(*shlex.split(command, comments=True)[1:])
    return (result.stdout + result.stderr).splitlines()


SEARCHES: Final = ("--tornado", "..")
"""Options that have a command search for many plans, which takes seconds."""
EXAMPLES = [
    pytest.param(
        command,
        lines,
        id=f"{page.stem}: {command}",
        marks=[pytest.mark.thorough] * any(option in command for option in SEARCHES),
    )
    for page in PAGES
    for command, lines in sessions(page)
    if is_offline(command)
]


@pytest.mark.parametrize(("command", "lines"), EXAMPLES)
def test_a_command_prints_what_the_page_shows(command: str, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    assert_printed_in_order(lines, printed_by(command))


FIGURES: Final = re.compile(
    r"^\| [^|]+ \| (?P<predicted>[\d.,]+) \| (?P<measured>[\d.,]+) \| .*\((?P<page>[\w-]+\.md)\) \|$"
)


def test_the_figures_at_the_top_stand_beside_each_other_on_the_page_that_they_link_to() -> None:
    figures = [match for line in (DOCS / "proof.md").read_text().splitlines() if (match := FIGURES.match(line))]
    assert len(figures) == 5
    for figure in figures:
        rows = (DOCS / figure["page"]).read_text().splitlines()
        numbers = [re.findall(r"(?<![\w.,])[\d.,]*\d", row) for row in rows]
        assert any(figure["predicted"] in row and figure["measured"] in row for row in numbers), figure[0]


def test_commands_of_every_task_are_run() -> None:
    pages = {str(example.id).partition(":")[0] for example in EXAMPLES}
    assert pages >= {"README", "size", "check", "proof"}
    assert len(EXAMPLES) >= 10


# A caller's own account must lead nowhere, nor may its variables stand for options of the CDK.
REAL_ACCOUNT = {
    "AWS_PROFILE": "production",
    "AWS_ENDPOINT_URL_EMR": "https://emr.us-east-1.amazonaws.com",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    "CDK_PROFILE": "production",
}


@pytest.mark.e2e
@pytest.mark.thorough
def test_the_demo_deploys_compares_removes_and_prints_what_the_page_shows() -> None:
    """`make demo` after set-up; stderr is the conversation, stdout the answer."""
    [lines] = [lines for command, lines in sessions(DOCS / "proof.md") if command == "make demo"]
    # The variables of the make that runs these tests are not the demo's.
    of_this_make = {"MAKEFLAGS", "MAKEOVERRIDES", "ARGS"}
    variables = {name: value for name, value in os.environ.items() if name not in of_this_make} | REAL_ACCOUNT
    process = subprocess.run(
        ["make", "demo"], cwd=PROJECT, env=variables, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert process.returncode == 0, process.stderr
    assert "no difference" in process.stderr
    [endpoint] = re.findall(r"http://127\.0\.0\.1:\d+", process.stderr)
    assert not is_healthy(endpoint)
    answer = next(number for number, line in enumerate(lines) if line.startswith("Cluster j-"))
    [head] = [line for line in lines if line.startswith("prod / blue")]
    steps = [line for line in lines[:answer] if line != head and not line.startswith("setup:")]
    assert_printed_in_order(steps, process.stderr.splitlines())
    assert_printed_in_order([head, *lines[answer:]], process.stdout.splitlines())


def test_what_a_demo_suggests_after_it_runs() -> None:
    """The last suggestion, the demo that is kept, runs in test_rehearsal.py."""
    *offline, keep = (command.format(environment="prod") for command in AFTER_REMOVAL)
    assert keep == "warmbase demo prod --keep"
    assert [command for command in offline if run(*shlex.split(command)[1:]).returncode != 0] == []


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MAX_README_LINES


def test_the_readme_answers_before_it_logs() -> None:
    [first, *_] = [command for command, _ in sessions(README)]
    assert first == f"{WARMBASE} plan prod"


def test_every_command_is_explained_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {command for command in COMMANDS if f"warmbase {command}" in text} == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_only_commands_that_exist_are_named(page: Path) -> None:
    assert set(re.findall(r"(?:bin/|`)warmbase ([a-z][\w-]*)", page.read_text(encoding="utf-8"))) <= set(COMMANDS)


@pytest.mark.parametrize("page", [README, DOCS / "check.md"], ids=lambda page: page.stem)
def test_the_rules_are_as_many_as_it_says(page: Path) -> None:
    assert re.findall(r"(\d+)\s+(?:\[?rules)", page.read_text(encoding="utf-8")) == [str(len(RULES))]


def test_the_environment_on_the_page_is_the_one_that_ships() -> None:
    shipped = (PROJECT / "environments/prod.yaml").read_text(encoding="utf-8")
    tables, environment = blocks(DOCS / "size.md", "yaml")[:2]
    assert environment in shipped
    assert tables in (DOCS / "several-tables.yaml").read_text()


def test_the_smallest_environment_is_planned(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(blocks(README, "yaml")[0], encoding="utf-8")
    assert CliRunner().invoke(warmbase, ["plan", str(file)]).exit_code == 0


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("https://"):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in anchors(target), f"{page.name}: {link}"
