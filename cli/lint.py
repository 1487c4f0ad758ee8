"""warmbase lint: what is wrong with a configuration, ours or a stranger's."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

import click

from cli.options import chosen_cluster, cluster_option, output_option
from configurations.launch import launch_of
from emr.cluster_spec import ClusterSpec
from environments.reader import read_environment
from lint.finding import LintFinding, Report, Severity
from lint.lint import ROLES
from lint.lint import lint as linted
from lint.planned import planned_subject
from lint.reader import read_subject
from reports.amounts import printable
from reports.json_text import json_text

__all__ = ["lint", "report_text"]

ANSWER_IS_NO: Final = 3
COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
WIDTH: Final = 80
SHORT: Final = 70
"""Of a value: what fits a line beside its indent."""


@click.command()
@click.argument("environment", metavar="[ENV]", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="EMR configurations, RunJobFlow or CloudFormation, a script with `aws emr create-cluster`, an hbase-site.xml.",
)
@click.option("--release", metavar="LABEL", help="Of a file that does not say, such as emr-7.12.0.")
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    help="Whose settings a file is that has no instance groups; without it, those of all nodes.",
)
@click.option(
    "--least",
    type=click.Choice([severity.value for severity in Severity]),
    default="info",
    show_default=True,
    help="How grave a finding must be to be shown.",
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
    """Say what is wrong with a configuration, and how to mend it.

    Of an environment, what would be deployed; of a file, what somebody else would. Gaps such as
    <your-jvm-heap-size> are named as what is missing. Ends with 3 where there are errors. JSON has the reason of
    each note, too, and docs/lint-rules.md of each rule.

    \b
    Example:
      warmbase lint prod
      warmbase lint --file cluster.json --release emr-7.12.0
    """
    subject = _subject(environment, file, release, cluster)
    report = linted(subject, roles=_roles(subject, group))
    shown = _least(report, Severity(least))
    click.echo(json_text(shown) if output == "json" else report_text(report, shown), color=sys.stdout.isatty() or None)
    if report.of(Severity.ERROR):
        sys.exit(ANSWER_IS_NO)


def _subject(environment: str | None, file: Path | None, release: str | None, cluster: str | None) -> ClusterSpec:
    if (environment is None) == (file is None):
        raise click.UsageError("give either ENV or --file FILE")
    if file is not None:
        if cluster is not None:
            raise click.UsageError("--cluster is for ENV; a file holds one cluster")
        return read_subject(file, release)
    if release is not None:
        raise click.UsageError("--release is for --file; ENV states its own")
    read = read_environment(environment or "")
    return planned_subject(launch_of(read, chosen_cluster(read, cluster)))


def _roles(subject: ClusterSpec, group: str | None) -> Sequence[str]:
    if group is not None and subject.groups:
        raise click.UsageError("--group is for a file without instance groups; this one has them")
    return ROLES if group is None else (group,)


def _least(report: Report, least: Severity) -> Report:
    ranks = list(Severity)
    shown = tuple(found for found in report.findings if ranks.index(found.severity) <= ranks.index(least))
    return Report(source=report.source, release=report.release, findings=shown)


def report_text(report: Report, shown: Report) -> str:
    """Counts of all findings, then those shown, one after the other."""
    counts = Counter(found.severity for found in report.findings)
    numbers = ", ".join(
        f"{counts[severity]} {name}{'s' * (counts[severity] != 1 and severity is not Severity.INFO)}"
        for severity, name in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
    )
    hidden = len(report.findings) - len(shown.findings)
    more = f"; {hidden} of them not shown" if hidden else ""
    said = f"{report.source}, {report.release or 'release not known'}: {numbers}{more}"
    head = fill(said, WIDTH, break_on_hyphens=False)
    return "\n\n".join([head, *map(_finding_text, shown.findings)])


def _finding_text(found: LintFinding) -> str:
    where = f"line {found.line}" if found.line else ""
    what = " ".join(filter(None, (found.classification, found.property)))
    marked = "an override" if found.overridden else ""
    severity = click.style(found.severity.value, fg=COLOURS[found.severity])
    head = "  ".join(filter(None, (f"{found.id} {severity}", where, _short(what), marked)))
    value = f"is {_short(found.value)}" if found.value is not None else ""
    because = "" if found.severity is Severity.INFO else f"because {found.because}"
    lines = (value, found.message, because, f"fix: {found.fix}")
    return "\n".join([head, *(_indented(line) for line in lines if line)])


def _short(value: str) -> str:
    """One line of it, and nothing that a terminal would take for a command."""
    plain = printable(value)
    return plain if len(plain) <= SHORT else f"{plain[: SHORT - 3]}..."


def _indented(text: str) -> str:
    """Long names and paths are broken only where they are longer than a line."""
    return fill(printable(text), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
