"""warmbase as a library: what `warmbase plan`, `explain`, `lint` and `render` call.

`from warmbase import plan` takes the names from here. An environment is given as `read_environment` returns it, or by
its name or path. No call prints, asks, or reaches AWS; each raises a WarmbaseError with where, what, why and a fix.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from warmbase.changes.engine_facet import changes_of
from warmbase.configurations.launch import Launch
from warmbase.emr.api import write_classifications
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.engines.engine import engine_of
from warmbase.environments import planning
from warmbase.environments.environment import Environment
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Infeasible, InvalidInput, OperationFailed, Problem, Refused, WarmbaseError
from warmbase.linter.finding import LintFinding, Report, Severity
from warmbase.linter.lint import ROLES, refuse_errors
from warmbase.linter.lint import lint as findings_of
from warmbase.linter.reader import read_subject
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

Group = Literal["primary", "core"]
"""An instance group of EMR."""


def plan(environment: Environment | str, cluster: str | None = None) -> Plan:
    """Return the sizing plan of an HBase cluster of the environment: the active one, or the one of that name.

    A plan that misses its targets is an answer, not an error: `feasible` is False, and `nearest` says what would help.
    Raises InvalidInput with every problem of the file, and for a name that no HBase cluster has.
    """
    environment = _environment(environment)
    return planning.plan_of(environment, chosen_cluster(environment, cluster))


def explain(plan: Plan, figure: str) -> Explanation:
    """Return formula, inputs and source of a figure of a plan, given by its path such as `heap.xmx_mib`.

    Raises InvalidInput for a path that the plan does not explain; `plan.because` has them all.
    """
    if figure not in plan.because:
        raise InvalidInput.of(
            where=figure, what="figure", why="the plan explains no such figure", fix="use a key of `plan.because`"
        )
    return plan.because[figure]


def planned_cluster(environment: Environment | str, cluster: str | None = None) -> ClusterSpec:
    """Return the cluster that a deployment would launch, in EMR's nouns; an analytics cluster by its name.

    Raises InvalidInput as `plan`, and Infeasible where no cluster meets the targets.
    """
    environment = _environment(environment)
    name = _chosen_name(environment, cluster)
    facet = changes_of(engine_of(environment, name))
    return facet.spec(facet.launch(environment, name))


def lint(
    subject: ClusterSpec | Environment | Path | str, release: str | None = None, roles: Sequence[str] = ROLES
) -> Report:
    """Return what lint finds in a cluster, in the active cluster of an environment, or in the file of a stranger.

    A text or path is a file in any form that `warmbase lint --file` reads; `release` wins over a release in it. Only
    nodes of `roles` are checked. Raises InvalidInput with every problem of a file that cannot be read.
    """
    if isinstance(subject, Environment):
        subject = planned_cluster(subject)
    elif not isinstance(subject, ClusterSpec):
        subject = read_subject(Path(subject), release)
    return findings_of(subject, roles=roles)


def render(environment: Environment | str, cluster: str | None = None, group: Group = "core") -> list[dict[str, Any]]:
    """Return the classifications in force on nodes of a group, as the EMR API takes them.

    Raises InvalidInput as `plan`, and with every error that lint finds; Infeasible where no cluster meets the targets.
    """
    environment = _environment(environment)
    name = _chosen_name(environment, cluster)
    launch = changes_of(engine_of(environment, name)).launch(environment, name)
    if isinstance(launch, Launch):
        refuse_errors(launch)
    return list(write_classifications(launch.settings.effective(group)))


def _chosen_name(environment: Environment, cluster: str | None) -> str:
    """Return the name of the cluster, or of the active one. Raises InvalidInput for a name that no cluster has."""
    return cluster if cluster and cluster in environment.analytics else chosen_cluster(environment, cluster).name


def _environment(environment: Environment | str) -> Environment:
    return environment if isinstance(environment, Environment) else read_environment(environment)
