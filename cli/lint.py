"""`warmbase lint` checks a configuration, ours or anybody's, for mistakes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

import click

from cli.options import chosen_cluster, cluster_option, output_option
from cli.terminal import echo, echo_styled
from configurations.launch import launch_of
from configurations.planned_spec import planned_spec
from emr.cluster_spec import ClusterSpec
from environments.reader import read_environment
from lint.finding import LintFinding, Report, Severity
from lint.lint import ROLES
from lint.lint import lint as linted
from lint.reader import read_subject
from reports.amounts import printable
from reports.json_text import json_text
from sizing.problem import fix_line

ANSWER_IS_NO: Final = 3
COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
WIDTH: Final = 80
SHORT: Final = 70
"""A value longer than this is cut, so that it fits a line beside its indent."""


@click.command()
@click.argument("environment", metavar="[ENV]", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="The file to check: EMR configurations, RunJobFlow or CloudFormation JSON, a script with `aws emr"
    " create-cluster`, or an hbase-site.xml.",
)
@click.option("--release", metavar="LABEL", help="The EMR release, such as emr-7.14.0, if the file does not state it.")
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    help="The nodes that a file without instance groups is for.  [default: all nodes]",
)
@click.option(
    "--least",
    type=click.Choice([severity.value for severity in Severity]),
    default="info",
    show_default=True,
    help="The lowest severity to show.",
)
@cluster_option
@output_option
def lint(  # noqa: PLR0913, PLR0917 - click's options
    environment: str | None,
    file: Path | None,
    release: str | None,
    group: str | None,
    least: str,
    cluster: str | None,
    output: str,
) -> None:
    """Check a configuration, yours or anybody's, for mistakes.

    With ENV, warmbase checks what it would deploy; with --file, it checks a configuration from elsewhere. Each finding
    has a reason and a fix. Placeholders such as <your-jvm-heap-size> are listed as missing values. docs/lint-rules.md
    lists all rules with their sources.

    \b
    Example:
      warmbase lint prod
      warmbase lint --file cluster.json --release emr-7.14.0

    Exit codes: 3 there are errors.
    """
    subject = _subject(environment, file, release, cluster)
    report = linted(subject, roles=_roles(subject, group))
    listed = _least(report, Severity(least))
    if output == "json":
        echo(json_text(listed))
    else:
        echo_styled(report_text(report, listed))
    if report.of(Severity.ERROR):
        sys.exit(ANSWER_IS_NO)


def _subject(environment: str | None, file: Path | None, release: str | None, cluster: str | None) -> ClusterSpec:
    if (environment is None) == (file is None):
        raise click.UsageError("give either ENV or --file FILE")
    if file is not None:
        if cluster is not None:
            raise click.UsageError("--cluster needs ENV; a file holds one cluster")
        return read_subject(file, release)
    if release is not None:
        raise click.UsageError("--release needs --file; ENV states its own release")
    read = read_environment(environment or "")
    return planned_spec(launch_of(read, chosen_cluster(read, cluster)))


def _roles(subject: ClusterSpec, group: str | None) -> Sequence[str]:
    if group is not None and subject.groups:
        raise click.UsageError("--group needs a file without instance groups; this file has them")
    return ROLES if group is None else (group,)


def _least(report: Report, least: Severity) -> Report:
    ranks = list(Severity)
    findings = tuple(finding for finding in report.findings if ranks.index(finding.severity) <= ranks.index(least))
    return Report(source=report.source, release=report.release, findings=findings)


def report_text(report: Report, listed: Report) -> str:
    """Return the report as text: counts of all findings, then each finding that is listed."""
    counts = Counter(finding.severity for finding in report.findings)
    numbers = ", ".join(
        f"{counts[severity]} {name}{'s' * (counts[severity] != 1 and severity is not Severity.INFO)}"
        for severity, name in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
    )
    hidden = len(report.findings) - len(listed.findings)
    more = f"; {hidden} of them not shown" if hidden else ""
    summary = f"{report.source}, {report.release or 'release unknown'}: {numbers}{more}"
    head = fill(summary, WIDTH, break_on_hyphens=False)
    return "\n\n".join([head, *map(_finding_text, listed.findings)])


def _finding_text(finding: LintFinding) -> str:
    where = f"line {finding.line}" if finding.line else ""
    what = " ".join(filter(None, (finding.classification, finding.property)))
    marked = "an override" if finding.overridden else ""
    severity = click.style(finding.severity.value, fg=COLOURS[finding.severity])
    head = "  ".join(filter(None, (f"{finding.id} {severity}", where, _short(what), marked)))
    value = f"is {_short(finding.value)}" if finding.value is not None else ""
    reason = "" if finding.severity is Severity.INFO else f"because {finding.because}"
    lines = (value, finding.message, reason, fix_line(finding.fix))
    return "\n".join([head, *(_indented(line) for line in lines if line)])


def _short(value: str) -> str:
    """Return the value in one line, without characters that a terminal would take for a command."""
    plain = printable(value)
    return plain if len(plain) <= SHORT else f"{plain[: SHORT - 3]}..."


def _indented(text: str) -> str:
    """Return the text indented; a name or path is broken only where it is longer than a line."""
    return fill(printable(text), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
