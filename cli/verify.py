"""warmbase verify: whether a real cluster is what our documents say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap
from typing import Final

import click

from changes.replan import as_launched
from cli.change_lines import WIDTH
from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from configurations.launch import Launch
from environments.launch_record import launch_records
from environments.reader import read_environment
from lint.deployable import deployable_launch
from operations.aws import Aws
from operations.verification import Finding, unsettled, verification
from reports.json_text import json_text
from reports.markdown import paragraph, section, table
from sizing.problem import Drifted

__all__ = ["verify"]

VERDICTS: Final = {True: "as expected", False: "OTHERWISE", None: "not known"}


@click.command()
@environment_argument
@cluster_option
@output_option
def verify(environment: str, cluster: str | None, output: str) -> None:
    """Look whether a real cluster is what our documents say, and write a dated report.

    It asks EMR, EC2, CloudWatch and CloudFormation; each core node through Systems Manager: units, mounts, the JVM and
    its flags, logs, what the RegionServer has read of its settings, the size of its cache; and by an EMR step the first
    primary. It changes nothing. The report goes beside the environment file; send it to us where something is
    otherwise.

    \b
    Example:
      warmbase verify prod

    Exit codes: 3 something is otherwise.
    """
    read = read_environment(environment)
    colour = chosen_cluster(read, cluster).colour
    seen = as_launched(read, launch_records(read).get(colour))
    launch = deployable_launch(seen, seen.clusters[colour])
    aws = Aws(os.environ | {"AWS_REGION": read.region})
    findings = verification(aws, launch, lambda line: click.echo(line, err=True))
    report = _write(Path(read.source), colour, launch, findings)
    if output == "json":
        click.echo(json_text({"findings": findings, "report": str(report)}))
    else:
        click.echo("\n".join([*_page(findings), f"report: {report}"]))
    bad = [f"{each.check}: expected {each.expected}, found {each.found}" for each in findings if each.good is False]
    if bad:
        raise Drifted(f"cluster {colour} of {read.name}", bad)


def _page(findings: Sequence[Finding]) -> Iterator[str]:
    for each in findings:
        yield f"{VERDICTS[each.good]:<12}{each.check}"
        if each.good is not True:
            for line in (f"expected {each.expected}", f"found {each.found}", f"to do: {each.todo}"):
                yield from wrap(
                    line, WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 14, break_on_hyphens=False
                )
    good = sum(1 for each in findings if each.good)
    yield f"{good} of {len(findings)} as expected"


def _write(source: Path, colour: str, launch: Launch, findings: tuple[Finding, ...]) -> Path:
    today = datetime.now(UTC).date().isoformat()
    file = source.with_suffix(".verified") / f"{colour}-{today}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(_report(colour, today, launch, findings), encoding="utf-8")
    return file


def _report(colour: str, today: str, launch: Launch, findings: tuple[Finding, ...]) -> str:
    plan = launch.plan
    rows = ((each.check, each.expected, each.found, VERDICTS[each.good], each.todo) for each in findings)
    open_rows = unsettled(findings)
    return (
        section(
            f"# Cluster {colour} of {plan.environment}, looked at on {today}",
            paragraph(
                f"{plan.release}, {plan.core.count} x {plan.core.instance_type}, {plan.mode}. By `warmbase verify`."
            ),
            table(("check", "expected", "found", "verdict", "to do"), rows),
            "## Of docs/unconfirmed.md, still to be looked at by hand",
            table(("what", "the check"), open_rows),
        )
        + "\n"
    )
