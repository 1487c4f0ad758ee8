"""From an environment to what may be deployed: planned, rendered, and nothing wrong with it."""

from __future__ import annotations

from configurations.launch import Launch, launch_of
from configurations.lint.gate import refuse_errors
from environments.environment import Environment, Wal
from environments.reader import shared_roots
from sizing.cluster import ClusterChoice
from sizing.mode import Mode
from sizing.problem import InvalidInput, Problem

__all__ = ["deployable_launch"]


def deployable_launch(environment: Environment, cluster: ClusterChoice) -> Launch:
    """As `launch_of`, without an error that lint finds.

    Raises InvalidInput for those, for a root that another file has too, and for what the stacks and bootstrap actions
    cannot set up yet.
    """
    unmet = [problem for problem in _not_deployable(environment, cluster) if problem] + shared_roots(environment)
    if unmet:
        raise InvalidInput(unmet)
    launch = launch_of(environment, cluster)
    refuse_errors(launch)
    return launch


def _not_deployable(environment: Environment, cluster: ClusterChoice) -> tuple[Problem | None, ...]:
    def unless(holds: bool, what: str, value: str, use: str) -> Problem | None:  # noqa: FBT001
        why = f"{value} can be planned, rendered and linted, and not deployed yet"
        return None if holds else Problem(where=environment.source, what=what, why=why, fix=f"use {use} to deploy")

    return (
        unless(environment.mode is Mode.S3_CACHED, "storage.mode", environment.mode, Mode.S3_CACHED),
        unless(environment.wal is Wal.HDFS, "storage.wal", environment.wal, Wal.HDFS),
        unless(cluster.role == "active", f"clusters.{cluster.colour}.role", cluster.role, "active"),
    )
