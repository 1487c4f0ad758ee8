""".ci/parts: every part of a build runs and is reported, even if others fail."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS, wait_until

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
    *parts_of, summary = result.stderr.splitlines()
    words = [line.split() for line in parts_of]
    assert [" ".join([word[0], *word[3:]]) for word in words] == lines
    failed = sum("FAILED" in line for line in lines)
    assert summary.startswith(f"{len(lines) - failed} passed, {failed} failed, 0 left out, in ")


def test_no_part_begins_too_late_and_what_was_left_out_is_named() -> None:
    """The outcome is that of the parts that ran; the last start is the 55th minute unless a variable says otherwise."""
    late = "LAST_START_SECONDS=60; part a true; SECONDS=61; part b touch $d/b; beside c touch $d/c"
    result = build(f"d=$(mktemp -d); {late}; ls $d")
    assert (result.returncode, result.stdout) == (0, "")
    *_, left_out, also, summary = result.stderr.splitlines()
    assert left_out.split(maxsplit=1) == ["b", "LEFT OUT (no part begins after 60 s)"]
    assert also.split()[0] == "c"
    outcome = "1 passed, 0 failed, 2 left out, in 61 s; the outcome is that of the parts that ran, without: b c"
    assert re.sub(r"in \d+ s", "in 61 s", summary) == outcome


@pytest.mark.parametrize(("seconds", "begins"), [(3_000, True), (3_301, False)])
def test_the_last_start_is_in_the_55th_minute(seconds: int, begins: bool) -> None:  # noqa: FBT001
    assert ("begun" in build(f"part a true; SECONDS={seconds}; part b echo begun").stdout) is begins


def test_a_build_of_which_nothing_ran_has_failed() -> None:
    assert build("LAST_START_SECONDS=-1; part a true").returncode == 1


def test_the_output_of_a_part_in_the_background_follows_that_of_the_others() -> None:
    result = build("beside a bash -c 'echo one; echo two >&2'; part b bash -c 'sleep 0.3; echo three'")
    assert result.stdout.split() == ["three", "one", "two"]


def test_parts_run_beside_each_other() -> None:
    # The first part ends only when the second has begun.
    result = build('d=$(mktemp -d); beside a bash -c "until [ -e $d/b ]; do sleep 0.1; done"; part b touch $d/b')
    assert result.returncode == 0


def test_a_build_that_ends_early_ends_its_background(tmp_path: Path) -> None:
    file = tmp_path / "process"
    background = f"beside a bash -c 'echo $$ >{file}; exec sleep 3600'; until [ -s {file} ]; do sleep 0.1; done"
    assert build(f"{background}; part b bash -c 'exit 130'").returncode == 128 + signal.SIGINT
    command = Path(f"/proc/{file.read_text().strip()}/cmdline")
    wait_until(lambda: not command.exists() or command.read_bytes() == b"")
