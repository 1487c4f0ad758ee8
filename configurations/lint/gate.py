"""Nothing that lint calls an error is rendered or deployed."""

from __future__ import annotations

from configurations.launch import Launch
from configurations.lint.finding import Finding, Severity
from configurations.lint.lint import lint
from configurations.lint.planned import planned_subject
from sizing.problem import InvalidInput, Problem

__all__ = ["refuse_errors"]


def refuse_errors(launch: Launch) -> None:
    """Raises InvalidInput with every error that lint finds in a launch: an override of the environment makes them."""
    errors = lint(planned_subject(launch)).of(Severity.ERROR)
    if errors:
        raise InvalidInput([_problem(launch.environment.source, found) for found in errors])


def _problem(source: str, found: Finding) -> Problem:
    return Problem(
        where=f"{source}:{found.line}" if found.line else source,
        what=f"{found.id} {found.classification} {found.property}".strip(),
        why=f"{found.message}: {found.because}",
        fix=found.fix,
    )
