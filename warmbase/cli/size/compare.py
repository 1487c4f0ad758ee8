"""`warmbase compare` plans one workload in each storage mode, or for each place of Trino's cache, side by side.

The module also writes the reports of `warmbase plan --report FILE` and `warmbase compare --report FILE`. The report of
a plan contains its JSON document.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from warmbase.cli.options import chosen_name, cluster_option, environment_argument, output_option
from warmbase.cli.page import Column, Page, Table, styled
from warmbase.cli.size.plan_request import PlanRequest
from warmbase.cli.terminal import answer_document, echo, print_json
from warmbase.engines.engine import engine_of
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.read import middle_environment, read_ranges
from warmbase.facts.prices import price_table
from warmbase.ground.errors import InvalidInput
from warmbase.ground.whole_file import write_whole
from warmbase.reports.decision_page import decision_page
from warmbase.reports.engine_facet import reports_of
from warmbase.reports.explorer.page_file import Report, is_page
from warmbase.reports.explorer.subject import Subject
from warmbase.reports.json_text import plain


@click.command()
@environment_argument
@cluster_option
@output_option
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the comparison as an HTML page that needs no server and no network.",
)
def compare(environment: str, cluster: str | None, output: str, report: Path | None) -> None:
    """Compare the storage modes for one environment.

    Each column is the cheapest cluster that meets the targets in one mode: S3 with a disk cache, S3 without a cache,
    and HDFS. The calculator chooses everything, even where the file pins the cluster. For a mode that cannot meet the
    targets, the column shows the nearest target that it could meet.

    For a Trino cluster, the columns are the cheapest clusters with the cache on EBS volumes, with the cache on the
    instance's own NVMe drive, and without a cache.

    \b
    Example:
      warmbase compare prod
      warmbase compare prod --report compare.html
      warmbase compare docs/analytics.yaml --cluster lake
    """
    if report:
        if output != "table":
            raise click.UsageError("--report writes a page, which contains the JSON: leave out --output.")
        write_comparison(environment, cluster, report)
        return
    read = read_environment(environment)
    name = chosen_name(read, cluster)
    plans, table = reports_of(engine_of(read, name)).columns(read, name)
    if output == "json":
        print_json(plans)
        return
    names = (Column(heading=styled(name, bold=True)) for name in table.names)
    figures = Table(columns=(Column(style={"fg": "cyan"}), *names), rows=table.rows, wide=True)
    Page().show([figures, "", *table.summaries])
    note = price_table(read.region).note
    if note.estimate:
        echo(f"Prices are an {note.described}. To use the real prices, run: {note.refresh}")


SUFFIX: Final = ".html"
COMPUTING: Final = "warmbase: computing the plans for the sliders, which takes several seconds"


def write_report(request: PlanRequest) -> None:
    """Write the page of a plan. Raises Infeasible if the plan misses its targets, after writing the page."""
    file = request.report or Path()
    _check_file(file)
    ranged = read_ranges(request.environment, request.values).today
    read = middle_environment(ranged)
    name = chosen_name(read, request.cluster)
    ranged = ranged.of_cluster(read, name)
    echo(COMPUTING, err=True)
    document, error = reports_of(engine_of(read, name)).document(read, name)
    decision = decision_page(ranged, name, request.sampling) if ranged.ranges else None
    subject = Subject.read(request.environment, name, request.values)
    document = decision.document() if decision else plain(answer_document(document, error))
    _write(file, Report(subject=subject, document=document, decision=decision))
    if error and not decision:
        raise error


def write_comparison(environment: str, cluster: str | None, file: Path) -> None:
    """Write the page of a comparison, whose nodes warmbase chooses, even if the file pins them."""
    _check_file(file)
    read = read_environment(environment)
    name = chosen_name(read, cluster)
    subject = Subject.read(environment, name)
    echo(COMPUTING, err=True)
    plans, table = reports_of(engine_of(read, name)).columns(read, name)
    report = Report(
        subject=subject, document=plain(plans), columns=table, is_free=True, command=subject.compare_command
    )
    _write(file, report)


def _write(file: Path, report: Report) -> None:
    try:
        write_whole(file, report.page().encode())
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, str(file)) from None
    echo(str(file))


def _check_file(file: Path) -> None:
    """Raise InvalidInput if the page cannot be written to this file, or would replace a file that is no such page."""
    if file.suffix != SUFFIX:
        raise InvalidInput.of(
            where="--report",
            what=str(file),
            why=f"the report is an HTML page, and the name of this file does not end in {SUFFIX}",
            fix=f"name a file that ends in {SUFFIX}",
        )
    if not os.access(file.parent, os.W_OK):
        raise InvalidInput.of(
            where="--report",
            what=str(file),
            why="you cannot write to that directory, or there is none",
            fix="name a file in a directory that you can write to",
        )
    if os.path.lexists(file) and not (file.is_file() and is_page(file)):
        raise InvalidInput.of(
            where="--report",
            what=str(file),
            why="a file with that name exists already, and warmbase overwrites only its own reports",
            fix="name another file, or remove this one",
        )
