"""The demo, as a user runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.aws.server import is_healthy

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


@pytest.mark.e2e
def test_demo_deploys_compares_and_removes_with_the_real_command_line() -> None:
    # Variables of a real account in the caller's environment must lead nowhere.
    done = demo("dev", AWS_PROFILE="production", AWS_ENDPOINT_URL_EMR="https://emr.us-east-1.amazonaws.com")
    assert done.returncode == 0, done.stderr
    for step in ("cdk synth", "cfn-lint", "cdk bootstrap", "cdk deploy", "read back", "cdk destroy"):
        assert step in done.stderr
    assert "an emulator: no node starts, no HBase runs" in done.stderr
    assert "no difference" in done.stderr
    assert "retained, as always: warmbase-dev-logs-" in done.stdout
    assert ", 0 not" in done.stdout
    [endpoint] = re.findall(r"http://127\.0\.0\.1:\d+", done.stderr)
    assert not is_healthy(endpoint)


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
