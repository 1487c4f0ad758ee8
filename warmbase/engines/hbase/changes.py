"""The launches of HBase's clusters, and the changes between a cluster and today's plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warmbase.changes.change import Change, changes
from warmbase.changes.cost import ImpactCost, impact_cost
from warmbase.changes.planned_cluster import (
    PlannedCluster,
    deployable_cluster,
    deployable_clusters,
    plan_at_launch,
    planned_cluster,
    usd_with_nodes,
)
from warmbase.changes.recorded_launch import security_of_file
from warmbase.configurations.bootstrap import actions
from warmbase.configurations.launch import Launch, launch_of
from warmbase.configurations.launch import planned_spec as spec
from warmbase.configurations.properties.property import Applied
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records
from warmbase.facts.prices import price_table
from warmbase.facts.releases import releases
from warmbase.ground.units import format_duration, format_size, format_usd
from warmbase.sizing.plan import Plan

__all__ = [
    "actions",
    "current_usd",
    "deployable_cluster",
    "deployable_clusters",
    "differences",
    "impact",
    "impact_rows",
    "launch",
    "launch_of_file",
    "plan_at_launch",
    "reason",
    "restarts",
    "spec",
]


def launch(environment: Environment, cluster: str, record: LaunchRecord | None = None) -> Launch:
    """Return the launch of today's plan; that of a recorded cluster keeps its release and its nodes."""
    return planned_cluster(environment, cluster, record).launch


def launch_of_file(environment: Environment, cluster: str) -> Launch:
    """Return the launch that the file asks for; what was launched decides only whether coprocessors are loaded."""
    security = security_of_file(environment, launch_records(environment).get(cluster))
    return launch_of(environment, environment.clusters[cluster], security)


def current_usd(cluster: PlannedCluster, count: int) -> float:
    """Return the monthly cost of a recorded cluster with so many core nodes."""
    return usd_with_nodes(cluster.launch, count)


def differences(
    before: ClusterSpec, launch: Launch, roles: Sequence[str], further: Sequence[Change]
) -> tuple[Change, ...]:
    """Return the differences from today's plan for nodes of those roles, and `further` changes outside settings."""
    return changes(before, spec(launch), roles, releases()[launch.plan.release], further)


def impact(pending: Sequence[Change], before: ClusterSpec, launch: Launch) -> ImpactCost:
    """Return the cost of applying all of these changes."""
    return impact_cost(pending, before, launch.plan, price_table(launch.environment.region))


def impact_rows(cost: ImpactCost, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the cost that `impact` returns in words: time, cache and dollars."""
    if cost.applied is Applied.NEW_CLUSTER:
        warm_up = f"{format_duration(cost.warm_up_seconds)} until the new cluster is warm (estimate)"
        yield "time", f"{warm_up}: tear down the old cluster, then launch the new one"
        yield "never", "run two active clusters on one root: that corrupts the data"
    elif cost.restart_seconds:
        one_server = format_duration(cost.restart_seconds / cost.region_servers)
        servers = f"{cost.region_servers} RegionServers restart one after the other, {one_server} each"
        yield "time", f"{format_duration(cost.restart_seconds)}: {servers} (estimate)"
    else:
        yield "time", "no RegionServer restarts"
    size = "all of it" if cost.cache_lost_bytes is None else format_size(cost.cache_lost_bytes)
    if cost.cache_lost_bytes == 0:
        yield "cache", "kept"
    elif not cost.warm_up_seconds:
        gone = "old cluster" if cost.applied is Applied.NEW_CLUSTER else "removed nodes"
        yield "cache", f"{size} lost with the {gone}"
    else:
        cache = plan.bucket_cache
        planned = format_size(cache.size_bytes * plan.core.count) if cache else ""
        filled = format_duration(cost.warm_up_seconds)
        yield "cache", f"{size} lost; filling the planned {planned} again takes {filled} (estimate)"
    dollars = [
        f"{format_usd(cost.get_usd)} for S3 GETs" if cost.get_usd else "",
        f"{format_usd(cost.node_usd)} for two sets of nodes during the change" if cost.node_usd else "",
    ]
    yield "dollars", ", ".join(filter(None, dollars)) or "nothing"


def restarts(classification: str) -> str:  # noqa: ARG001 - as for any engine
    """Return nothing: the daemons of HBase's classifications are in `changes.change`."""
    return ""


def reason(classification: str, key: str) -> str:  # noqa: ARG001 - as for any engine
    """Return nothing: HBase's properties are in `configurations.properties`."""
    return ""
