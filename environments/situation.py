"""From an environment to the situation of one of its clusters, of whatever engine."""

from __future__ import annotations

from environments.engines.trino.planning import trino_situation
from environments.environment import Environment
from environments.planning import requirements, world
from sizing.hbase_situation import HBaseSituation
from sizing.regret import Situation
from sizing.requirements import World

__all__ = ["situation_of"]


def situation_of(environment: Environment, cluster: str, offered: World | None = None) -> Situation:
    """Return what a cluster must serve and what there is to buy for it; `offered` is the environment's world.

    Raises InvalidInput if no instance type can be a worker of an analytics cluster.
    """
    offered = world(environment) if offered is None else offered
    if cluster in environment.analytics:
        return trino_situation(environment, environment.analytics[cluster], offered)
    needs = requirements(environment, environment.clusters[cluster])
    return HBaseSituation(requirements=needs, world=offered)
