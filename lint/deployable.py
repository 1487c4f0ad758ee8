"""A launch that may be rendered and deployed: lint finds no error in it."""

from __future__ import annotations

from configurations.launch import Launch, launch_of
from configurations.planned_spec import planned_spec
from environments.environment import Environment
from environments.reader import shared_roots
from lint.finding import LintFinding, Severity
from lint.lint import lint
from sizing.cluster import ClusterChoice
from sizing.problem import Infeasible, InvalidInput, Problem


def deployable_launch(environment: Environment, cluster: ClusterChoice) -> Launch:
    """Return the launch of a cluster, in which lint finds no error.

    Raises InvalidInput for each error, and for a root that another environment file has too.
    """
    launch = launch_of(environment, cluster)
    check_deployable(launch)
    return launch


def check_deployable(launch: Launch) -> None:
    """Raise InvalidInput for each error that lint finds, and for a root that another environment file has too."""
    problems = shared_roots(launch.environment)
    if problems:
        raise InvalidInput(problems)
    refuse_errors(launch)


def refuse_errors(launch: Launch) -> None:
    """Raise InvalidInput with every error that lint finds in a launch: only overrides of the environment cause them."""
    errors = lint(planned_spec(launch)).of(Severity.ERROR)
    if errors:
        raise InvalidInput([_problem(launch.environment, finding) for finding in errors])


def refused_settings(environment: Environment, cluster: ClusterChoice) -> frozenset[tuple[str, str]]:
    """Return each property in which lint finds an error, with its classification; an empty name stands for all of it.

    Returns none where no cluster meets the targets, because there is no configuration to check.
    """
    try:
        launch = launch_of(environment, cluster)
    except Infeasible:
        return frozenset()
    errors = lint(planned_spec(launch)).of(Severity.ERROR)
    return frozenset((finding.classification, finding.property) for finding in errors)


def _problem(environment: Environment, finding: LintFinding) -> Problem:
    """Return the problem with the line of the override, or with all overrides: one of them caused it."""
    return Problem(
        where=f"{environment.source}:{finding.line}" if finding.line else _overrides(environment),
        what=f"{finding.id} {finding.classification} {finding.property}".strip(),
        why=f"{finding.message}: {finding.because}",
        fix=finding.fix,
    )


def _overrides(environment: Environment) -> str:
    return ", ".join(override.where for override in environment.overrides) or environment.source
