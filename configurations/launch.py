"""What one cluster is launched with: the end of the arrows from the environment file, the start of the stacks."""

from __future__ import annotations

from dataclasses import dataclass

from configurations.classification import Classifications
from configurations.rendering import classifications
from environments.environment import Environment, Wal
from environments.question import feasible_plan_of
from sizing.cluster import ClusterChoice
from sizing.mode import Mode
from sizing.plan import Plan
from sizing.problem import InvalidInput, Problem

__all__ = ["Launch", "deployable_launch", "launch_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications


def launch_of(environment: Environment, cluster: ClusterChoice) -> Launch:
    """Raises Infeasible for a cluster that misses its targets, InvalidInput for an override that is none."""
    plan = feasible_plan_of(environment, cluster)
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))


def deployable_launch(environment: Environment, cluster: ClusterChoice) -> Launch:
    """As `launch_of`, and raises InvalidInput for what the stacks and bootstrap actions cannot set up yet."""
    unmet = [problem for problem in _not_deployable(environment, cluster) if problem]
    if unmet:
        raise InvalidInput(unmet)
    return launch_of(environment, cluster)


def _not_deployable(environment: Environment, cluster: ClusterChoice) -> tuple[Problem | None, ...]:
    def unless(holds: bool, what: str, value: str, use: str) -> Problem | None:  # noqa: FBT001
        why = f"{value} can be planned, rendered and linted, and not deployed yet"
        return None if holds else Problem(where=environment.source, what=what, why=why, fix=f"use {use} to deploy")

    return (
        unless(environment.mode is Mode.S3_CACHED, "storage.mode", environment.mode, Mode.S3_CACHED),
        unless(environment.wal is Wal.HDFS, "storage.wal", environment.wal, Wal.HDFS),
        unless(cluster.role == "active", f"clusters.{cluster.colour}.role", cluster.role, "active"),
    )
