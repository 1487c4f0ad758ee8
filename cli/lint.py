"""`warmbase lint` checks a configuration, ours or anybody's, for mistakes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import click
from msgspec.structs import replace

from cli.lint_page import LintPage, unfilled
from cli.mend import MendOptions, mend_file
from cli.options import ANSWER_IS_NO, chosen_analytics, chosen_cluster, cluster_option, yes_option
from cli.terminal import echo, echo_styled, page_columns
from configurations.engines.trino.rendering import trino_launch_of, trino_spec
from configurations.launch import launch_of
from configurations.planned_spec import planned_spec
from emr.cluster_spec import ClusterSpec
from environments.reader import read_environment
from lint.finding import Report, Severity
from lint.lint import ROLES
from lint.lint import lint as linted
from lint.reader import read_subject, with_tables
from reports.json_text import json_text
from reports.sarif import sarif_document


class LintOptions(TypedDict):
    """The options of the command."""

    file: Path | None
    tables: tuple[Path, ...]
    release: str | None
    group: str | None
    least: str
    cluster: str | None
    output: str
    every: bool
    strict: bool
    fix: bool
    dry_run: bool
    yes: bool


@click.command()
@click.argument("environment", metavar="[ENV]", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="The file to check: EMR configurations, RunJobFlow or CloudFormation JSON, a script with `aws emr"
    " create-cluster`, Terraform or its plan in JSON, an hbase-site.xml, or an HBase shell script with tables; - for"
    " the standard input.",
)
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    multiple=True,
    help="An HBase shell script, or the output of `describe`, whose tables may have coprocessors; repeatable.",
)
@click.option("--release", metavar="LABEL", help="The EMR release, such as emr-7.14.0; it wins over a release in FILE.")
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
@click.option("--all", "every", is_flag=True, help="List the bugs of the HBase version, too.")
@click.option("--strict", is_flag=True, help="Exit with 3 for warnings, too.")
@click.option(
    "--fix",
    is_flag=True,
    help="Correct FILE where only one correction is possible, after asking you, and list the rest.",
)
@click.option("--dry-run", "--diff", "dry_run", is_flag=True, help="With --fix, only show the corrections.")
@yes_option
@cluster_option
@click.option(
    "--output",
    type=click.Choice(["table", "json", "sarif"]),
    default="table",
    show_default=True,
    help="Print a table for people, JSON for programs, or SARIF 2.1.0 for code scanning.",
)
def lint(environment: str | None, **options: Unpack[LintOptions]) -> None:
    """Check a configuration, yours or anybody's, for mistakes.

    With ENV, warmbase checks what it would deploy; with --file, it checks a configuration from elsewhere. The
    worst findings come first; each has a reason and a fix. docs/lint-rules.md lists all rules with their sources.
    --fix corrects FILE where only one correction is possible, and changes nothing else in it.
    lint learns about coprocessors of tables from the inspection that ENV names, from --tables, and from FILE.

    \b
    Example:
      warmbase lint prod
      warmbase lint --file cluster.json --release emr-7.14.0
      warmbase lint prod --tables tables.rb
      warmbase lint --file cluster.json --fix --dry-run
      cat create.sh | warmbase lint --file -

    Exit codes: 3 there are errors, placeholders such as <your-jvm-heap-size> that nobody filled in, or, with
    --strict, warnings.
    """
    file, output = options["file"], options["output"]

    def check() -> Report:
        subject = with_tables(_subject(environment, options), options["tables"])
        return linted(subject, roles=_roles(subject, options["group"]))

    if options["fix"] or options["dry_run"]:
        mending = MendOptions(dry_run=options["dry_run"], yes=options["yes"])
        report = mend_file(_file_to_mend(file, output, fix=options["fix"]), check, mending)
    else:
        report = check()
        _print(report, _least(report, Severity(options["least"])), output, every=options["every"])
    if report.replaced_release:
        echo(
            f"warmbase: checked as {report.release}, because of --release; the file has {report.replaced_release}",
            err=True,
        )
    if report.of(Severity.ERROR) or unfilled(report) or (options["strict"] and report.of(Severity.WARNING)):
        sys.exit(ANSWER_IS_NO)


def _file_to_mend(file: Path | None, output: str, *, fix: bool) -> Path:
    if not fix:
        raise click.UsageError("--dry-run needs --fix")
    if file is None:
        raise click.UsageError("--fix needs --file FILE; correct an environment in its own file")
    if output != "table":
        raise click.UsageError("--fix prints a diff; omit --output")
    return file


def _print(report: Report, listed: Report, output: str, *, every: bool) -> None:
    if output == "json":
        echo(json_text(listed))
    elif output == "sarif":
        echo(json_text(sarif_document(listed)))
    else:
        echo_styled(LintPage(report=report, listed=listed, columns=page_columns(), every=every).text())


def _subject(environment: str | None, options: LintOptions) -> ClusterSpec:
    file, release, cluster = options["file"], options["release"], options["cluster"]
    if (environment is None) == (file is None):
        raise click.UsageError("give either ENV or --file FILE")
    if file is not None:
        if cluster is not None:
            raise click.UsageError("--cluster needs ENV; a file holds one cluster")
        return read_subject(file, release)
    if release is not None:
        raise click.UsageError("--release needs --file; ENV states its own release")
    read = read_environment(environment or "")
    if analytics := chosen_analytics(read, cluster):
        return trino_spec(trino_launch_of(read, analytics))
    return planned_spec(launch_of(read, chosen_cluster(read, cluster)))


def _roles(subject: ClusterSpec, group: str | None) -> Sequence[str]:
    if group is not None and subject.groups:
        raise click.UsageError("--group needs a file without instance groups; this file has them")
    return ROLES if group is None else (group,)


def _least(report: Report, least: Severity) -> Report:
    ranks = list(Severity)
    findings = tuple(finding for finding in report.findings if ranks.index(finding.severity) <= ranks.index(least))
    return replace(report, findings=findings)
