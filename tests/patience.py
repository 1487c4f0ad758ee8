"""How long a test waits for what must come: on any machine, only what hangs waits so long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

HANG_SECONDS: Final = 900
"""The longest of these waits, a demo, takes half a minute on two idle cores: a machine may be thirty times slower."""


def wait_until(holds: Callable[[], bool]) -> None:
    """Return as soon as it holds."""
    end = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < end, "what the test waits for does not come"
        time.sleep(0.02)
