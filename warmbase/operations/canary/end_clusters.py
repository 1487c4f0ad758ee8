"""The backstop of a canary, which runs in AWS Lambda: it ends each cluster whose name begins with the event's prefix.

A schedule invokes it once the canary should have ended. It does not depend on the machine that started the canary, and
the ids of the clusters need not be known when the schedule is written. Its role allows it to end only clusters with the
canary's tag.
"""

from typing import Any

import boto3
from botocore.exceptions import ClientError

UNENDED: Any = ["STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING"]


def has_name(name: str, prefix: str) -> bool:
    """Return whether a cluster has the name, or any of an environment's names if the prefix ends with a hyphen.

    The name of an environment may begin with another's and a hyphen, but that of a cluster has only letters.
    """
    rest = name.removeprefix(prefix)
    return name.startswith(prefix) and (rest.isalpha() if prefix.endswith("-") else not rest)


def handler(event: dict[str, str], _: object) -> list[str]:
    """Lift the protection of each cluster and end it. Raises RuntimeError if one remains: Lambda then tries again."""
    emr = boto3.client("emr")
    pages = emr.get_paginator("list_clusters").paginate(ClusterStates=UNENDED)
    clusters = [
        cluster["Id"] for page in pages for cluster in page["Clusters"] if has_name(cluster["Name"], event["prefix"])
    ]
    failures = []
    for cluster in clusters:
        try:
            emr.set_termination_protection(JobFlowIds=[cluster], TerminationProtected=False)
            emr.terminate_job_flows(JobFlowIds=[cluster])
        except ClientError as error:
            failures.append(f"{cluster}: {error}")
    if failures:
        raise RuntimeError("; ".join(failures))
    return clusters
