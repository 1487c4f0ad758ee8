"""The needs of an HBase cluster, and how its plan varies."""

from __future__ import annotations

from collections.abc import Iterator

from warmbase.environments.environment import Environment
from warmbase.environments.planning import plan_of, requirements
from warmbase.environments.uncertainty.growth import growth_of_tables as growth
from warmbase.environments.uncertainty.judgements import JUDGEMENTS
from warmbase.environments.uncertainty.sensitivity import Figures, workload_numbers
from warmbase.sizing.ranges.hbase_situation import HBaseSituation
from warmbase.sizing.requirements import World

__all__ = ["JUDGEMENTS", "figures", "growth", "numbers", "situation"]


def situation(environment: Environment, cluster: str, offered: World) -> HBaseSituation:
    """Return the load that the cluster must serve, and the instances and prices on offer."""
    return HBaseSituation(requirements=requirements(environment, environment.clusters[cluster]), world=offered)


def figures(environment: Environment, cluster: str) -> Figures:
    """Return the price and the p99 of the plan; both are None if it misses its targets. Raises Infeasible."""
    plan = plan_of(environment, environment.clusters[cluster])
    return (plan.cost.usd_per_month, plan.throughput.p99_latency_ms) if plan.meets_targets else (None, None)


def numbers(environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:  # noqa: ARG001 - its clusters share one workload
    """Yield the path, the unit and the value of each number of the workload."""
    return workload_numbers(environment.workload)
