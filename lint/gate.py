"""Nothing that lint calls an error is rendered or deployed."""

from __future__ import annotations

from configurations.launch import Launch
from environments.environment import Environment
from lint.finding import LintFinding, Severity
from lint.lint import lint
from lint.planned import planned_subject
from sizing.problem import InvalidInput, Problem

__all__ = ["refuse_errors"]


def refuse_errors(launch: Launch) -> None:
    """Raises InvalidInput with every error that lint finds in a launch: an override of the environment makes them."""
    errors = lint(planned_subject(launch)).of(Severity.ERROR)
    if errors:
        raise InvalidInput([_problem(launch.environment, found) for found in errors])


def _problem(environment: Environment, found: LintFinding) -> Problem:
    """Without overrides a launch has no error, so where the blamed setting is none of them, one of them has a part."""
    return Problem(
        where=f"{environment.source}:{found.line}" if found.line else _one_of(environment),
        what=f"{found.id} {found.classification} {found.property}".strip(),
        why=f"{found.message}: {found.because}",
        fix=found.fix,
    )


def _one_of(environment: Environment) -> str:
    return ", ".join(override.where for override in environment.overrides) or environment.source
