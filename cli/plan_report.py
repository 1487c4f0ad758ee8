"""The pages that `warmbase plan ENV --report FILE` and `warmbase compare ENV --report FILE` write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from cli.compared_columns import compared_columns
from cli.errors import answer_document
from cli.options import chosen_name
from cli.plan_document import plan_document
from cli.terminal import echo
from environments.engines.trino.planning import trino_infeasible, trino_plan_of
from environments.environment import Environment
from environments.planning import advised_plan_of, infeasible
from environments.reader import read_environment
from environments.reader.assignment import Assignment
from environments.reader.read import middle_environment, read_ranges
from environments.samples import Sampling
from facts.whole_file import write_whole
from reports.decision_page import decision_page
from reports.explorer.page_file import is_page
from reports.explorer.report import Document, Report
from reports.explorer.subject import Subject
from reports.json_text import plain
from sizing.problem import Infeasible, InvalidInput

SUFFIX: Final = ".html"
COMPUTING: Final = "warmbase: computing the plans for the sliders, which takes several seconds"


class ReportRequest(Struct, frozen=True, kw_only=True):
    """The options of `warmbase plan` that matter to a report."""

    environment: str
    assignments: tuple[Assignment, ...]
    cluster: str | None
    sampling: Sampling
    file: Path


def write_report(request: ReportRequest) -> None:
    """Write the page of a plan. Raises Infeasible if the plan misses its targets, after writing the page."""
    _check_file(request.file)
    ranged = read_ranges(request.environment, request.assignments).today
    read = middle_environment(ranged)
    name = chosen_name(read, request.cluster)
    ranged = ranged.of_cluster(read, name)
    echo(COMPUTING, err=True)
    document, error = _planned(read, name)
    decision = decision_page(ranged, name, request.sampling) if ranged.ranges else None
    subject = Subject.read(request.environment, name, request.assignments)
    document = decision.document() if decision else plain(document)
    _write(request.file, Report(subject=subject, document=document, decision=decision))
    if error and not decision:
        raise error


def _planned(environment: Environment, cluster: str) -> tuple[Document, Infeasible | None]:
    """Return the plan as JSON has it, and the error of one that misses its targets."""
    if cluster in environment.analytics:
        queries = trino_plan_of(environment, environment.analytics[cluster])
        missed = None if queries.feasible else trino_infeasible(environment.source, queries)
        return answer_document(plain(queries), missed), missed
    choice = environment.clusters[cluster]
    plan = advised_plan_of(environment, choice)
    error = None if plan.meets_targets else infeasible(environment.source, plan)
    return plan_document(environment, choice, plan, error), error


def write_comparison(environment: str, cluster: str | None, file: Path) -> None:
    """Write the page of a comparison, whose nodes warmbase chooses, even if the file pins them."""
    _check_file(file)
    read = read_environment(environment)
    subject = Subject.read(environment, chosen_name(read, cluster))
    echo(COMPUTING, err=True)
    plans, table = compared_columns(read, cluster)
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
