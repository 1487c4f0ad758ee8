"""The price of a canary, from the plan and the price files, before anything is created."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from changes.planned_cluster import deployable_cluster
from environments.environment import Environment
from environments.reader import read_environment
from operations.canary.backstop import MINUTES, SECOND_MINUTES
from operations.canary.run import FIRST, SECOND, CanaryRun
from sizing.plan import Plan
from sizing.units import HOURS_PER_MONTH

# judgement: EMR ends the nodes of a cluster within minutes of the request.
ENDING_HOURS: Final = 0.1
LIKELY_HOURS: Final = 1.0
SECOND_LIKELY_HOURS: Final = (
    0.25  # judgement: a cluster whose first bootstrap action fails ends in a quarter of an hour
)
OF_S3: Final = "S3 "
SERVICES: Final = ("CloudWatch", "KMS", "interface endpoints")
LAUNCH: Final = 1
REFUSAL: Final = 4


class CanaryPrice(Struct, frozen=True, kw_only=True):
    """The nodes of each cluster, and the price of the stages that were asked for, likely and at most."""

    nodes: tuple[int, ...]
    usd: float
    most_usd: float
    idle_usd_per_hour: float
    """The price of what remains once the backstop has ended the clusters, until the last stage removes it."""
    usd_per_hour: Mapping[str, float]
    """The price of the nodes of each cluster."""


def canary_price(environment: Environment, run: CanaryRun, stages: tuple[int, ...]) -> CanaryPrice:
    """Return the price of these stages of the canary of an environment.

    S3 is left out: the canary stores a few megabytes. Endpoints bill each hour that has begun.
    """
    with TemporaryDirectory(prefix="warmbase-canary-") as directory:
        draft = CanaryRun(directory=Path(directory), name=run.name)
        draft.begin(environment)
        first = deployable_cluster(read_environment(str(draft.file)), FIRST).launch.plan
        second = deployable_cluster(read_environment(str(draft.second_file)), SECOND).launch.plan
    nodes, usd, most = list[int](), 0.0, 0.0
    services = _usd_per_hour(first, services=True)
    if LAUNCH in stages:
        nodes.append(first.primary.count + first.core.count)
        usd += _usd_per_hour(first) * LIKELY_HOURS + services * LIKELY_HOURS
        most += _usd_per_hour(first) * (MINUTES / 60 + ENDING_HOURS) + services * 2
    if REFUSAL in stages:
        nodes.append(second.primary.count + second.core.count)
        usd += _usd_per_hour(second) * SECOND_LIKELY_HOURS
        most += _usd_per_hour(second) * (SECOND_MINUTES / 60 + ENDING_HOURS)
    rates = {FIRST: _usd_per_hour(first), SECOND: _usd_per_hour(second)}
    return CanaryPrice(nodes=tuple(nodes), usd=usd, most_usd=most, idle_usd_per_hour=services, usd_per_hour=rates)


def _usd_per_hour(plan: Plan, *, services: bool = False) -> float:
    """Return what the nodes of a plan cost with their volumes, or the services around them, without S3."""
    return (
        sum(
            line.usd_per_month
            for line in plan.cost.lines
            if line.item.startswith(SERVICES) == services and not line.item.startswith(OF_S3)
        )
        / HOURS_PER_MONTH
    )
