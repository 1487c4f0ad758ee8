"""Trino as an engine: the way from each question of a room to the module that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from warmbase.engines.engine import Engine

if TYPE_CHECKING:
    import aws_cdk as cdk
    from constructs import Construct

    from warmbase.emr.cluster_spec import ClusterSpec
    from warmbase.engines.trino.changes import PlannedTrino
    from warmbase.engines.trino.rendering import TrinoLaunch
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


class Trino(Engine["TrinoLaunch", "PlannedTrino"]):
    """Trino, with its file-system cache."""

    name = "trino"
    title = "Trino"
    client_ports: ClassVar[Mapping[str, int]] = {"Trino coordinator": 8889}
    """EMR Release Guide, emr-trino-deployment-config: http-server.http.port of the coordinator."""
    commands = (
        "warmbase plan (also with --set, --frontier, --tornado or --months), explore, compare, diff, explain, render,"
        " lint, reconfigure, verify or teardown"
    )

    def section(self) -> type[EngineSection]:
        from warmbase.engines.trino.section import TrinoSection

        return TrinoSection

    def situation(self, environment: Environment, cluster: str, offered: World) -> Situation:
        from warmbase.engines.trino.planning import trino_situation

        return trino_situation(environment, environment.analytics[cluster], offered)

    def growth(self, environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
        del months
        from warmbase.engines.trino.uncertainty import growth_of_queries

        return growth_of_queries(environment, environment.analytics[cluster], rate)

    def figures(self, environment: Environment, cluster: str) -> Figures:
        from warmbase.engines.trino.uncertainty import query_figures

        return query_figures(environment, environment.analytics[cluster])

    def numbers(self, environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
        from warmbase.engines.trino.uncertainty import query_numbers

        return query_numbers(environment.analytics[cluster])

    def judgements(self) -> Sequence[Judgement]:
        from warmbase.engines.trino.uncertainty import TRINO_JUDGEMENTS

        return TRINO_JUDGEMENTS

    def launch(self, environment: Environment, cluster: str, record: LaunchRecord | None = None) -> TrinoLaunch:
        from warmbase.engines.trino.changes import replanned_trino
        from warmbase.engines.trino.rendering import trino_launch_of

        choice = environment.analytics[cluster]
        return trino_launch_of(environment, choice) if record is None else replanned_trino(environment, choice, record)

    def spec(self, launch: TrinoLaunch) -> ClusterSpec:
        from warmbase.engines.trino.rendering import trino_spec

        return trino_spec(launch)

    def deployable_clusters(self, environment: Environment) -> Mapping[str, PlannedTrino]:
        from warmbase.engines.trino.changes import deployable_trino_clusters

        return deployable_trino_clusters(environment)

    def plan_at_launch(
        self, environment: Environment, record: LaunchRecord, before: LaunchRecord | None
    ) -> RecordedPlan:
        from warmbase.engines.trino.changes import trino_plan_at_launch

        return trino_plan_at_launch(environment, record, before)

    def tuning(self, aws: Aws, cluster: PlannedTrino, *, everything: bool = False) -> Tuning:
        from warmbase.engines.trino.tuning import trino_tuning_of

        return trino_tuning_of(aws, cluster, everything=everything)

    def current_usd(self, cluster: PlannedTrino, count: int) -> float:
        from warmbase.engines.trino.changes import usd_with_workers

        return usd_with_workers(cluster, count)

    def comparisons(self, aws: Aws, launch: TrinoLaunch, cluster: DescribedCluster) -> tuple[Comparison, ...]:
        del aws, launch, cluster
        return ()

    def state(self, aws: Aws, launch: TrinoLaunch, cluster: DescribedCluster) -> EngineState:
        del aws
        from warmbase.engines.trino.tuning import trino_state

        return trino_state(launch, cluster)

    def cluster_stack(
        self,
        scope: Construct,
        launch: TrinoLaunch,
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> cdk.Stack:
        from warmbase.engines.trino.stacks import TrinoClusterStack

        return TrinoClusterStack(scope, launch, network, storage, record)

    def watched(self, launch: TrinoLaunch) -> Watched:
        from warmbase.engines.trino.stacks import watched_trino

        return watched_trino(launch)

    def page(self, environment: Environment, cluster: str) -> PageEngine:
        del environment
        from warmbase.engines.trino.explorer import TrinoOnPage

        return TrinoOnPage(cluster=cluster)

    def restarts(self, classification: str) -> str:
        from warmbase.engines.trino.request import CATALOGS

        connectors = (f"trino-connector-{name}" for name in (*CATALOGS, "jmx"))
        return "Trino" if classification in {"trino-config", *connectors} else ""

    def reason(self, classification: str, key: str) -> str:
        from warmbase.engines.trino.properties import reason_of

        return reason_of(classification, key)


ENGINE: Final = Trino()
