"""A real browser, which opens a page and prints its observations."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.command import PROJECT
from tests.patience import HANG_SECONDS

PHONE_PIXELS: Final = 360
DRIVER: Final = Path(__file__).with_name("browser.mjs")
STATE_SECONDS: Final = 30
"""How much longer than others a browser may take for each state; one that hangs must not hold the tests."""
CRASH: Final = "browser has been closed"
"""Part of what playwright prints if the browser ended by itself; the locked one does so in some of its starts."""
STARTS: Final = 3

Observed = dict[str, Any]


def observed(request: Observed) -> Observed:
    """Return the observations of the browser. Skip the test if no browser starts; if it crashes, start it again."""
    node = shutil.which("node", path=f"{os.environ['PATH']}:{PROJECT / '.venv/bin'}")
    if node is None or not (PROJECT / "node_modules/playwright-core").exists():
        pytest.skip("Node or playwright-core is not installed: make setup-dev")
    # The first run unpacks the browser, and another worker must not start it before that is complete.
    with (PROJECT / "node_modules/.browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(STARTS):
            done = driven(node, request)
            if CRASH not in done.stderr + done.stdout:
                break
    assert done.returncode == 0, done.stderr
    answer: Observed = json.loads(done.stdout)
    if "skip" in answer:
        pytest.skip(f"no browser starts here: {answer['skip']}")
    return answer


def driven(node: str, request: Observed) -> subprocess.CompletedProcess[str]:
    seconds = HANG_SECONDS + STATE_SECONDS * len(request.get("states", ()))
    return subprocess.run(
        [node, DRIVER], input=json.dumps(request), capture_output=True, text=True, timeout=seconds, check=False
    )
