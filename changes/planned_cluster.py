"""A cluster of an environment as a command works on it: loaded once, and handed on as one value."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from changes.recorded_security import check_kerberos_applies
from changes.replan import replanned
from configurations.launch import Launch, launch_of
from environments.environment import Environment
from environments.launch_record import LaunchRecord, in_recorded_zones
from environments.record_files import launch_records
from lint.deployable import check_deployable


class PlannedCluster(Struct, frozen=True, kw_only=True):
    """A cluster with its launch record, None before its first launch, and with today's plan for it.

    The plan of a recorded cluster keeps what the launch decided for good: `launch.environment` has its zone, its
    release and its nodes, whatever the environment file asks for by now.
    """

    record: LaunchRecord | None
    launch: Launch

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return self.launch.plan.cluster


def planned_cluster(environment: Environment, cluster_name: str, record: LaunchRecord | None) -> PlannedCluster:
    """The cluster with today's plan. Raises Infeasible where it misses its targets, InvalidInput for an override."""
    launch = (
        launch_of(environment, environment.clusters[cluster_name]) if record is None else replanned(environment, record)
    )
    return PlannedCluster(record=record, launch=launch)


def deployable_cluster(environment: Environment, cluster_name: str) -> PlannedCluster:
    """The cluster of that name. Raises as `deployable_clusters`."""
    records = launch_records(environment)
    check_kerberos_applies(environment, records)
    return _checked(planned_cluster(environment, cluster_name, records.get(cluster_name)))


def deployable_clusters(environment: Environment) -> Mapping[str, PlannedCluster]:
    """Every cluster of the environment by name, checked as far as that is possible without AWS.

    Raises InvalidInput for a launch record that was edited, for a realm that no cluster is in, for a setting that lint
    refuses and for a root that another environment has too; Infeasible for a cluster that misses its targets.
    """
    records = launch_records(environment)
    check_kerberos_applies(environment, records)
    in_zone = in_recorded_zones(environment, records.values())
    return {name: _checked(planned_cluster(in_zone, name, records.get(name))) for name in environment.clusters}


def _checked(cluster: PlannedCluster) -> PlannedCluster:
    check_deployable(cluster.launch)
    return cluster
