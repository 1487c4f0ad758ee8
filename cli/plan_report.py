"""The page that `warmbase plan ENV --report FILE` writes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cli.options import chosen_cluster
from cli.plan_document import plan_document
from cli.single_values import require_single_values
from cli.terminal import echo
from environments.planning import advised_plan_of, infeasible
from environments.reader import read_environment
from environments.reader.assignment import Assignment
from facts.whole_file import write_whole
from reports.explorer.page_file import is_page
from reports.explorer.report import report_page
from reports.explorer.subject import Subject
from reports.json_text import plain
from sizing.problem import InvalidInput

SUFFIX: Final = ".html"


def write_report(environment: str, assignments: Sequence[Assignment], cluster: str | None, file: Path) -> None:
    """Write the page of a plan. Raises Infeasible if the plan misses its targets, after writing the page."""
    _check_file(file)
    command = f"warmbase plan {shlex.quote(environment)} --report {shlex.quote(str(file))}"
    require_single_values(environment, assignments, command)
    read = read_environment(environment, assignments)
    choice = chosen_cluster(read, cluster)
    echo("warmbase: computing the plans for the sliders, which takes several seconds", err=True)
    plan = advised_plan_of(read, choice)
    error = None if plan.meets_targets else infeasible(read.source, plan)
    document = plain(plan_document(read, choice, plan, error))
    page = report_page(Subject.read(environment, choice.name, assignments), plan, document)
    try:
        write_whole(file, page.encode())
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, str(file)) from None
    echo(str(file))
    if error:
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
