"""The dashboards of one cluster, each with its graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dashboards.cache import cache_graphs
from dashboards.graph import Graph, board_body
from dashboards.node import node_graphs
from dashboards.reads import read_graphs
from environments.names import emr_cluster_name
from environments.root import Root
from sizing.modes.mode import Board
from sizing.plan import Plan


def boards(plan: Plan, root: Root) -> Mapping[str, tuple[Graph, ...]]:
    """Return the graphs of each dashboard that the storage mode has, by the dashboard's name."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    graphs: Mapping[Board, Callable[[], tuple[Graph, ...]]] = {
        "cache": lambda: cache_graphs(plan),
        "reads": lambda: read_graphs(plan, root),
        "nodes": lambda: node_graphs(plan),
    }
    return {f"{name}-{board}": graphs[board]() for board in plan.mode.dashboards}


def dashboard_bodies(plan: Plan, region: str, root: Root) -> Mapping[str, str]:
    """Return each DashboardBody by its dashboard's name; CloudFormation fills in `${ClusterId}`."""
    return {name: board_body(graphs, region) for name, graphs in boards(plan, root).items()}
