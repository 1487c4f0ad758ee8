"""How full each cache of a cluster is: the core nodes that EMR lists, with the minutes that they published."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from configurations.launch import Launch
from operations.aws import Aws
from operations.aws_errors import AGAIN, translated
from operations.caches import PERIOD_SECONDS, cache_minutes
from operations.polling import turns
from sizing.problem import Infeasible, Refused
from sizing.warming import Gate, Progress, progress, target_of

Servers = tuple[Progress, ...]
HOPELESS: Final = ("turning over", "not filling")


def refuse_uncached(launch: Launch) -> None:
    """Raise Refused for a mode in which no RegionServer has a cache on disk."""
    plan = launch.plan
    if not plan.mode.has_bucket_cache:
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="has no cache on disk that could get warm",
            why=f"in mode {plan.mode} its data is read without one",
            fix="to see the cluster, use warmbase status",
        )


def read_progress(aws: Aws, launch: Launch, cluster_id: str, gate: Gate) -> Servers:
    """Return the progress of each running core node, by its instance. Raises OperationFailed."""
    target = target_of(launch.plan)
    with translated("could not read the figures of the caches", AGAIN):
        minutes = cache_minutes(aws, cluster_id)
        return tuple(
            progress(instance, minutes.get(instance, ()), target, gate)
            for instance in sorted(core_instances(aws, cluster_id))
        )


def core_instances(aws: Aws, cluster_id: str) -> list[str]:
    """Return the EC2 ids of the core nodes that run. Raises botocore's errors."""
    pages: Any = aws.emr.get_paginator("list_instances").paginate(
        ClusterId=cluster_id, InstanceGroupTypes=["CORE"], InstanceStates=["RUNNING"]
    )
    return [instance["Ec2InstanceId"] for page in pages for instance in page["Instances"]]


def wait_until_warm(
    read: Callable[[], Servers],
    seconds: float,
    watch: Callable[[Servers], None],
    period_seconds: float = PERIOD_SECONDS,
) -> bool:
    """Read once a period until every cache is warm, and return True; return False when the time is over.

    `watch` gets each reading. Raises Infeasible where a cache will not get warmer.
    """
    for _ in turns(seconds, period_seconds, period_seconds):
        servers = read()
        watch(servers)
        if servers and all(server.verdict == "warm" for server in servers):
            return True
        if hopeless := [server for server in servers if server.verdict in HOPELESS]:
            raise Infeasible.of(
                where=", ".join(server.instance for server in hopeless),
                what="will not get warmer",
                why="\n".join(dict.fromkeys(server.reason for server in hopeless)),
                fix=FIXES[hopeless[0].verdict],
            )
    return False


FIXES: Final = {
    "turning over": "the data that is read exceeds the caches: add core nodes or larger caches (warmbase plan), or"
    " accept a lower --hit-ratio",
    "not filling": "look whether prefetch is on and whether all regions are open; if the data is smaller than the plan"
    " expects, wait for a --hit-ratio instead",
}


def clock() -> str:
    """Return the time of day in UTC, for lines of progress."""
    return time.strftime("%H:%M", time.gmtime())
