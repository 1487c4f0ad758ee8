"""The dashboards and alarms of an analytics cluster, for its monitoring stack."""

from __future__ import annotations

from configurations.engines.trino.rendering import TrinoLaunch
from dashboards.engines.trino.alarms import trino_alarms, trino_composite_alarms
from dashboards.engines.trino.boards import trino_dashboards
from stacks.monitoring import Watched


def watched_trino(launch: TrinoLaunch) -> Watched:
    """Return what is watched of an analytics cluster."""
    plan = launch.plan
    return Watched(
        cluster=plan.cluster,
        dashboards=trino_dashboards(plan, launch.environment.region),
        alarms=trino_alarms(plan),
        calls=trino_composite_alarms(plan),
    )
