"""The dashboards of one cluster."""

from __future__ import annotations

from collections.abc import Mapping

from dashboards.cache import cache_graphs
from dashboards.graph import Graph, board_body
from dashboards.node import node_graphs
from dashboards.reads import read_graphs
from environments.names import emr_cluster_name
from sizing.plan import Plan

__all__ = ["boards", "dashboard_bodies"]


def boards(plan: Plan, root_bucket: str) -> Mapping[str, tuple[Graph, ...]]:
    """Graphs by the dashboard's name; one on the cache where there is one, one on reads, one on nodes."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    of_cache = {f"{name}-cache": cache_graphs(plan)} if plan.mode.cached else {}
    return {**of_cache, f"{name}-reads": read_graphs(plan, root_bucket), f"{name}-nodes": node_graphs(plan)}


def dashboard_bodies(plan: Plan, region: str, root_bucket: str) -> Mapping[str, str]:
    """Each DashboardBody by its dashboard's name; `${ClusterId}` in it is CloudFormation's to fill in."""
    return {name: board_body(graphs, region) for name, graphs in boards(plan, root_bucket).items()}
