"""Alarms of one cluster. Each says what it means and names the command that answers it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dashboards.metric import CLUSTER_ID
from environments.names import cluster_name
from sizing.plan import Plan

__all__ = ["ROOT_METRICS_FILTER", "Alarm", "alarms"]

ROOT_METRICS_FILTER: Final = "hbase-root"
"""Id of the request metrics that the root bucket keeps for the root's prefix."""

FIVE_MINUTES: Final = 300
# judgement: writes, compactions and region moves read from S3 too; twice the plan and never under 20 GETs a second
# keeps them from waking anybody.
GETS_MARGIN: Final = 2
LEAST_GETS_PER_SECOND: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A threshold on one metric with exact dimensions, for an alarm may not search."""

    name: str
    description: str
    namespace: str
    metric: str
    dimensions: Mapping[str, str]
    statistic: str
    period_seconds: int
    periods: int
    comparison: str
    threshold: float
    missing_data: str


def alarms(plan: Plan, root_bucket: str) -> tuple[Alarm, ...]:
    """S3 read above the plan, where the data are there; and a core node missing."""
    command = f"warmbase plan {plan.environment}"
    of_s3 = (_gets_above_plan(plan, root_bucket, command),) if plan.mode.in_s3 else ()
    return (*of_s3, _core_node_missing(plan, command))


def _gets_above_plan(plan: Plan, root_bucket: str, command: str) -> Alarm:
    warm = plan.throughput.reads_per_second * _gets_per_read(plan)
    allowed = max(LEAST_GETS_PER_SECOND, GETS_MARGIN * warm)
    why = f"the plan has {warm:,.0f}: without a cache each read goes there."
    if plan.mode.cached:
        why = f"the warm cache leaves {warm:,.0f}. Expected while it warms up, else the cache is lost or too small."
    return Alarm(
        name=f"{cluster_name(plan.environment, plan.cluster)}-s3-gets-above-plan",
        description=f"The root is read from S3 at more than {allowed:,.0f} GETs/s for 15 minutes; "
        + why
        + f" {command} says why.",
        namespace="AWS/S3",
        metric="GetRequests",
        dimensions={"BucketName": root_bucket, "FilterId": ROOT_METRICS_FILTER},
        statistic="Sum",
        period_seconds=FIVE_MINUTES,
        periods=3,
        comparison="GreaterThanThreshold",
        threshold=math.ceil(allowed * FIVE_MINUTES),
        missing_data="notBreaching",
    )


def _gets_per_read(plan: Plan) -> float:
    return next(resource.demand_per_read for resource in plan.throughput.resources if resource.name == "s3-requests")


def _core_node_missing(plan: Plan, command: str) -> Alarm:
    return Alarm(
        name=f"{cluster_name(plan.environment, plan.cluster)}-core-node-missing",
        description=f"Fewer than {plan.core.count} core nodes run. A replacement starts with an empty cache. "
        f"{command} says how many may be lost before a target is.",
        namespace="AWS/ElasticMapReduce",
        metric="CoreNodesRunning",
        dimensions={"JobFlowId": CLUSTER_ID},
        statistic="Minimum",
        period_seconds=FIVE_MINUTES,
        periods=2,
        comparison="LessThanThreshold",
        threshold=plan.core.count,
        missing_data="breaching",
    )
