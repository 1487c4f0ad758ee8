"""How slow this machine is just now: bounds in seconds are for one that is not."""

from __future__ import annotations

import time

LOOP = 5_000_000
QUIET_SECONDS = 0.055  # judgement: of such a machine with nobody beside it


def slowness() -> float:
    """At least 1: the time of the processor for a plain loop over what it was where the bounds were set."""
    began = time.process_time()
    sum(range(LOOP))
    return max(1.0, (time.process_time() - began) / QUIET_SECONDS)
