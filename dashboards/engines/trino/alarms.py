"""The metric alarms of an analytics cluster, with thresholds from its plan, and the composite alarms that notify.

A worker that is down also lowers the hit rate; only `call-servers` notifies then. Caches that are filling miss more
than planned, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from configurations.engines.trino.metrics import TRINO_METRICS
from dashboards.alarm import Alarm, CompositeAlarm, alarm_above, alarm_below, any_of, in_alarm
from dashboards.graph import MINUTE
from dashboards.node_alarms import core_node_missing, disk_full
from dashboards.query import Aggregate, insights
from environments.names import emr_cluster_name
from sizing.engines.trino.plan import TrinoPlan
from sizing.units import GIB

LOW_MINUTES: Final = 30
"""The time over which the hit rate is computed. judgement: one query of new data is a small part of what is read."""
# judgement: a query or two of new data read this much from S3 in half an hour, and nobody waits for more than these.
MIN_REMOTE_BYTES: Final = 10 * GIB
SILENT_MINUTES: Final = 5  # judgement: Trino starts in one or two minutes, and waits for the pages of a large cache
MIN_FILL_OF_PLAN: Final = 0.5
"""judgement: a cache with less than this share of its planned pages is still filling. Files are spread by a hash, so a
worker of a few has less than the mean for good."""


def trino_alarms(plan: TrinoPlan) -> tuple[Alarm, ...]:
    """Return every metric alarm. None of them notifies anybody: composite alarms do."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    advice = f"Run {_plan(plan)} to see how long queries take then."
    alarms = (
        core_node_missing(plan.workers.count, advice),
        _server_silent(plan),
        *_of_hit_rate(plan),
        _disk_full(plan),
    )
    return tuple(replace(alarm, name=f"{name}-{alarm.name}") for alarm in alarms)


def trino_composite_alarms(plan: TrinoPlan) -> tuple[CompositeAlarm, ...]:
    """Return the notifications, one for each kind of cause."""
    prefix = emr_cluster_name(plan.environment, plan.cluster)

    servers = any_of(f"{prefix}-core-node-missing", f"{prefix}-server-silent")
    low, filling = in_alarm(f"{prefix}-hit-ratio-low"), in_alarm(f"{prefix}-cache-filling")
    rules = {"servers": servers, "cache": low & ~filling & ~servers, "room": in_alarm(f"{prefix}-disk-full")}
    descriptions = {
        "servers": f"Workers are missing. Run {_status(plan)} to see which nodes the cluster has.",
        "cache": "Queries read more from S3 than planned, although the caches are full and no worker is missing: they "
        f"read more data than the plan assumes, or other data each time. Run {_plan(plan)} to compare.",
        "room": f"A cache volume is nearly full. Run {_plan(plan)} to see the sizes of cache and volume.",
    }
    return tuple(
        CompositeAlarm(name=f"{prefix}-call-{cause}", description=descriptions[cause], rule=str(rule))
        for cause, rule in rules.items()
    )


def _of_workers(published: str, aggregate: Aggregate) -> str:
    return insights(TRINO_METRICS[published], aggregate)


def _status(plan: TrinoPlan) -> str:
    return f"warmbase status {plan.environment}"


def _plan(plan: TrinoPlan) -> str:
    return f"warmbase plan {plan.environment} --cluster {plan.cluster}"


def _server_silent(plan: TrinoPlan) -> Alarm:
    return alarm_below(
        name="server-silent",
        watched=_of_workers("Answering", "SUM"),
        threshold=plan.workers.count,
        periods=SILENT_MINUTES,
        missing="breaching",
        description=f"Fewer than {plan.workers.count} workers have answered on their nodes for {SILENT_MINUTES} "
        "minutes. Trino or its node is down, or the node's metrics timer has stopped, and then no other alarm sees "
        f"that node. Run {_status(plan)} to see which nodes the cluster has.",
    )


def _of_hit_rate(plan: TrinoPlan) -> Iterator[Alarm]:
    yield alarm_above(
        name="hit-ratio-low",
        watched=_of_workers("RemoteOverLimit", "SUM"),
        threshold=MIN_REMOTE_BYTES,
        period_seconds=LOW_MINUTES * MINUTE,
        periods=1,
        description=f"For {LOW_MINUTES} minutes less than {plan.least_hit_rate:.3f} of all bytes that queries read "
        f"came from the caches; the plan expects {plan.hit_rate:.3f}. Run {_plan(plan)} to compare what queries read "
        "with the workload of the plan.",
    )
    filled_bytes = round(MIN_FILL_OF_PLAN * plan.warm_cache_bytes)
    yield alarm_below(
        name="cache-filling",
        watched=_of_workers("SpaceUsed", "MIN"),
        threshold=filled_bytes,
        description=f"A worker's cache holds less than {filled_bytes / GIB:,.0f} GiB, because the node was replaced or "
        f"queries have not read all data yet. This is no fault. Run {_plan(plan)} to see how many queries warm the "
        "caches.",
    )


def _disk_full(plan: TrinoPlan) -> Alarm:
    volume = plan.workers.volume("cache")
    planned = plan.cache.size_gib / volume.count / volume.size_gib
    return disk_full(
        _of_workers("DiskUsed", "MAX"), planned, f"Run {_plan(plan)} to see the sizes of cache and volume."
    )
