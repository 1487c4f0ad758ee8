"""The pages that `warmbase plan ENV --report FILE` and `warmbase compare ENV --report FILE` write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from cli.options import chosen_cluster
from cli.plan_document import plan_document
from cli.terminal import echo
from environments.planning import advised_plan_of, compared_plans, infeasible
from environments.reader import read_environment
from environments.reader.assignment import Assignment
from environments.reader.read import environment_of, read_ranges
from environments.samples import Sampling
from facts.whole_file import write_whole
from reports.compared_modes import mode_table
from reports.decision_page import decision_page
from reports.explorer.page_file import is_page
from reports.explorer.report import Report
from reports.explorer.subject import Subject
from reports.json_text import plain
from sizing.problem import InvalidInput

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
    read = environment_of(ranged.middle)
    choice = chosen_cluster(read, request.cluster)
    ranged = ranged.of_cluster(read, choice.name)
    echo(COMPUTING, err=True)
    plan = advised_plan_of(read, choice)
    error = None if plan.meets_targets else infeasible(read.source, plan)
    decision = decision_page(ranged, choice.name, request.sampling) if ranged.ranges else None
    document = decision.document() if decision else plain(plan_document(read, choice, plan, error))
    subject = Subject.read(request.environment, choice.name, request.assignments)
    _write(request.file, Report(subject=subject, plan=plan, document=document, decision=decision))
    if error and not decision:
        raise error


def write_comparison(environment: str, cluster: str | None, file: Path) -> None:
    """Write the page of the storage modes side by side, whose nodes warmbase chooses, even if the file pins them."""
    _check_file(file)
    read = read_environment(environment)
    choice = chosen_cluster(read, cluster)
    subject = Subject.read(environment, choice.name)
    echo(COMPUTING, err=True)
    plans = compared_plans(read, choice)
    report = Report(
        subject=subject,
        plan=advised_plan_of(read, subject.choice(read, is_free=True)),
        document=plain(plans),
        modes=mode_table(plans),
        is_free=True,
        command=subject.compare_command,
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
