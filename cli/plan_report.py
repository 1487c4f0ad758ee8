"""The page that `warmbase plan ENV --report FILE` writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from cli.options import chosen_cluster
from cli.plan_document import plan_document
from cli.terminal import echo
from environments.planning import advised_plan_of, infeasible
from environments.reader.assignment import Assignment
from environments.reader.read import environment_of, read_ranges
from environments.samples import Sampling
from facts.whole_file import write_whole
from reports.decision_page import decision_page
from reports.explorer.page_file import is_page
from reports.explorer.report import report_page
from reports.explorer.subject import Subject
from reports.json_text import plain
from sizing.problem import InvalidInput

SUFFIX: Final = ".html"


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
    ranged = read_ranges(request.environment, request.assignments)
    read = environment_of(ranged.middle)
    choice = chosen_cluster(read, request.cluster)
    echo("warmbase: computing the plans for the sliders, which takes several seconds", err=True)
    plan = advised_plan_of(read, choice)
    error = None if plan.meets_targets else infeasible(read.source, plan)
    decision = decision_page(ranged, choice.name, request.sampling) if ranged.ranges else None
    document = decision.document() if decision else plain(plan_document(read, choice, plan, error))
    subject = Subject.read(request.environment, choice.name, request.assignments)
    page = report_page(subject, plan, decision, document)
    try:
        write_whole(request.file, page.encode())
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, str(request.file)) from None
    echo(str(request.file))
    if error and not decision:
        raise error


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
