"""The composite alarms of one cluster, one for each kind of cause, so that one cause sends one notification.

A server that is down also lowers hit ratios and slows reads; only `call-servers` notifies then. A cache that is
warming is no fault for as long as the plan expects it to warm.
Source: CloudWatch User Guide, Create_Composite_Alarm.
"""

from __future__ import annotations

from collections.abc import Mapping

from dashboards.alarm import NEVER, AlarmRule, CompositeAlarm, any_of, in_alarm
from dashboards.alarms import alarms
from dashboards.expected import filling_advice
from environments.names import emr_cluster_name
from environments.root import Root
from sizing.modes.mode import CompositeName
from sizing.plan import Plan


def composite_alarms(plan: Plan, root: Root, *, replica: bool = False) -> tuple[CompositeAlarm, ...]:
    """Return the notifications of the plan's storage mode, without those whose alarms the cluster does not have."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    rules = _rules(name, frozenset(alarm.name for alarm in alarms(plan, root, replica=replica)))
    descriptions = _descriptions(plan)
    return tuple(
        CompositeAlarm(name=f"{name}-call-{cause}", description=descriptions[cause], rule=str(rules[cause]))
        for cause in plan.mode.composite_alarms
        if rules[cause] != NEVER
    )


def _rules(prefix: str, existing: frozenset[str]) -> Mapping[CompositeName, AlarmRule]:
    """Return when each cause notifies; an alarm that the cluster does not have is never in ALARM."""

    def any_existing(*ends: str) -> AlarmRule:
        names = (f"{prefix}-{end}" for end in ends)
        return any_of(*(name for name in names if name in existing))

    filling, young = f"{prefix}-cache-filling", f"{prefix}-server-young"
    warming = in_alarm(filling) & in_alarm(young) if {filling, young} <= existing else NEVER
    claim = any_existing("claim-foreign", "claim-unconfirmed")
    servers = any_existing("core-node-missing", "server-silent", "meta-unassigned") | claim
    cold = any_existing("hit-ratio-low", "server-cold", "s3-gets-above-plan")
    cache = (any_existing("cache-lost") | (cold & ~warming)) & ~servers
    slow = (any_existing("gets-slow", "s3-refuses") & ~warming) | any_existing("long-pause")
    return {
        "servers": servers,
        "cache": cache,
        "writes-to-cache": (any_existing("insertions-fail") & ~warming) | any_existing("index-behind"),
        "room": any_existing("disk-full", "cache-evicts"),
        "reads": slow & ~servers & ~cache,
    }


def _descriptions(plan: Plan) -> Mapping[CompositeName, str]:
    environment, status = plan.environment, f"warmbase status {plan.environment}"
    filling = f" {filling_advice(plan)}" if plan.mode.has_bucket_cache else ""
    return {
        "servers": "RegionServers or core nodes are missing, no server serves hbase:meta, or another cluster may write "
        f"to the HBase root. Run {status} to see which, and warmbase claim {environment} to see the claim.",
        "cache": "Reads that the cache should answer go to S3, although no cache is warming up and no server is "
        f"missing. Run {status} to see fill and hit ratio of each server. If all are full, run warmbase heal "
        f"{environment} to bring regions back to the caches that hold their blocks.{filling}",
        "writes-to-cache": "Blocks do not reach the cache, or a cache does not reach its index file. Run warmbase "
        f"verify {environment} to check the nodes.",
        "room": f"The cache or its volume is too small. Run warmbase plan {environment} to see the size it needs.",
        "reads": "Reads are slow, although all servers answer and the caches are warm. Run "
        f"{status} to see what reads wait for.",
    }
