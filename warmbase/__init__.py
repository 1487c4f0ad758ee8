"""warmbase sizes, deploys and operates cache-tuned HBase on Amazon EMR.

The names below are the library (`docs/library.md`); importing `warmbase` alone loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmbase.library import (
        ClusterSpec,
        Environment,
        Explanation,
        Infeasible,
        InvalidInput,
        LintFinding,
        OperationFailed,
        Plan,
        Problem,
        Refused,
        Report,
        Severity,
        WarmbaseError,
        explain,
        lint,
        plan,
        planned_cluster,
        read_environment,
        render,
    )

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


def __getattr__(name: str) -> object:
    """Import a name of the library when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'warmbase' has no attribute {name!r}")
    from warmbase import library  # noqa: PLC0415 - the command line imports this module, and no name of it

    globals().update({known: getattr(library, known) for known in __all__})
    return globals()[name]
