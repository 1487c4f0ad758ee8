"""The README: its commands print what it shows, its links lead somewhere, its environment is the one that ships."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import COMMANDS
from lint.rules import RULES
from local_aws.server import is_healthy

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
ELLIPSIS = "…"
# What differs from run to run: times, ports, processes, ids.
VARYING = (
    (re.compile(r"\d+\.\d s$"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"kill \d+"), "kill PROCESS"),
    (re.compile(r"j-[A-Z0-9]+"), "j-ID"),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def sessions() -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines that it is shown to print."""
    for block in blocks("console"):
        for part in block.split("$ ")[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.splitlines()


def normal(line: str) -> str:
    for pattern, name in VARYING:
        line = pattern.sub(name, line)
    return line.rstrip()


def assert_printed_in_order(shown: list[str], printed: list[str]) -> None:
    """Every shown line is printed, in the order shown; an ellipsis skips lines."""
    rest = iter([normal(line) for line in printed])
    for line in shown:
        if line != ELLIPSIS and line.strip():
            assert normal(line) in rest, f"not printed, or not in this place: {line!r}"


# A caller's own account must lead nowhere, nor may its variables stand for options of the CDK.
REAL_ACCOUNT = {
    "AWS_PROFILE": "production",
    "AWS_ENDPOINT_URL_EMR": "https://emr.us-east-1.amazonaws.com",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    "CDK_PROFILE": "production",
}
QUICK = [(command, shown) for command, shown in sessions() if "demo" not in command]


@pytest.mark.parametrize(("command", "shown"), QUICK, ids=[command for command, _ in QUICK])
def test_a_command_prints_what_is_shown(command: str, shown: list[str]) -> None:
    variables = {"PATH": os.environ["PATH"], "COLUMNS": "80"}
    done = subprocess.run(
        shlex.split(command), cwd=PROJECT, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert_printed_in_order(shown, (done.stdout + done.stderr).splitlines())


@pytest.mark.e2e
def test_the_demo_deploys_compares_removes_and_prints_what_is_shown() -> None:
    """`make demo` after set-up; stderr is the conversation, stdout the answer."""
    [shown] = [shown for command, shown in sessions() if command == "make demo"]
    # The variables of the make that runs these tests are not the demo's.
    its_own = {"MAKEFLAGS", "MAKEOVERRIDES", "ARGS"}
    variables = {name: value for name, value in os.environ.items() if name not in its_own} | REAL_ACCOUNT
    done = subprocess.run(
        ["make", "demo"], cwd=PROJECT, env=variables, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "no difference" in done.stderr
    [endpoint] = re.findall(r"http://127\.0\.0\.1:\d+", done.stderr)
    assert not is_healthy(endpoint)
    answer = shown.index("Cluster j-4WNS9KN6AM0Z8, as the services described it:")
    steps = [line for line in shown[:answer] if not line.startswith(("setup:", "prod blue"))]
    assert_printed_in_order(steps, done.stderr.splitlines())
    assert_printed_in_order(["prod blue: s3-cached on emr-7.12.0", *shown[answer:]], done.stdout.splitlines())


def test_every_command_of_warmbase_is_in_the_readme() -> None:
    assert {command for command in COMMANDS if f"warmbase {command}" in README} == set(COMMANDS)


def test_only_commands_that_exist_are_named() -> None:
    assert set(re.findall(r"(?:bin/|`)warmbase (\w+)", README)) <= set(COMMANDS)


def test_the_rules_are_as_many_as_it_says() -> None:
    assert f"[{len(RULES)} rules]" in README


def test_the_environment_shown_is_the_one_that_ships() -> None:
    shipped = (PROJECT / "environments/prod.yaml").read_text()
    assert blocks("yaml")[0] in shipped


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    if target.startswith("#"):
        headings = re.findall(r"^#+ (.*)$", README, flags=re.MULTILINE)
        assert target[1:] in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    else:
        assert (PROJECT / target).exists()
