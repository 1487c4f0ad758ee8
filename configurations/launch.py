"""What one cluster is launched with: the end of the arrows from the environment file, the start of the stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from configurations.rendering import classifications
from emr.classification import Classifications
from environments.environment import Environment
from environments.planning import feasible_plan_of
from sizing.cluster import ClusterChoice
from sizing.plan import Plan

__all__ = ["APPLICATIONS", "Launch", "launch_of", "launch_with"]

APPLICATIONS: Final = ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")
"""What EMR installs; the agent publishes the metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications


def launch_of(environment: Environment, cluster: ClusterChoice) -> Launch:
    """Raises Infeasible for a cluster that misses its targets, InvalidInput for an override that is none."""
    return launch_with(environment, feasible_plan_of(environment, cluster))


def launch_with(environment: Environment, plan: Plan) -> Launch:
    """Return the launch of a plan that is made already."""
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))
