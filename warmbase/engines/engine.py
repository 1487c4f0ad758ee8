"""The engines: one object for each, which a room asks for what depends on the engine of a cluster.

`engine_of` finds the engine from an environment and the name of one of its clusters. A room knows no engine by name.
A new engine needs a package here, a subclass of `Engine` in it, and its place in `ENGINES` (docs/add-an-engine.md).

An engine has parts in most rooms, and most commands need few of these. So the methods of an engine import their part
when they are called, and this module, which every room may import, imports no room except for its types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import aws_cdk as cdk
    from constructs import Construct

    from warmbase.emr.cluster_spec import Classifications, ClusterSpec
    from warmbase.environments.environment import Environment
    from warmbase.environments.launch_record import LaunchRecord, RecordedPlan
    from warmbase.environments.reader.cluster_schema import EngineSection
    from warmbase.environments.uncertainty.growth import Growth
    from warmbase.environments.uncertainty.judgements import Judgement
    from warmbase.environments.uncertainty.sensitivity import Figures
    from warmbase.operations.aws.clients import Aws
    from warmbase.operations.cluster.description import DescribedCluster
    from warmbase.operations.cluster.drift import Comparison
    from warmbase.operations.cluster.state import EngineState
    from warmbase.operations.deploy.tuning import Tuning
    from warmbase.reports.explorer.subject import PageEngine
    from warmbase.sizing.cost import Cost
    from warmbase.sizing.plan import CoreGroup, PrimaryGroup
    from warmbase.sizing.ranges.regret import Situation
    from warmbase.sizing.requirements import World
    from warmbase.stacks.monitoring import Watched
    from warmbase.stacks.network import NetworkStack
    from warmbase.stacks.storage import StorageStack


class EnginePlan(Protocol):
    """The plan of a cluster, whatever its engine."""

    @property
    def environment(self) -> str:
        """Return the name of the environment."""
        ...

    @property
    def cluster(self) -> str:
        """Return the name of the cluster."""
        ...

    @property
    def release(self) -> str:
        """Return the release label of EMR."""
        ...

    @property
    def primary(self) -> PrimaryGroup:
        """Return the primary group."""
        ...

    @property
    def core(self) -> CoreGroup:
        """Return the core group, whose nodes have the caches."""
        ...

    @property
    def cost(self) -> Cost:
        """Return the price of the cluster."""
        ...


class EngineLaunch(Protocol):
    """The environment, the plan of one cluster and its classifications, whatever the engine."""

    @property
    def environment(self) -> Environment:
        """Return the environment; that of a recorded cluster has the release of its launch."""
        ...

    @property
    def plan(self) -> EnginePlan:
        """Return the plan."""
        ...

    @property
    def settings(self) -> Classifications:
        """Return the classifications of the plan."""
        ...


class EngineCluster(Protocol):
    """A cluster with its launch record, None before its first launch, and with the launch of today's plan."""

    @property
    def record(self) -> LaunchRecord | None:
        """Return the launch record."""
        ...

    @property
    def launch(self) -> EngineLaunch:
        """Return the launch."""
        ...


AnyLaunch = TypeVar("AnyLaunch", bound=EngineLaunch)
AnyCluster = TypeVar("AnyCluster", bound=EngineCluster)


