"""An engine's part in this room: a module whose functions have the types below.

A function takes an environment with the name of one of the engine's clusters, or the launch or the cluster that another
function of the same engine has returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from warmbase.engines.engine import ENGINES, Engine

if TYPE_CHECKING:
    from warmbase.changes.change import Change
    from warmbase.changes.cost import ImpactCost
    from warmbase.configurations.bootstrap import Action
    from warmbase.emr.cluster_spec import Classifications, ClusterSpec
    from warmbase.environments.environment import Environment
    from warmbase.environments.launch_record import LaunchRecord, RecordedPlan
    from warmbase.sizing.cost import Cost
    from warmbase.sizing.plan import (
        CoreGroup,
        PrimaryGroup,
        Warning,  # noqa: A004 - the plan's own word
    )


class EnginePlan(Protocol):
    """The plan of a cluster, whatever its engine."""

    @property
    def environment(self) -> str:
        """Return the name of the environment."""

    @property
    def cluster(self) -> str:
        """Return the name of the cluster."""

    @property
    def release(self) -> str:
        """Return the release label of EMR."""

    @property
    def primary(self) -> PrimaryGroup:
        """Return the primary group."""

    @property
    def core(self) -> CoreGroup:
        """Return the core group, whose nodes have the caches."""

    @property
    def cost(self) -> Cost:
        """Return the price of the cluster."""

    @property
    def warnings(self) -> Sequence[Warning]:
        """Return what the user should know before the deployment."""


class EngineLaunch(Protocol):
    """The environment, the plan of one cluster and its classifications, whatever the engine."""

    @property
    def environment(self) -> Environment:
        """Return the environment; that of a recorded cluster has the release of its launch."""

    @property
    def plan(self) -> EnginePlan:
        """Return the plan."""

    @property
    def settings(self) -> Classifications:
        """Return the classifications of the plan."""


class EngineCluster(Protocol):
    """A cluster with its launch record, None before its first launch, and with the launch of today's plan."""

    @property
    def record(self) -> LaunchRecord | None:
        """Return the launch record."""

    @property
    def launch(self) -> EngineLaunch:
        """Return the launch."""


class Changes(Protocol):
    """Launches, and the changes between a cluster and today's plan."""

    def launch(self, environment: Environment, cluster: str, record: LaunchRecord | None = None) -> EngineLaunch:
        """Return the launch of today's plan; that of a recorded cluster keeps its release and its nodes.

        Raises Infeasible for a cluster without a record that misses its targets.
        """

    def launch_of_file(self, environment: Environment, cluster: str) -> EngineLaunch:
        """Return the launch that the file alone asks for, whatever nodes were launched. Raises as `launch`."""

    def spec(self, launch: Any) -> ClusterSpec:  # noqa: ANN401 - the engine's own launch
        """Return the planned cluster as EMR's nouns."""

    def actions(self, launch: Any) -> Sequence[Action]:  # noqa: ANN401 - the engine's own
        """Return the bootstrap actions of the planned cluster."""

    def deployable_cluster(self, environment: Environment, cluster: str) -> EngineCluster:
        """Return one cluster, checked as far as that is possible without AWS."""

    def deployable_clusters(self, environment: Environment) -> Mapping[str, EngineCluster]:
        """Return the engine's clusters by name, each as `deployable_cluster` returns it."""

    def plan_at_launch(
        self, environment: Environment, record: LaunchRecord, before: LaunchRecord | None
    ) -> RecordedPlan:
        """Return the plan with which the cluster of a new record was launched; `before` is its earlier record."""

    def current_usd(self, cluster: Any, count: int) -> float:  # noqa: ANN401 - the engine's own cluster
        """Return the monthly cost of a recorded cluster with so many core nodes."""

    def differences(
        self,
        before: ClusterSpec,
        launch: Any,  # noqa: ANN401 - the engine's own
        roles: Sequence[str],
        further: Sequence[Change],
    ) -> tuple[Change, ...]:
        """Return the differences from today's plan for nodes of those roles, and `further` changes outside settings."""

    def impact(self, pending: Sequence[Change], before: ClusterSpec, launch: Any) -> ImpactCost:  # noqa: ANN401 - the engine's own
        """Return the cost of applying all of these changes."""

    def impact_rows(self, cost: ImpactCost, plan: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - the engine's own plan
        """Yield the cost that `impact` returns in words: time, cache and dollars, each with its label."""

    def restarts(self, classification: str) -> str:
        """Return the daemons that EMR restarts for a classification that only this engine has; empty for any other."""

    def reason(self, classification: str, key: str) -> str:
        """Return why the engine sets a property that is not in `configurations.properties`; empty for any other."""


def changes_of(engine: Engine) -> Changes:
    """Import the engine's facet for this room when it is first needed."""
    facet: Changes = engine.facet("changes")
    return facet


def deployable_clusters(environment: Environment) -> dict[str, EngineCluster]:
    """Return the clusters of all engines by name, HBase's first, checked as far as that is possible without AWS.

    Raises InvalidInput and Infeasible as the engines do.
    """
    facets = map(changes_of, ENGINES.values())
    return {name: cluster for facet in facets for name, cluster in facet.deployable_clusters(environment).items()}
