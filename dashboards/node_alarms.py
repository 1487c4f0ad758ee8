"""Alarms on core nodes and their cache volumes, which clusters of every engine have."""

from __future__ import annotations

from typing import Final

from dashboards.alarm import Alarm, alarm_above, alarm_below
from dashboards.graph import FIVE_MINUTES
from dashboards.node import FULL, of_cluster

DISK_MARGIN_FRACTION: Final = 0.02  # judgement: above the planned fill, for logs and the file system's own blocks
NOT_YET_UNHEALTHY: Final = 0.89  # YARN calls a disk unhealthy at 0.90


def core_node_missing(count: int, advice: str) -> Alarm:
    """Return the alarm on fewer running core nodes than planned; `advice` ends its description."""
    return alarm_below(
        name="core-node-missing",
        watched=of_cluster("CoreNodesRunning"),
        threshold=count,
        periods=2,
        period_seconds=FIVE_MINUTES,
        missing="breaching",
        description=f"Fewer than {count} core nodes are running. A replacement node starts with an empty cache. "
        f"{advice}",
    )


def disk_full(watched: str, planned: float, advice: str) -> Alarm:
    """Return the alarm on a cache volume that is fuller than planned, before EMR replaces its node."""
    full = round(min(NOT_YET_UNHEALTHY, max(FULL, planned + DISK_MARGIN_FRACTION)), 3)
    return alarm_above(
        name="disk-full",
        watched=watched,
        threshold=full,
        description=f"A node's cache volume is filled to more than {full}; the plan fills at most {planned:.3f}. "
        f"At 0.90 YARN marks the disk as unhealthy, and EMR replaces the node together with its cache. {advice}",
    )
