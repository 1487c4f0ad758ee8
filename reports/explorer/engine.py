"""The cluster of an environment file on the page, whatever its engine."""

from __future__ import annotations

from environments.environment import Environment
from reports.explorer.engines.trino.cluster import TrinoOnPage
from reports.explorer.hbase import HBaseOnPage
from reports.explorer.planned import PageEngine


def engine_of(environment: Environment, cluster: str) -> PageEngine:
    """Return the engine of a cluster of the environment."""
    return TrinoOnPage(cluster=cluster) if cluster in environment.analytics else HBaseOnPage(cluster=cluster)
