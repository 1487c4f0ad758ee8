"""Verifies a running analytics cluster against our documentation, as `operations.verification` does for HBase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from configurations.engines.trino.metrics import TRINO_METRICS
from configurations.engines.trino.rendering import TrinoLaunch
from dashboards.engines.trino.boards import trino_boards
from operations.aws import Aws
from operations.aws_errors import translated
from operations.description import described_cluster
from operations.engines.trino.server_checks import SERVER_CHECKS, TrinoContext, rendered_properties
from operations.progress import Say
from operations.verification.check import CheckResult, Nodes
from operations.verification.endpoints import ENDPOINT_CHECKS
from operations.verification.launch import LAUNCH_CHECKS
from operations.verification.monitoring import (
    emr_metrics,
    graph_outcomes,
    graphs_with_data,
    published_figures,
    query_alarm,
)
from operations.verification.nodes import NODE_CHECKS
from operations.verification.notifications import subscriptions
from operations.verification.probe import GroupType, NodeProgram, probe_nodes

PROGRAM: Final = "probe_trino.py"
OF_READS: Final = frozenset({"HitRate"})
"""The figures that a worker publishes only after the first reads."""


def trino_verification(aws: Aws, launch: TrinoLaunch, say: Say) -> tuple[CheckResult, ...]:
    """Return the result of every check. Raises OperationFailed where AWS does not answer at all."""
    plan = launch.plan

    def probe(type_: GroupType, group: str) -> Nodes:
        arguments = (f"--catalog={plan.catalog}", *rendered_properties(launch, group))
        return probe_nodes(aws, cluster.id, type_, NodeProgram(PROGRAM, arguments), say)

    with translated(f"cluster {plan.cluster} could not be verified", "run the same command again"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
        context = TrinoContext(
            aws=aws,
            launch=launch,
            core=plan.workers,
            cluster=cluster,
            nodes=probe("CORE", "core"),
            coordinator=next(filter(None, probe("MASTER", "primary").values()), "no answer from the coordinator"),
        )
        say("querying EMR, CloudWatch and CloudFormation")
        return tuple(finding for check in CHECKS for finding in check(context))


def _monitoring_checks(context: TrinoContext) -> Iterator[CheckResult]:
    """Check that the publishers' metrics arrive, and that CloudWatch can draw and watch them."""
    yield published_figures(context, TRINO_METRICS, OF_READS, "warmbase-trino-metrics")
    graphs = [graph for board in trino_boards(context.launch.plan).values() for graph in board]
    yield graphs_with_data(graph_outcomes(context, graphs))
    yield query_alarm(context, "server-silent", "OK while all workers answer")


CHECKS: Final[tuple[Callable[[TrinoContext], Iterator[CheckResult]], ...]] = (
    *LAUNCH_CHECKS,
    *ENDPOINT_CHECKS,
    emr_metrics,
    _monitoring_checks,
    subscriptions,
    *NODE_CHECKS,
    *SERVER_CHECKS,
)
"""Every check, in the order of the report."""
