"""The demo, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
WARMBASE = Path(sys.executable).parent / "warmbase"


def demo(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(WARMBASE), "demo", *arguments],
        cwd=PROJECT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def children_of_the_lab() -> set[str]:
    """Process ids of local AWS servers on this machine."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"lab.aws\0" in command and b"--until-stdin-closes" in command:
            found.add(process.name)
    return found


@pytest.mark.e2e
def test_demo_deploys_compares_and_removes_with_the_real_command_line() -> None:
    before = children_of_the_lab()
    # Variables of a real account in the caller's environment must lead nowhere.
    done = demo("dev", AWS_PROFILE="production", AWS_ENDPOINT_URL_EMR="https://emr.us-east-1.amazonaws.com")
    assert done.returncode == 0, done.stderr
    for step in ("cdk synth", "cfn-lint", "cdk bootstrap", "cdk deploy", "read back", "cdk destroy"):
        assert step in done.stderr
    assert "an emulator: no node starts, no HBase runs" in done.stderr
    assert "no difference" in done.stderr
    assert "retained, as always: warmbase-dev-logs-" in done.stdout
    assert ", 0 not" in done.stdout
    assert children_of_the_lab() <= before


def test_demo_refuses_an_endpoint_that_is_not_on_this_machine() -> None:
    done = demo("dev", "--endpoint", "https://elasticmapreduce.us-east-1.amazonaws.com")
    assert done.returncode == 2
    assert "is not on this machine" in done.stderr
    assert done.stdout == ""


def test_demo_of_a_faulty_environment_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text("name: Faulty\n")
    done = demo(str(file))
    assert done.returncode == 2
    assert "cdk" not in done.stderr
