"""HBase as an engine. Its code is in the rooms, which were written for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from warmbase.engines.engine import Engine

if TYPE_CHECKING:
    import aws_cdk as cdk
    from constructs import Construct

    from warmbase.changes.planned_cluster import PlannedCluster
    from warmbase.configurations.launch import Launch
    from warmbase.emr.cluster_spec import ClusterSpec
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
    from warmbase.sizing.ranges.regret import Situation
    from warmbase.sizing.requirements import World
    from warmbase.stacks.monitoring import Watched
    from warmbase.stacks.network import NetworkStack
    from warmbase.stacks.storage import StorageStack


class HBase(Engine["Launch", "PlannedCluster"]):
    """HBase, with its BucketCache on disks or another storage mode."""

    name = "hbase"
    title = "HBase"
    commands = "every command"

    def section(self) -> type[EngineSection]:
        from warmbase.environments.reader.cluster_schema import ClusterSection

        return ClusterSection

    def situation(self, environment: Environment, cluster: str, offered: World) -> Situation:
        from warmbase.environments.planning import requirements
        from warmbase.sizing.ranges.hbase_situation import HBaseSituation

        return HBaseSituation(requirements=requirements(environment, environment.clusters[cluster]), world=offered)

    def growth(self, environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
        from warmbase.environments.uncertainty.growth import growth_of_tables

        return growth_of_tables(environment, cluster, months, rate)

    def figures(self, environment: Environment, cluster: str) -> Figures:
        from warmbase.environments.planning import plan_of

        plan = plan_of(environment, environment.clusters[cluster])
        return (plan.cost.usd_per_month, plan.throughput.p99_latency_ms) if plan.meets_targets else (None, None)

    def numbers(self, environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
        del cluster
        from warmbase.environments.uncertainty.sensitivity import workload_numbers

        return workload_numbers(environment.workload)

    def judgements(self) -> Sequence[Judgement]:
        from warmbase.environments.uncertainty.judgements import JUDGEMENTS

        return JUDGEMENTS

    def launch(self, environment: Environment, cluster: str, record: LaunchRecord | None = None) -> Launch:
        from warmbase.changes.planned_cluster import planned_cluster

        return planned_cluster(environment, cluster, record).launch

    def spec(self, launch: Launch) -> ClusterSpec:
        from warmbase.configurations.launch import planned_spec

        return planned_spec(launch)

    def deployable_clusters(self, environment: Environment) -> Mapping[str, PlannedCluster]:
        from warmbase.changes.planned_cluster import deployable_clusters

        return deployable_clusters(environment)

    def plan_at_launch(
        self, environment: Environment, record: LaunchRecord, before: LaunchRecord | None
    ) -> RecordedPlan:
        from warmbase.changes.planned_cluster import plan_at_launch

        return plan_at_launch(environment, record, before)

    def tuning(self, aws: Aws, cluster: PlannedCluster, *, everything: bool = False) -> Tuning:
        from warmbase.operations.deploy.tuning import tuning_of

        return tuning_of(aws, cluster, everything=everything)

    def current_usd(self, cluster: PlannedCluster, count: int) -> float:
        from warmbase.changes.planned_cluster import usd_with_nodes

        return usd_with_nodes(cluster.launch, count)

    def comparisons(self, aws: Aws, launch: Launch, cluster: DescribedCluster) -> tuple[Comparison, ...]:
        from warmbase.operations.cluster.drift import around

        return around(aws, launch, cluster)

    def state(self, aws: Aws, launch: Launch, cluster: DescribedCluster) -> EngineState:
        from warmbase.operations.cluster.state import hbase_state

        return hbase_state(aws, launch, cluster)

    def cluster_stack(
        self,
        scope: Construct,
        launch: Launch,
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> cdk.Stack:
        from warmbase.stacks.cluster import ClusterStack

        return ClusterStack(scope, launch, network, storage, record)

    def watched(self, launch: Launch) -> Watched:
        from warmbase.stacks.monitoring import watched_hbase

        return watched_hbase(launch)

    def page(self, environment: Environment, cluster: str) -> PageEngine:
        from warmbase.reports.explorer.hbase import HBaseOnPage

        return HBaseOnPage(cluster=cluster, tables=tuple(table.name for table in environment.workload.tables))


ENGINE: Final = HBase()
