"""The names of a cluster's alarms, by which they are told from those of an environment with a longer name."""

from __future__ import annotations

from typing import Final, get_args

from environments.names import emr_cluster_name
from sizing.modes.mode import CompositeName

ENDS: Final = frozenset(
    {
        "cache-evicts",
        "cache-filling",
        "cache-lost",
        "claim-foreign",
        "claim-unconfirmed",
        "core-node-missing",
        "disk-full",
        "gets-slow",
        "hit-ratio-low",
        "index-behind",
        "insertions-fail",
        "long-pause",
        "meta-unassigned",
        "s3-gets-above-plan",
        "s3-refuses",
        "server-cold",
        "server-silent",
        "server-young",
        *(f"call-{cause}" for cause in get_args(CompositeName)),
    }
)
"""The end of every alarm's name, in any mode."""


def is_alarm_of(name: str, environment: str, cluster_name: str) -> bool:
    """Return whether an alarm belongs to the cluster.

    The name of an environment may begin with another's: `warmbase-prod-blue-green-disk-full` is an alarm of cluster
    green in environment prod-blue, and not one of cluster blue in prod.
    """
    start = f"{emr_cluster_name(environment, cluster_name)}-"
    end = name.removeprefix(start)
    return name.startswith(start) and (end in ENDS or not end.endswith(tuple(f"-{known}" for known in ENDS)))
