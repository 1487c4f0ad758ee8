"""A launch: the environment, the plan of one cluster and its classifications, from which the stacks are built."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from configurations.rendering import NEW_CLUSTER, classifications
from emr.classification import Classifications
from environments.environment import Environment
from environments.kerberos import HBaseSecurity
from environments.planning import feasible_plan_of
from sizing.cluster import ClusterChoice
from sizing.plan import Plan

APPLICATIONS: Final = ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")
"""The applications that EMR installs; the agent publishes the metrics."""


class Launch(Struct, frozen=True, kw_only=True):
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications
    security: HBaseSecurity = NEW_CLUSTER
    """The security settings of HBase. A running cluster has those of its launch."""


def launch_of(environment: Environment, cluster: ClusterChoice, security: HBaseSecurity | None = None) -> Launch:
    """Return the launch of a cluster, with the security settings of the environment file unless others are stated.

    Raises Infeasible for a cluster that misses its targets, and InvalidInput for an override that cannot be applied.
    """
    return launch_with(environment, feasible_plan_of(environment, cluster), security)


def launch_with(environment: Environment, plan: Plan, security: HBaseSecurity | None = None) -> Launch:
    """Return the launch of an existing plan."""
    security = security or HBaseSecurity(kerberos=environment.kerberos)
    settings = classifications(environment, plan, security)
    return Launch(environment=environment, plan=plan, settings=settings, security=security)
