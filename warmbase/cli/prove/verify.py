"""`warmbase verify` checks a running cluster against our documentation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from warmbase.changes.engine_facet import EngineLaunch, changes_of
from warmbase.cli.options import chosen_name, cluster_option, environment_argument, output_option
from warmbase.cli.page import Page, Paragraph, Part
from warmbase.cli.terminal import answer_document, echo, print_json
from warmbase.engines.engine import engine_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Drifted
from warmbase.operations.aws.clients import alarm_testing, environment_aws, examining
from warmbase.operations.cluster.alarms import try_alarm
from warmbase.operations.cluster.engine_facet import operations_of
from warmbase.operations.verify.check import CheckResult
from warmbase.operations.verify.services import alarm_test_results
from warmbase.operations.verify.verification import unsettled
from warmbase.reports.engine_facet import reports_of
from warmbase.reports.markdown import literal, paragraph, section, table

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
    name = chosen_name(read, cluster)
    engine = engine_of(read, name)
    launch = changes_of(engine).deployable_cluster(read, name).launch
    aws = environment_aws(read, os.environ, alarm_testing if alarm_test else examining)

    def say(line: str) -> None:
        echo(line, err=True)

    findings = operations_of(engine).verification(aws, launch, say)
    if alarm_test:
        findings += alarm_test_results(try_alarm(aws, read.name, name, say))
    today = datetime.now(UTC).date().isoformat()
    report = Path(read.source).with_suffix(".verified") / f"{name}-{today}.md"
    report.parent.mkdir(exist_ok=True)
    report.write_text(_report(today, launch, findings), encoding="utf-8")
    mismatches = [
        f"{finding.check}: expected {finding.expected}, found {finding.found}"
        for finding in findings
        if finding.good is False
    ]
    error = None
    if mismatches:
        error = Drifted(
            f"cluster {name} of {read.name}",
            mismatches,
            why="differs from the documentation",
            fix=f"follow the remedy of each row of the report: {report}",
        )
    if output == "json":
        print_json(answer_document({"findings": findings, "report": str(report)}, error))
    else:
        Page().show([*_page(findings), f"report: {report}"])
    if error:
        raise error


def _page(findings: Sequence[CheckResult]) -> Iterator[Part]:
    for finding in findings:
        yield f"{VERDICTS[finding.good]:<12}{finding.check}"
        if finding.good is not True:
            settings = (setting.text for setting in finding.settings)
            for line in (f"expected {finding.expected}", f"found {finding.found}", *settings, f"to do: {finding.todo}"):
                yield Paragraph(text=line, indent=12, hanging=2)
    good = sum(1 for finding in findings if finding.good)
    yield f"{good} of {len(findings)} as expected"


def _report(today: str, launch: EngineLaunch, findings: tuple[CheckResult, ...]) -> str:
    plan = launch.plan
    engine = engine_of(launch.environment, plan.cluster)
    nodes = f"{plan.core.count} x {plan.core.instance_type}, {reports_of(engine).platform(plan)}"
    rows = (
        (finding.check, finding.expected, literal(finding.found), VERDICTS[finding.good], finding.todo)
        for finding in findings
    )
    settings = (
        (
            literal(one.key),
            literal(one.value),
            "none" if one.expected is None else literal(one.expected),
            literal(one.source),
            f"{one.server} on {len(one.instances)} nodes",
            one.rank,
            "; ".join(one.effects),
        )
        for finding in findings
        for one in finding.settings
    )
    open_rows = ((statement.what, statement.harm, statement.check) for statement in unsettled(findings, engine.name))
    return (
        section(
            f"# Cluster {plan.cluster} of {plan.environment}, verified on {today}",
            paragraph(f"{plan.release}, {nodes}. Written by `warmbase verify`."),
            table(("check", "expected", "found", "verdict", "to do"), rows),
            "## Settings in force that are neither rendered nor a default of the release",
            table(("property", "value", "rendered, or default", "source", "on", "depends on it", "effects"), settings),
            "## Statements of docs/unconfirmed.md that you still have to check yourself",
            table(("statement", "if it is wrong", "check"), open_rows),
        )
        + "\n"
    )
