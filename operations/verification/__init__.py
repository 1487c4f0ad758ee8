"""Verifies a running cluster against our documentation: each check has an expected value, a result and a remedy.

A check names the row of docs/unconfirmed.md that it confirms by the words with which the row begins. The report lists
the rows that no check confirms, with the check that you make by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from configurations.launch import Launch
from emr.classification import flattened
from operations.aws import Aws
from operations.aws_errors import translated
from operations.cluster_step import PrimaryShell
from operations.description import described_cluster
from operations.progress import Say
from operations.unconfirmed import HARMS, Statement, read_statements
from operations.verification.check import CheckResult, HBaseContext
from operations.verification.effective_settings import read_effective_settings, settings_in_force
from operations.verification.endpoints import ENDPOINT_CHECKS
from operations.verification.hbase_cluster import HBASE_CHECKS
from operations.verification.launch import LAUNCH_CHECKS
from operations.verification.monitoring import MONITORING_CHECKS
from operations.verification.nodes import NODE_CHECKS
from operations.verification.notifications import alarm_test_results, subscriptions
from operations.verification.probe import NodeProgram, probe_caches, probe_nodes, probe_primary
from operations.verification.region_server import READ_ONLY, REGION_SERVER_CHECKS, SITES
from operations.verification.volumes import VOLUME_CHECKS

__all__ = ["CheckResult", "alarm_test_results", "unsettled", "verification"]

PROGRAM: Final = "probe_hbase.py"
CHECKS: Final[tuple[Callable[[HBaseContext], Iterator[CheckResult]], ...]] = (
    *LAUNCH_CHECKS,
    *HBASE_CHECKS,
    *ENDPOINT_CHECKS,
    *VOLUME_CHECKS,
    *MONITORING_CHECKS,
    subscriptions,
    *NODE_CHECKS,
    *REGION_SERVER_CHECKS,
    settings_in_force,
)


def verification(aws: Aws, launch: Launch, say: Say) -> tuple[CheckResult, ...]:
    """Return the result of every check. Raises OperationFailed where AWS does not answer at all."""
    plan = launch.plan
    with translated(f"cluster {plan.cluster} could not be verified", "run the same command again"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
        nodes = probe_nodes(aws, cluster.id, "CORE", NodeProgram(PROGRAM, _keys(launch)), say)
        logs = launch.environment.in_account(launch.environment.log_bucket, aws.account)
        shell = PrimaryShell(aws=aws, cluster_id=cluster.id, log_bucket=logs)
        context = HBaseContext(
            aws=aws,
            launch=launch,
            core=plan.core,
            cluster=cluster,
            nodes=nodes,
            primary=probe_primary(shell, say),
            caches=probe_caches(shell, launch, nodes, say),
            effective=read_effective_settings(aws, cluster.id, say),
        )
        say("querying EMR, CloudWatch and CloudFormation")
        return tuple(finding for check in CHECKS for finding in check(context))


def unsettled(findings: tuple[CheckResult, ...], *, on_trino: bool) -> tuple[Statement, ...]:
    """Return the statements of docs/unconfirmed.md that no check confirms or refutes, the most harmful first.

    They are the statements about Trino, or all others.
    """
    rows = [finding.row for finding in findings if finding.row and finding.good is not None]
    return tuple(
        sorted(
            (
                statement
                for statement in read_statements()
                if statement.on_trino == on_trino and not any(statement.what.startswith(row) for row in rows)
            ),
            key=lambda statement: HARMS.index(statement.harm),
        )
    )


def _keys(launch: Launch) -> list[str]:
    """Return the properties that a RegionServer should have."""
    core = launch.settings.effective("core")
    return sorted({READ_ONLY, *(key for path, key, _ in flattened(core) if path in SITES)})
