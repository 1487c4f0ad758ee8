"""What is watched of an analytics cluster."""

from __future__ import annotations

from configurations.engines.trino.rendering import TrinoLaunch
from stacks.monitoring import Watched


def watched_trino(launch: TrinoLaunch) -> Watched:
    """Return what is watched of an analytics cluster."""
    return Watched(cluster=launch.plan.cluster, dashboards={}, alarms=(), calls=())
