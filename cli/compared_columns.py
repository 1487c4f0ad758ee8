"""The plans that `warmbase compare` shows side by side: of the storage modes, or of the places of Trino's cache."""

from __future__ import annotations

from collections.abc import Mapping

from cli.options import chosen_analytics, chosen_cluster
from environments.engines.trino.planning import compared_caches_of
from environments.environment import Environment
from environments.planning import compared_plans
from reports.column_table import ColumnTable
from reports.compared_modes import mode_table
from reports.engines.trino.compared_caches import cache_table
from sizing.engines.trino.plan import CacheComparison
from sizing.engines.trino.search import CacheKind
from sizing.modes import Mode
from sizing.plan import Plan

Compared = Mapping[Mode, Plan] | Mapping[CacheKind, CacheComparison]


def compared_columns(environment: Environment, cluster: str | None) -> tuple[Compared, ColumnTable]:
    """Return the plan of each column, and their table. Raises InvalidInput for a name of no cluster."""
    if choice := chosen_analytics(environment, cluster):
        caches = compared_caches_of(environment, choice)
        return caches, cache_table(caches)
    plans = compared_plans(environment, chosen_cluster(environment, cluster))
    return plans, mode_table(plans)
