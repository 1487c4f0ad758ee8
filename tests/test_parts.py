""".ci/parts: every part of a build runs and is reported, even if others fail."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS

PARTS = Path(__file__).parents[1] / ".ci" / "parts"


def build(parts: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"source {PARTS}; {parts}; finish"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


@pytest.mark.parametrize(
    ("parts", "status", "lines"),
    [
        ("part a true; part b true", 0, ["a passed", "b passed"]),
        ("part a false; part b true", 1, ["a FAILED (exit code 1)", "b passed"]),
        ("beside a true; part b true", 0, ["b passed", "a passed"]),
        ("beside a false; part b true", 1, ["b passed", "a FAILED (exit code 1)"]),
        ("beside a true; part b bash -c 'exit 3'", 1, ["b FAILED (exit code 3)", "a passed"]),
        ("beside a bash -c 'sleep 0.3; exit 4'; beside b true", 1, ["a FAILED (exit code 4)", "b passed"]),
    ],
)
def test_every_part_runs_and_is_reported(parts: str, status: int, lines: list[str]) -> None:
    result = build(parts)
    assert result.returncode == status
    # name, seconds, "s", and the outcome of the part
    words = [line.split() for line in result.stderr.splitlines()]
    assert [" ".join([word[0], *word[3:]]) for word in words] == lines


def test_the_output_of_a_part_in_the_background_follows_that_of_the_others() -> None:
    result = build("beside a bash -c 'echo one; echo two >&2'; part b bash -c 'sleep 0.3; echo three'")
    assert result.stdout.split() == ["three", "one", "two"]


def test_parts_run_beside_each_other() -> None:
    # The first part ends only when the second has begun.
    result = build('d=$(mktemp -d); beside a bash -c "until [ -e $d/b ]; do sleep 0.1; done"; part b touch $d/b')
    assert result.returncode == 0


def test_a_build_that_ends_early_ends_its_background() -> None:
    begun = time.monotonic()
    with subprocess.Popen(
        ["bash", "-c", f"source {PARTS}; beside a sleep 20; echo begun; part b bash -c 'exit 130'; finish"],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.wait(timeout=HANG_SECONDS) == 128 + signal.SIGINT
    assert time.monotonic() - begun < 10
