"""Two plans side by side, as `warmbase plan` prints them where it is asked for a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from changes.plan_comparison import PlanSide, plan_comparison
from cli.compared_plans import ComparedPlans
from cli.errors import answer_document
from cli.options import chosen_cluster
from cli.plan_markdown import comparison_markdown, plan_markdown
from cli.terminal import echo, echo_styled
from environments.environment import Environment
from environments.reader import locate, read_environment
from environments.reader.assignment import Assignment
from environments.reader.document import load_document
from environments.reader.read import environment_of, quoted_path
from environments.record_files import recorded_launch
from environments.revision import environment_at, is_revision
from reports.json_text import json_text

LAUNCH: Final = "launch"


class ComparisonRequest(Struct, frozen=True, kw_only=True):
    """The arguments of `warmbase plan` that ask for more than one plan, or for a plan as Markdown."""

    environment: str
    other: str | None
    assignments: tuple[str, ...]
    against: str | None
    cluster: str | None
    output: str


def show_comparison(request: ComparisonRequest) -> None:
    """Print the comparison. Raises Infeasible where the newer plan misses its targets, after printing it."""
    after, described = _after(request)
    before = _before(request, after)
    if before is None:
        echo(plan_markdown(after, described))
    else:
        source = str(before.record.directory) if before.record else before.environment.source
        _print(ComparedPlans.of(plan_comparison(before, after), source, described), after, request.output)
    if after.error:
        raise after.error


def _print(compared: ComparedPlans, after: PlanSide, output: str) -> None:
    if output == "json":
        echo(json_text(answer_document(compared.document(), after.error)))
    elif output == "markdown":
        echo(comparison_markdown(compared))
    else:
        from cli.plan_comparison_page import comparison_page  # noqa: PLC0415 - rich is for people

        echo_styled(comparison_page(compared))


def _after(request: ComparisonRequest) -> tuple[PlanSide, str]:
    """Return the newer plan, and its environment in words."""
    if request.other and request.against:
        raise click.UsageError("Name a second environment or --against, not both.")
    assignments = [Assignment.parse(text) for text in request.assignments]
    read = read_environment(request.other or request.environment, assignments)
    return PlanSide.of(read, chosen_cluster(read, request.cluster)), " ".join([read.source, *map(str, assignments)])


def _before(request: ComparisonRequest, after: PlanSide) -> PlanSide | None:
    """Return the older plan; None where a single plan is to be shown."""
    if request.against == LAUNCH:
        cluster = chosen_cluster(after.environment, request.cluster)
        return PlanSide.at_launch(after.environment, recorded_launch(after.environment, cluster.name))
    if request.against:
        read = _environment_against(locate(request.environment), request.against)
    elif request.other or request.assignments:
        read = read_environment(request.environment)
    else:
        return None
    return PlanSide.of(read, chosen_cluster(read, request.cluster))


def _environment_against(file: Path, against: str) -> Environment:
    """Return the environment of a file, or of a git revision of the environment's own file."""
    if not Path(against).is_file():
        return environment_at(file, against)
    if is_revision(file, against):
        echo(f"note: {against} is a file and a git revision, and warmbase compares with the file", err=True)
        echo(f"to compare with the revision: --against {against}~0", err=True)
    return environment_of(load_document(Path(against), quoted_path(Path(against))))
