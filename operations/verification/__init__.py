"""Verifies that a real cluster is what the documents say: each check has what it expects, finds and advises.

Checks settle rows of docs/unconfirmed.md, each by the words with which the row begins. What no check settles is listed
in the report, with the row's own check to be made by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from configurations.launch import Launch
from emr.classification import flattened
from operations.aws import Aws
from operations.aws_errors import translated
from operations.cluster_step import PrimaryShell
from operations.description import described_cluster
from operations.progress import Say
from operations.verification.check import CheckResult, Observed
from operations.verification.launch import OF_LAUNCH
from operations.verification.monitoring import OF_WATCHING
from operations.verification.nodes import OF_NODES, SITES
from operations.verification.probe import probe_core_nodes, probe_primary

__all__ = ["PAGE", "ROW", "CheckResult", "unsettled", "verification"]

PAGE: Final = Path(__file__).parents[2] / "docs" / "unconfirmed.md"
ROW: Final = re.compile(r"^\| (?!what \||---)(?P<what>.+?) \| (?P<why>.*) \| (?P<check>.*) \|$", re.MULTILINE)


def verification(aws: Aws, launch: Launch, say: Say) -> tuple[CheckResult, ...]:
    """Every check. Raises OperationFailed where AWS does not answer at all."""
    plan = launch.plan
    with translated(f"cluster {plan.cluster} could not be checked", "run the same command again"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
        nodes = probe_core_nodes(aws, cluster.id, _keys(launch), say)
        logs = launch.environment.in_account(launch.environment.log_bucket, aws.account)
        primary = probe_primary(PrimaryShell(aws=aws, cluster_id=cluster.id, log_bucket=logs), say)
        seen = Observed(aws=aws, launch=launch, cluster=cluster, nodes=nodes, primary=primary)
        say("asking EMR, CloudWatch and CloudFormation")
        return tuple(finding for check in (*OF_LAUNCH, *OF_WATCHING, *OF_NODES) for finding in check(seen))


def unsettled(findings: tuple[CheckResult, ...]) -> tuple[tuple[str, str], ...]:
    """Return the rows of docs/unconfirmed.md that no finding settles, each with its check."""
    rows = [finding.row for finding in findings if finding.row and finding.good is not None]
    page = PAGE.read_text(encoding="utf-8")
    return tuple(
        (found["what"], found["check"])
        for found in ROW.finditer(page)
        if not any(found["what"].startswith(row) for row in rows)
    )


def _keys(launch: Launch) -> list[str]:
    """Properties that a RegionServer is to have."""
    core = launch.settings.effective("core")
    return sorted({key for path, key, _ in flattened(core) if path in SITES})
