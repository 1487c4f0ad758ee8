"""The facets of an engine, as types: the functions of each module that rooms ask an engine for.

The type checker compares the modules of each engine with these types, in the `__init__.py` of its package.
A function takes an environment with the name of one of the engine's clusters, or the launch or the cluster that another
function of the same engine has returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import aws_cdk as cdk
    from constructs import Construct

    from warmbase.changes.change import Change
    from warmbase.changes.cost import ImpactCost
    from warmbase.cli.page import Page, Part
    from warmbase.cli.size.plan_differences import Compared
    from warmbase.configurations.bootstrap import Action
    from warmbase.emr.cluster_spec import Classifications, ClusterSpec
    from warmbase.environments.environment import Environment
    from warmbase.environments.launch_record import LaunchRecord, RecordedPlan
    from warmbase.environments.uncertainty.growth import Growth
    from warmbase.environments.uncertainty.judgements import Judgement
    from warmbase.environments.uncertainty.sensitivity import Figures
    from warmbase.ground.errors import Infeasible
    from warmbase.operations.aws.clients import Aws
    from warmbase.operations.aws.progress import Say
    from warmbase.operations.cluster.description import DescribedCluster
    from warmbase.operations.cluster.drift import Comparison
    from warmbase.operations.cluster.state import EngineState
    from warmbase.operations.deploy.tuning import Tuning
    from warmbase.operations.verify.check import CheckResult
    from warmbase.reports.decision_page import EngineWords
    from warmbase.reports.explorer.subject import PageEngine
    from warmbase.reports.plan_text import ColumnTable
    from warmbase.sizing.cost import Cost
    from warmbase.sizing.plan import (
        CoreGroup,
        PrimaryGroup,
        Warning,  # noqa: A004 - the plan's own word
    )
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
        """Return what to know before deploying."""


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


class Planning(Protocol):
    """The calculator: the needs of a cluster, and how its plan varies."""

    @property
    def JUDGEMENTS(self) -> Sequence[Judgement]:  # noqa: N802 - a constant of the module
        """Return the judgements of the engine's model."""

    def situation(self, environment: Environment, cluster: str, offered: World) -> Situation:
        """Return what the cluster must serve, and what there is to buy. Raises InvalidInput if nothing suits."""

    def growth(self, environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
        """Return the growth of the cluster's workload; None is the rate that the file states, or the assumed one."""

    def figures(self, environment: Environment, cluster: str) -> Figures:
        """Return the price and the latency of the plan. Raises Infeasible, or returns None if it misses its targets."""

    def numbers(self, environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
        """Yield the path, the unit and the value of each number of the workload that a tornado varies."""


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

    def actions(self, launch: Any) -> Sequence[Action]:  # noqa: ANN401 - as above
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
        launch: Any,  # noqa: ANN401 - as above
        roles: Sequence[str],
        further: Sequence[Change],
    ) -> tuple[Change, ...]:
        """Return every difference from today's plan for nodes of those roles; no setting shows the `further` ones."""

    def impact(self, pending: Sequence[Change], before: ClusterSpec, launch: Any) -> ImpactCost:  # noqa: ANN401 - as above
        """Return the cost of applying all of these changes."""

    def impact_rows(self, cost: ImpactCost, plan: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - the engine's own plan
        """Yield that cost in words: time, cache and dollars, each with its label."""

    def restarts(self, classification: str) -> str:
        """Return the daemons that EMR restarts for a classification that only this engine has; empty for any other."""

    def reason(self, classification: str, key: str) -> str:
        """Return why the engine sets a property that is not in `configurations.properties`; empty for any other."""


class Operations(Protocol):
    """The facet of running clusters, which may load boto3."""

    def tuning(self, aws: Aws, cluster: Any, *, everything: bool = False) -> Tuning:  # noqa: ANN401 - as above
        """Return the changes that lead the running cluster to today's plan; `everything` includes small ones."""

    def comparisons(self, aws: Aws, launch: Any, cluster: DescribedCluster) -> tuple[Comparison, ...]:  # noqa: ANN401 - as above
        """Return the comparisons of what belongs to a running cluster and is not compared as part of its stacks."""

    def state(self, aws: Aws, launch: Any, cluster: DescribedCluster) -> EngineState:  # noqa: ANN401 - as above
        """Return the state of a running cluster beyond what EMR and CloudWatch say of any cluster."""

    def verification(self, aws: Aws, launch: Any, say: Say) -> tuple[CheckResult, ...]:  # noqa: ANN401 - as above
        """Return the result of every check. Raises OperationFailed where AWS does not answer at all."""


class Stacks(Protocol):
    """The facet of the CDK app."""

    def cluster_stack(
        self,
        scope: Construct,
        launch: Any,  # noqa: ANN401 - as above
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> cdk.Stack:
        """Return the stack of a cluster: from the launch or, once the cluster is recorded, from its record alone."""

    def watched(self, launch: Any) -> Watched:  # noqa: ANN401 - as above
        """Return the dashboards, alarms and notifications of a cluster."""


class Reports(Protocol):
    """Documents and words about a cluster, and its page of `explore`."""

    @property
    def WORDS(self) -> EngineWords:  # noqa: N802 - a constant of the module
        """Return the words for the engine's clusters where inputs vary."""

    def platform(self, plan: Any) -> str:  # noqa: ANN401 - the engine's own plan
        """Return what the cluster runs: its storage mode, or a version of the engine."""

    def document(self, environment: Environment, cluster: str, *, advice: bool = True) -> tuple[Any, Infeasible | None]:
        """Return the plan as JSON has it, and the error of one that misses its targets."""

    def columns(self, environment: Environment, cluster: str) -> tuple[Mapping[Any, Any], ColumnTable]:
        """Return the plan of each column of `warmbase compare`, and their table."""

    def explored(self, environment: Environment, cluster: str) -> PageEngine:
        """Return the inputs, figures and plots of the cluster's page of `explore`."""


class Pages(Protocol):
    """The pages of commands for an analytics cluster."""

    def plan_parts(
        self, name: str, environment: Environment, cluster: str, pages: Sequence[str], page: Page
    ) -> tuple[Iterator[Part], Infeasible | None]:
        """Return the page of a plan, or the sections of `pages`, and the error of a plan that misses its targets.

        `name` is the environment as the command line names it.
        """

    def plan_markdown(self, environment: Environment, cluster: str, source: str) -> tuple[str, Infeasible | None]:
        """Return the plan as Markdown, and the error of one that misses its targets."""

    def compared(
        self,
        cluster: str,
        before: Environment | None,
        after: Environment,
        record: LaunchRecord | None,
        sources: tuple[str, str],
    ) -> Compared:
        """Return the comparison of the plans for two environments, the older one the launch if there is a record."""

    def explain(self, environment: Environment, cluster: str, figure: str, output: str) -> None:
        """Print the explanation of a word, a path in the plan, or a property. Raises InvalidInput for anything else."""
