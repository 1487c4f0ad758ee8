"""The facts that a proposal was made from, and the refusal to carry it out once they have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from emr.classification import Classification, flattened
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from environments.names import cluster_stack, emr_cluster_name, monitoring_stack, network_stack
from operations.aws import Aws
from operations.aws_errors import translated
from operations.claims import NOBODY, claim_of
from operations.deployed_stack import status_of
from operations.description import DescribedGroup
from operations.environment_cluster import environment_cluster
from operations.plan_drift import RunningCluster
from sizing.problem import Refused

Basis: TypeAlias = Mapping[str, str]
"""Each fact by its name, both in words for people; as JSON, a basis can be saved beside a proposal."""


def refuse_moved(before: Basis, now: Basis) -> None:
    """Refuse to carry out a proposal that was made from other facts. Raises Refused with each fact that changed."""
    names = [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
    if names:
        raise Refused.of(
            where="the proposal",
            what="is out of date, so nothing was changed",
            why="\n".join(f"{name}: was {before.get(name, 'absent')}, is {now.get(name, 'absent')}" for name in names),
            fix="run the same command again, and review the new proposal",
        )


def digest(document: object) -> str:
    """Return a short digest of a JSON document."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()[:12]


def group_basis(running: RunningCluster) -> Basis:
    """Return the facts that a tuning is made from: the cluster, and each group's nodes and settings."""
    cluster = running.cluster
    return {f"{role} group of {cluster.id}": _group_text(group) for role, group in sorted(cluster.groups.items())}


def cluster_basis(aws: Aws, environment: Environment, cluster_name: str) -> dict[str, str]:
    """Return the facts that a teardown is proposed from. Raises as `environment_cluster` does."""
    cluster = environment_cluster(aws, environment, cluster_name)
    # RUNNING and WAITING alternate with every step.
    state = None if cluster is None else "running" if cluster.is_running else cluster.state_text
    stacks = (cluster_stack(environment.name, cluster_name), monitoring_stack(environment.name, cluster_name))
    facts = {f"cluster {cluster_name}": f"{cluster.id}, {state}" if cluster else "not launched"}
    return facts | _stack_basis(aws, stacks)


def environment_basis(aws: Aws, environment: Environment) -> dict[str, str]:
    """Return the facts that a destruction is proposed from. Raises as `environment_cluster` does."""
    facts: dict[str, str] = {}
    for cluster_name in environment.cluster_names:
        facts |= cluster_basis(aws, environment, cluster_name)
    return facts | _stack_basis(aws, (network_stack(environment.name),))


def trace_basis(aws: Aws, environment: Environment, unrecorded: Iterable[str]) -> dict[str, str]:
    """Return the facts that a cluster leaves behind when it is torn down, which every launch is proposed from.

    The stacks and records are afterwards as before its launch. Raises botocore's errors, or OperationFailed.
    """
    facts: dict[str, str] = {}
    if environment.mode.keeps_data_in_s3:
        claim = claim_of(aws, environment.root)
        holder = "none" if claim is None else "released" if claim.cluster == NOBODY else claim.cluster
        facts["claim of the root"] = f"{holder}, since {claim.claimed_at}" if claim else holder
    names = {emr_cluster_name(environment.name, cluster_name) for cluster_name in unrecorded}
    return facts | {f"last cluster named {name}": _last_cluster(aws, name) for name in sorted(names)}


def record_basis(records: Mapping[str, LaunchRecord]) -> dict[str, str]:
    """Return the facts that launch records state."""
    return {
        f"launch record of {cluster_name}": f"{record.cluster_id}, {digest(record.document())}"
        for cluster_name, record in records.items()
    }


def same_settings(one: Iterable[Classification], other: Iterable[Classification]) -> bool:
    """Return whether two lists of classifications set the same properties to the same values."""
    return sorted(flattened(one)) == sorted(flattened(other))


def _last_cluster(aws: Aws, name: str) -> str:
    """Return the id of the cluster of this name that was launched last, as far as EMR lists it."""
    pages = aws.emr.get_paginator("list_clusters").paginate()
    launches = [
        (cluster["Status"]["Timeline"]["CreationDateTime"], cluster["Id"])
        for page in pages
        for cluster in page["Clusters"]
        if cluster["Name"] == name
    ]
    return max(launches)[1] if launches else "none"


def _stack_basis(aws: Aws, stacks: Iterable[str]) -> dict[str, str]:
    with translated("could not read the deployed stacks", "run the same command again"):
        return {f"stack {stack}": status_of(aws, stack) or "absent" for stack in stacks}


def _group_text(group: DescribedGroup) -> str:
    settings = digest([sorted(flattened(settings)) for settings in (group.settings, group.requested)])
    return f"{group.count} nodes, configuration version {group.version}, settings {settings}"
