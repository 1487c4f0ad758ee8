"""The cluster of an environment file on the page, whatever its engine."""

from __future__ import annotations

from environments.environment import Environment
from reports.explorer.engines.trino.cluster import TrinoOnPage
from reports.explorer.hbase import HBaseOnPage
from reports.explorer.planned import PageEngine


def engine_of(environment: Environment, cluster: str) -> PageEngine:
    """Return the engine of a cluster of the environment."""
    if cluster in environment.analytics:
        return TrinoOnPage(cluster=cluster)
    return HBaseOnPage(cluster=cluster, tables=tuple(table.name for table in environment.workload.tables))
