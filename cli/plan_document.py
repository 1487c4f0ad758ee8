"""The document that `warmbase plan ENV --output json` prints, and that the page of a plan has in it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from cli.errors import answer_document
from environments.environment import Environment
from environments.unstated import unstated
from lint.secret import redacted
from reports.json_text import plain
from sizing.cluster import ClusterChoice
from sizing.plan import Plan
from sizing.problem import WarmbaseError


def plan_document(
    environment: Environment, cluster: ClusterChoice, plan: Plan, error: WarmbaseError | None
) -> dict[str, Any]:
    """Return the plan as JSON has it, with the overrides, the assumed values, and the error if there is one."""
    overrides = [replace(override, value=redacted(override.key, override.value)) for override in environment.overrides]
    assumed = unstated(environment, cluster)
    return answer_document({**plain(plan), "overrides": overrides, "assumed": assumed}, error)
