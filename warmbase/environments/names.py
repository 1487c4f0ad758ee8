"""The names of an environment's stacks and clusters in an AWS account."""

from __future__ import annotations

from typing import Final

BOOST_ROLE: Final = "BoostRole"
"""The logical id, in a cluster's stack, of the role that restores raised volumes."""
BOOST_TAG: Final = "warmbase-boost"
"""The tag of a volume that this role may change; its value is the name of the schedule group."""

BACKSTOP_ROLE: Final = "BackstopRole"
"""The logical id, in the backstop's stack, of the role with which schedules end the clusters of a canary."""
CANARY_TAG: Final = "warmbase-canary"
"""The tag of everything that a canary creates; its value is the name of the canary's environment.

A cluster with this tag harvests its nodes at their start, and its backstop may end it.
"""


def network_stack(environment: str) -> str:
    """Return the name of the stack that holds the VPC, its endpoints and the security groups."""
    return f"warmbase-{environment}-network"


def storage_stack(environment: str) -> str:
    """The root, its key, the logs: what outlives every cluster."""
    return f"warmbase-{environment}-storage"


def cluster_stack(environment: str, cluster_name: str) -> str:
    """Return one cluster with its roles."""
    return f"{emr_cluster_name(environment, cluster_name)}-cluster"


def monitoring_stack(environment: str, cluster_name: str) -> str:
    """Return the name of the stack that holds the dashboards, alarms and topic of one cluster."""
    return f"{emr_cluster_name(environment, cluster_name)}-monitoring"


def backstop_stack(environment: str) -> str:
    """Return the name of the stack, and of its schedule group and function, that ends the clusters of a canary."""
    return f"warmbase-{environment}-backstop"


def stacks_around(environment: str, cluster_name: str) -> tuple[str, str, str, str]:
    """All that one cluster needs, in the order in which they are made."""
    return (
        network_stack(environment),
        storage_stack(environment),
        cluster_stack(environment, cluster_name),
        monitoring_stack(environment, cluster_name),
    )


def emr_cluster_name(environment: str, cluster_name: str) -> str:
    """The cluster in EMR; what begins with it and a hyphen is that cluster's."""
    return f"warmbase-{environment}-{cluster_name}"


def boost_group(environment: str, cluster_name: str) -> str:
    """Return the name of the group of the schedules that restore the raised volumes of a cluster."""
    return emr_cluster_name(environment, cluster_name)


def cluster_id_parameter(environment: str, cluster_name: str) -> str:
    """The SSM parameter by which the cluster's id travels; an export would block the cluster's replacement."""
    return f"/warmbase/{environment}/{cluster_name}/cluster-id"


def lock_parameter(environment: str) -> str:
    """Return the SSM parameter that exists while a command changes the environment."""
    return f"/warmbase/{environment}/lock"


def renewal_parameter(environment: str) -> str:
    """Return the SSM parameter that says when the command with the lock was last alive."""
    return f"/warmbase/{environment}/lock-renewed"
