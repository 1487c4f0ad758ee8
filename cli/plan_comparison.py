"""Two plans side by side, as `warmbase plan` prints them where it is asked for a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from changes.engines.trino.comparison import TrinoSide, trino_comparison
from changes.plan_comparison import PlanSide, plan_comparison
from cli.compared_plans import ComparedPlans
from cli.engines.trino.comparison import ComparedTrino
from cli.errors import answer_document
from cli.options import chosen_analytics, chosen_cluster
from cli.plan_markdown import comparison_markdown, plan_markdown, trino_markdown
from cli.terminal import echo, echo_styled
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from environments.reader import locate, read_environment
from environments.reader.assignment import Assignment
from environments.reader.document import load_document
from environments.reader.read import environment_of, quoted_path
from environments.record_files import launch_records, recorded_launch
from environments.revision import environment_at, is_revision
from reports.json_text import json_text
from sizing.problem import Infeasible

LAUNCH: Final = "launch"


class ComparisonRequest(Struct, frozen=True, kw_only=True):
    """The arguments of `warmbase plan` that ask for more than one plan, or for a plan as Markdown."""

    environment: str
    other: str | None
    assignments: tuple[str, ...]
    against: str | None
    cluster: str | None
    output: str


class ComparedEnvironments(Struct, frozen=True, kw_only=True):
    """The newer environment, and the older one: None where launches are compared, or where there is one plan."""

    before: Environment | None
    after: Environment
    after_text: str

    def source(self, record: LaunchRecord | None) -> str:
        """Return the older environment in words, or the directory of a launch record."""
        if record:
            return str(record.directory)
        return self.before.source if self.before else ""


def show_comparison(request: ComparisonRequest) -> None:
    """Print the comparison. Raises Infeasible where the newer plan misses its targets, after printing it."""
    environments = _environments(request)
    is_trino = chosen_analytics(environments.after, request.cluster) is not None
    error = (_show_trino if is_trino else _show_hbase)(request, environments)
    if error:
        raise error


def _show_hbase(request: ComparisonRequest, environments: ComparedEnvironments) -> Infeasible | None:
    choice, record = chosen_cluster(environments.after, request.cluster), None
    if request.against == LAUNCH:
        record = recorded_launch(environments.after, choice.name)
        before = PlanSide.at_launch(environments.after, record)
    elif environments.before:
        before = PlanSide.of(environments.before, chosen_cluster(environments.before, request.cluster))
    else:
        after = PlanSide.of(environments.after, choice)
        echo(plan_markdown(after, environments.after_text))
        return after.error
    after = PlanSide.of(environments.after, choice)
    analytics = () if request.cluster else tuple(_differing_analytics(request, environments))
    compared = ComparedPlans.of(
        plan_comparison(before, after), environments.source(record), environments.after_text, analytics
    )
    _print(compared, after.error, request.output)
    return next(filter(None, (after.error, *(other.error for other in analytics))), None)


def _differing_analytics(request: ComparisonRequest, environments: ComparedEnvironments) -> Iterator[ComparedTrino]:
    """Yield the comparison of each analytics cluster whose plans differ."""
    names = (*environments.after.analytics, *(environments.before.analytics if environments.before else ()))
    records = launch_records(environments.after) if request.against == LAUNCH and names else {}
    for name in dict.fromkeys(names):
        if environments.before or name in records:
            compared = _compared_trino(environments, name, records.get(name))
            if not compared.is_empty:
                yield compared


def _show_trino(request: ComparisonRequest, environments: ComparedEnvironments) -> Infeasible | None:
    name = request.cluster or ""
    if request.against != LAUNCH and environments.before is None:
        after = TrinoSide.of(environments.after, environments.after.analytics[name])
        echo(trino_markdown(after, environments.after_text))
        return after.error
    record = recorded_launch(environments.after, name) if request.against == LAUNCH else None
    compared = _compared_trino(environments, name, record)
    _print(compared, compared.error, request.output)
    return compared.error


def _compared_trino(environments: ComparedEnvironments, name: str, record: LaunchRecord | None) -> ComparedTrino:
    before = _side(environments.before, name)
    if record:
        before = TrinoSide.at_launch(environments.after, environments.after.analytics[name], record)
    comparison = trino_comparison(before, _side(environments.after, name))
    return ComparedTrino(
        name=name, comparison=comparison, sources=(environments.source(record), environments.after_text)
    )


def _side(environment: Environment | None, name: str) -> TrinoSide | None:
    choice = environment.analytics.get(name) if environment else None
    return TrinoSide.of(environment, choice) if environment and choice else None


def _print(compared: ComparedPlans | ComparedTrino, error: Infeasible | None, output: str) -> None:
    if output == "json":
        document: dict[str, Any] = answer_document(compared.document(), error)
        echo(json_text(document))
    elif output == "markdown":
        echo(comparison_markdown(compared))
    else:
        from cli.plan_comparison_page import comparison_page  # noqa: PLC0415 - rich is for people

        echo_styled(comparison_page(compared))


def _environments(request: ComparisonRequest) -> ComparedEnvironments:
    """Return the two environments, the newer one also in words."""
    if request.other and request.against:
        raise click.UsageError("Name a second environment or --against, not both.")
    assignments = [Assignment.parse(text) for text in request.assignments]
    after = read_environment(request.other or request.environment, assignments)
    return ComparedEnvironments(
        before=_before(request), after=after, after_text=" ".join([after.source, *map(str, assignments)])
    )


def _before(request: ComparisonRequest) -> Environment | None:
    if request.against == LAUNCH:
        return None
    if request.against:
        return _environment_against(locate(request.environment), request.against)
    return read_environment(request.environment) if request.other or request.assignments else None


def _environment_against(file: Path, against: str) -> Environment:
    """Return the environment of a file, or of a git revision of the environment's own file."""
    if not Path(against).is_file():
        return environment_at(file, against)
    if is_revision(file, against):
        echo(f"note: {against} is a file and a git revision, and warmbase compares with the file", err=True)
        echo(f"to compare with the revision: --against {against}~0", err=True)
    return environment_of(load_document(Path(against), quoted_path(Path(against))))