class Engine(ABC, Generic[AnyLaunch, AnyCluster]):
    """One engine. Each method takes an environment with the name of one of the engine's clusters, or its launch."""

    name: ClassVar[str]
    """The value of `engine` in an environment file."""

    title: ClassVar[str]
    """The name of the software."""

    commands: ClassVar[str]
    """The commands that take one of its clusters."""

    client_ports: ClassVar[Mapping[str, int]] = {}
    """The ports of the primary node that clients use, by server; those of HBase are in the network stack."""

    @abstractmethod
    def section(self) -> type[EngineSection]:
        """Return the section of one of its clusters in an environment file, which brings its own checks."""

    @abstractmethod
    def situation(self, environment: Environment, cluster: str, offered: World) -> Situation:
        """Return what the cluster must serve, and what there is to buy. Raises InvalidInput if nothing suits."""

    @abstractmethod
    def growth(self, environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
        """Return the growth of the cluster's workload; None is the rate that the file states, or the assumed one."""

    @abstractmethod
    def figures(self, environment: Environment, cluster: str) -> Figures:
        """Return the price and the latency of the plan. Raises Infeasible, or returns None if it misses its targets."""

    @abstractmethod
    def numbers(self, environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
        """Yield the path, the unit and the value of each number of the workload that a tornado varies."""

    @abstractmethod
    def judgements(self) -> Sequence[Judgement]:
        """Return the judgements of the engine's model."""

    @abstractmethod
    def launch(self, environment: Environment, cluster: str, record: LaunchRecord | None = None) -> AnyLaunch:
        """Return the launch of today's plan; that of a recorded cluster keeps its release and its nodes.

        Raises Infeasible for a cluster without a record that misses its targets.
        """

    @abstractmethod
    def spec(self, launch: AnyLaunch) -> ClusterSpec:
        """Return the planned cluster as EMR's nouns."""

    @abstractmethod
    def deployable_clusters(self, environment: Environment) -> Mapping[str, AnyCluster]:
        """Return the engine's clusters by name, checked as far as that is possible without AWS."""

    @abstractmethod
    def plan_at_launch(
        self, environment: Environment, record: LaunchRecord, before: LaunchRecord | None
    ) -> RecordedPlan:
        """Return the plan with which the cluster of a new record was launched; `before` is its earlier record."""

    @abstractmethod
    def tuning(self, aws: Aws, cluster: AnyCluster, *, everything: bool = False) -> Tuning:
        """Return the changes that lead the running cluster to today's plan; `everything` includes small ones."""

    @abstractmethod
    def current_usd(self, cluster: AnyCluster, count: int) -> float:
        """Return the monthly cost of a recorded cluster with so many core nodes."""

    @abstractmethod
    def comparisons(self, aws: Aws, launch: AnyLaunch, cluster: DescribedCluster) -> tuple[Comparison, ...]:
        """Return the comparisons of what belongs to a running cluster and is not compared as part of its stacks."""

    @abstractmethod
    def state(self, aws: Aws, launch: AnyLaunch, cluster: DescribedCluster) -> EngineState:
        """Return the state of a running cluster beyond what EMR and CloudWatch say of any cluster."""

    @abstractmethod
    def cluster_stack(
        self,
        scope: Construct,
        launch: AnyLaunch,
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> cdk.Stack:
        """Return the stack of a cluster: from the launch or, once the cluster is recorded, from its record alone."""

    @abstractmethod
    def watched(self, launch: AnyLaunch) -> Watched:
        """Return the dashboards, alarms and notifications of a cluster."""

    @abstractmethod
    def page(self, environment: Environment, cluster: str) -> PageEngine:
        """Return the inputs, figures and plots of the cluster's page of `explore`."""

    def restarts(self, classification: str) -> str:
        """Return the daemons that EMR restarts for a classification that only this engine has; empty for any other."""
        del classification
        return ""

    def reason(self, classification: str, key: str) -> str:
        """Return why the engine sets a property that is not in `configurations.properties`; empty for any other."""
        del classification, key
        return ""


ENGINES: Final[Mapping[str, str]] = {"hbase": "warmbase.engines.hbase", "trino": "warmbase.engines.trino.engine"}
"""The module of each engine, whose object is called ENGINE. HBase is first: an environment always has its clusters."""


def engine(name: str) -> Engine[Any, Any]:
    """Return the engine of that name."""
    result: Engine[Any, Any] = import_module(ENGINES[name]).ENGINE
    return result


def engine_of(environment: Environment, cluster: str) -> Engine[Any, Any]:
    """Return the engine of a cluster of the environment."""
    return engine(environment.engine(cluster))


def engines() -> Iterator[Engine[Any, Any]]:
    """Yield every engine, HBase first."""
    return map(engine, ENGINES)


def deployable_clusters(environment: Environment) -> dict[str, EngineCluster]:
    """Return the clusters of all engines by name, HBase's first, checked as far as that is possible without AWS.

    Raises InvalidInput and Infeasible as the engines do.
    """
    return {name: cluster for one in engines() for name, cluster in one.deployable_clusters(environment).items()}
