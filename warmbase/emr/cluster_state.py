"""The states of an EMR cluster, and what they say about its end.

EMR's list of states grows. So only the states in which a cluster has certainly ended are listed, and every other word
counts as a cluster that may still write.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

ENDED: Final = frozenset({"TERMINATED", "TERMINATED_WITH_ERRORS"})
"""EMR API Reference, ClusterStatus; `bootstrap-actions/programs/claim_root.py` has the same list."""
LEAVING: Final = ENDED | {"TERMINATING"}
MEMORY: Final = timedelta(days=62)
"""The longest two months: EMR returns clusters that ended within two months (EMR API Reference, DescribeJobFlows)."""


def has_ended(state: str | None, launch_time: str, now: datetime | None = None) -> bool:
    """Return whether a cluster has ended for certain; `state` is None where EMR does not know its id.

    An unknown id proves the end only of a cluster that was launched before everything that EMR remembers. A younger
    one belongs to another account or region, or was never launched. `launch_time` is in ISO 8601, or empty.
    """
    if state is not None:
        return state in ENDED
    try:
        launch = datetime.fromisoformat(launch_time)
    except ValueError:
        return False
    zoned = launch if launch.tzinfo else launch.replace(tzinfo=UTC)
    return (now or datetime.now(UTC)) - zoned > MEMORY


def is_running(state: str | None) -> bool:
    """Return whether a cluster runs or starts: EMR knows it, and it neither has ended nor is about to."""
    return state is not None and state not in LEAVING
