"""A command that needs AWS says what is missing and how to mend it; it never ends in a traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.command import PROCESS, PROJECT, process_variables

COMMANDS = (("status", "dev"), ("claim", "dev"), ("deploy", "dev", "--dry-run"), ("reconfigure", "dev", "--dry-run"))
SITUATIONS = {
    "no credentials": ({}, "Unable to locate credentials"),
    "no such profile": ({"AWS_PROFILE": "nope"}, "The config profile (nope) could not be found"),
    "nobody answers": (
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"},
        "Could not connect to the endpoint URL",
    ),
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.thorough
def test_each_command_says_what_is_missing(command: tuple[str, ...], situation: str, tmp_path: Path) -> None:
    variables, why = SITUATIONS[situation]
    answer = subprocess.run(
        [*PROCESS, *command],
        cwd=PROJECT,
        env=process_variables() | {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert why in answer.stderr
    assert "\n  fix: " in answer.stderr
