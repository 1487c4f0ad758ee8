"""warmbase sizes, deploys and operates cache-tuned HBase on Amazon EMR.

The names below are the library (`docs/library.md`); importing `warmbase` alone loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmbase.emr.cluster_spec import ClusterSpec
    from warmbase.environments.environment import Environment
    from warmbase.environments.reader.read import read_environment
    from warmbase.ground.errors import Infeasible, InvalidInput, OperationFailed, Problem, Refused, WarmbaseError
    from warmbase.library import explain, lint, plan, planned_cluster, render
    from warmbase.linter.finding import LintFinding, Report, Severity
    from warmbase.sizing.explanation import Explanation
    from warmbase.sizing.plan import Plan

__all__ = [
    "ClusterSpec",
    "Environment",
    "Explanation",
    "Infeasible",
    "InvalidInput",
    "LintFinding",
    "OperationFailed",
    "Plan",
    "Problem",
    "Refused",
    "Report",
    "Severity",
    "WarmbaseError",
    "explain",
    "lint",
    "plan",
    "planned_cluster",
    "read_environment",
    "render",
]

_HOMES = {
    "emr.cluster_spec": ("ClusterSpec",),
    "environments.environment": ("Environment",),
    "ground.errors": ("Infeasible", "InvalidInput", "OperationFailed", "Problem", "Refused", "WarmbaseError"),
    "library": ("explain", "lint", "plan", "planned_cluster", "read_environment", "render"),
    "linter.finding": ("LintFinding", "Report", "Severity"),
    "sizing.explanation": ("Explanation",),
    "sizing.plan": ("Plan",),
}


def __getattr__(name: str) -> object:
    """Import a name of the library when it is first used."""
    from importlib import import_module  # noqa: PLC0415 - the command line imports this module, and no name of it

    for module, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f"warmbase.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'warmbase' has no attribute {name!r}")
