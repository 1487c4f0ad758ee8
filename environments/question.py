"""From an environment to what the calculator is asked: the arrow from file to plan."""

from __future__ import annotations

from environments.environment import Environment
from facts.instance_types import instance_types
from facts.prices import price_table
from facts.releases import releases
from sizing.calculator import plan
from sizing.cluster import ClusterChoice
from sizing.plan import Plan
from sizing.requirements import Requirements, World

__all__ = ["plan_of", "requirements", "world"]


def requirements(environment: Environment, cluster: ClusterChoice) -> Requirements:
    """What one cluster of the environment must serve."""
    return Requirements(
        environment=environment.name,
        root=environment.root,
        mode=environment.mode,
        workload=environment.workload,
        targets=environment.targets,
        cluster=cluster,
    )


def world(environment: Environment) -> World:
    """What there is to buy in the environment's region, and its release."""
    return World(
        instance_types=instance_types(),
        prices=price_table(environment.region),
        release=releases()[environment.release],
    )


def plan_of(environment: Environment, cluster: ClusterChoice) -> Plan:
    """The sizing plan of one cluster."""
    return plan(requirements(environment, cluster), world(environment))
