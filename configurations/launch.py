"""A launch: the environment, the plan of one cluster and its classifications, from which the stacks are built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from configurations.rendering import classifications
from emr.classification import Classifications
from environments.environment import Environment
from environments.planning import feasible_plan_of
from sizing.cluster import ClusterChoice
from sizing.plan import Plan

APPLICATIONS: Final = ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")
"""The applications that EMR installs; the agent publishes the metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications


def launch_of(environment: Environment, cluster: ClusterChoice) -> Launch:
    """Return the launch of a cluster.

    Raises Infeasible for a cluster that misses its targets, and InvalidInput for an override that cannot be applied.
    """
    return launch_with(environment, feasible_plan_of(environment, cluster))


def launch_with(environment: Environment, plan: Plan) -> Launch:
    """Return the launch of an existing plan."""
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))
