"""`warmbase verify` checks a running cluster against our documentation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.options import chosen_analytics, cluster_option, environment_argument, output_option
from warmbase.cli.page import Page, Paragraph, Part
from warmbase.cli.terminal import answer_document, echo
from warmbase.configurations.launch import Launch
from warmbase.engines.trino.changes import deployable_trino_cluster
from warmbase.engines.trino.rendering import TrinoLaunch
from warmbase.engines.trino.verification import trino_verification
from warmbase.environments.environment import Environment
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Drifted
from warmbase.operations.aws.clients import alarm_testing, environment_aws, examining
from warmbase.operations.cluster.alarms import try_alarm
from warmbase.operations.verify.check import CheckResult
from warmbase.operations.verify.services import alarm_test_results
from warmbase.operations.verify.verification import unsettled, verification
from warmbase.reports.json_text import json_text
from warmbase.reports.markdown import paragraph, section, table

VERDICTS: Final = {True: "as expected", False: "MISMATCH", None: "unknown"}


@click.command()
@environment_argument
@cluster_option
@click.option("--alarm-test", is_flag=True, help="Set one alarm to ALARM for a moment; check that it notifies you.")
@output_option
def verify(environment: str, cluster: str | None, output: str, *, alarm_test: bool) -> None:
    """Check a running cluster against our documentation.

    warmbase asks EMR, EC2, CloudWatch and CloudFormation, and inspects nodes. On an HBase cluster, it inspects every
    core node through Systems Manager (units, mounts, the JVM and its flags, logs, the settings in force, the cache and
    its index), every server's settings that are neither rendered nor a default, and the first primary node by a step.
    On a Trino cluster, it inspects the workers and the coordinator through Systems Manager. It changes nothing. A dated
    report is written beside the environment file; if it shows a mismatch, please send it to us.

    With --alarm-test, it sets one quiet alarm to ALARM for a moment, which notifies you twice, and waits up to 12
    minutes until CloudWatch and SNS say what they sent.

    \b
    Example:
      warmbase verify prod
      warmbase verify prod --alarm-test
      warmbase verify shop --cluster lake

    Exit codes: 3 there is a mismatch.
    """
    read = read_environment(environment)
    launch = _launch(read, cluster)
    findings = _findings(read, launch, alarm_test=alarm_test)
    report = _write(Path(read.source), launch, findings)
    error = _mismatch(f"cluster {launch.plan.cluster} of {read.name}", findings, report)
    if output == "json":
        echo(json_text(answer_document({"findings": findings, "report": str(report)}, error)))
    else:
        Page().show([*_page(findings), f"report: {report}"])
    if error:
        raise error


def _launch(environment: Environment, cluster_name: str | None) -> Launch | TrinoLaunch:
    analytics = chosen_analytics(environment, cluster_name)
    if analytics is not None:
        return deployable_trino_cluster(environment, analytics).launch
    return deployable_cluster(environment, chosen_cluster(environment, cluster_name).name).launch


def _findings(environment: Environment, launch: Launch | TrinoLaunch, *, alarm_test: bool) -> tuple[CheckResult, ...]:
    aws = environment_aws(environment, os.environ, alarm_testing if alarm_test else examining)

    def say(line: str) -> None:
        echo(line, err=True)

    findings = (
        trino_verification(aws, launch, say) if isinstance(launch, TrinoLaunch) else verification(aws, launch, say)
    )
    if alarm_test:
        findings += alarm_test_results(try_alarm(aws, environment.name, launch.plan.cluster, say))
    return findings


def _mismatch(subject: str, findings: Sequence[CheckResult], report: Path) -> Drifted | None:
    mismatches = [
        f"{finding.check}: expected {finding.expected}, found {finding.found}"
        for finding in findings
        if finding.good is False
    ]
    if not mismatches:
        return None
    return Drifted(
        subject,
        mismatches,
        why="differs from the documentation",
        fix=f"follow the remedy of each row of the report: {report}",
    )


def _page(findings: Sequence[CheckResult]) -> Iterator[Part]:
    for finding in findings:
        yield f"{VERDICTS[finding.good]:<12}{finding.check}"
        if finding.good is not True:
            settings = (setting.text for setting in finding.settings)
            for line in (f"expected {finding.expected}", f"found {finding.found}", *settings, f"to do: {finding.todo}"):
                yield Paragraph(text=line, indent=12, hanging=2)
    good = sum(1 for finding in findings if finding.good)
    yield f"{good} of {len(findings)} as expected"


def _write(source: Path, launch: Launch | TrinoLaunch, findings: tuple[CheckResult, ...]) -> Path:
    today = datetime.now(UTC).date().isoformat()
    file = source.with_suffix(".verified") / f"{launch.plan.cluster}-{today}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(_report(today, launch, findings), encoding="utf-8")
    return file


def _report(today: str, launch: Launch | TrinoLaunch, findings: tuple[CheckResult, ...]) -> str:
    plan = launch.plan
    rows = (
        (finding.check, finding.expected, finding.found, VERDICTS[finding.good], finding.todo) for finding in findings
    )
    settings = (
        (
            one.key,
            one.value,
            "none" if one.expected is None else one.expected,
            one.source,
            f"{one.server} on {len(one.instances)} nodes",
            one.rank,
            "; ".join(one.effects),
        )
        for finding in findings
        for one in finding.settings
    )
    open_rows = (
        (statement.what, statement.harm, statement.check)
        for statement in unsettled(findings, launch.environment.engine(plan.cluster))
    )
    return (
        section(
            f"# Cluster {plan.cluster} of {plan.environment}, verified on {today}",
            paragraph(f"{plan.release}, {_nodes(launch)}. Written by `warmbase verify`."),
            table(("check", "expected", "found", "verdict", "to do"), rows),
            "## Settings in force that are neither rendered nor a default of the release",
            table(("property", "value", "rendered, or default", "source", "on", "depends on it", "effects"), settings),
            "## Statements of docs/unconfirmed.md that you still have to check yourself",
            table(("statement", "if it is wrong", "check"), open_rows),
        )
        + "\n"
    )


def _nodes(launch: Launch | TrinoLaunch) -> str:
    if isinstance(launch, TrinoLaunch):
        workers = launch.plan.workers
        return f"{workers.count} x {workers.instance_type}, Trino {launch.plan.trino}"
    return f"{launch.plan.core.count} x {launch.plan.core.instance_type}, {launch.plan.mode}"
