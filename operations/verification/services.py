"""What EMR, EC2, CloudWatch and S3 say of a cluster, against what we take them to say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from configurations.metrics import METRICS, OF_AGENT, Source
from operations.caches import NAMESPACE
from operations.claims import claim_of
from operations.pinning import check_pinned
from operations.verification.question import Finding, Question, Seen
from sizing.problem import Drifted

__all__ = ["OF_SERVICES"]


def _launch_is_as_pinned(seen: Seen) -> Iterator[Finding]:
    row = "EMR describes a cluster's applications, volumes"
    expected = "EMR describes what the stacks launched"
    try:
        done = check_pinned(seen.aws, seen.launch.environment, seen.launch.plan.cluster)
    except Drifted as drifted:
        yield Question("launch", row, expected, "warmbase diff --against live").answered(
            "; ".join(drifted.differences[:3]), good=False
        )
        return
    yield Question("launch", row, expected, "nothing").answered(f"{done.confirmed} facts confirmed", good=True)


def _nodes_answer(seen: Seen) -> Iterator[Finding]:
    silent = [instance for instance, facts in seen.nodes.items() if facts is None]
    yield Question(
        "Systems Manager",
        "",
        f"{len(seen.nodes)} core nodes answer",
        "look whether the agent runs, and whether the subnet has a way to ssm and ssmmessages",
    ).answered(f"no answer of {', '.join(silent)}" if silent else "all answer", good=not silent and bool(seen.nodes))


def _volumes_are_encrypted(seen: Seen) -> Iterator[Finding]:
    if not seen.launch.environment.encrypt_local_disks or not seen.instances:
        return
    pages: Any = seen.aws.ec2.get_paginator("describe_volumes").paginate(
        Filters=[{"Name": "attachment.instance-id", "Values": seen.instances}]
    )
    volumes = [each for page in pages for each in page["Volumes"]]
    plain = [each["VolumeId"] for each in volumes if not each["Encrypted"]]
    yield Question(
        "encryption of volumes",
        "With `EnableEbsEncryption`, EBS itself encrypts the volumes",
        "every volume of a core node is encrypted",
        "launch a cluster anew: encryption is settled at launch",
    ).answered(f"{len(volumes)} volumes, {len(plain)} of them not", good=not plain and bool(volumes))


def _agent_publishes(seen: Seen) -> Iterator[Finding]:
    """Names and dimensions of what EMR's agent publishes."""
    dimensions: Any = [{"Name": "cluster.id", "Value": seen.cluster.id}]
    pages: Any = seen.aws.cloudwatch.get_paginator("list_metrics").paginate(Namespace="CWAgent", Dimensions=dimensions)
    found = [each for page in pages for each in page["Metrics"]]
    names = {each["MetricName"] for each in found}
    for daemon in sorted(OF_AGENT):
        cached = seen.launch.plan.mode.cached
        wanted = {each.cloudwatch for each in METRICS if each.source is daemon and (cached or not each.of_cache)}
        missing = sorted(wanted - names)
        row = {
            Source.REGION_SERVER: "JMX metrics are called",
            Source.SYSTEM: "`emr-system-metrics` with `cpu`, `mem` and `disk`",
            Source.MASTER: "`emr-metrics` may be set for an instance group",
        }[daemon]
        yield Question(
            f"metrics, {daemon}",
            row,
            ", ".join(sorted(wanted)),
            "correct the names in configurations/metrics.py by what list-metrics shows",
        ).answered(f"missing: {', '.join(missing)}" if missing else "all are there", good=not missing)
    keys = {tuple(sorted(dimension["Name"] for dimension in each["Dimensions"])) for each in found}
    expected = ("cluster.id", "instance.id", "node.type", "service.name")
    yield Question(
        "dimensions of JMX metrics",
        "JMX metrics are called",
        ", ".join(expected),
        "correct DIMENSIONS in dashboards/metric.py",
    ).answered("; ".join(", ".join(each) for each in sorted(keys)) or "nothing is published", good=expected in keys)


def _nodes_publish(seen: Seen) -> Iterator[Finding]:
    if not seen.launch.plan.mode.cached:
        return
    dimensions: Any = [{"Name": "ClusterId", "Value": seen.cluster.id}]
    pages: Any = seen.aws.cloudwatch.get_paginator("list_metrics").paginate(
        Namespace=NAMESPACE, MetricName="Fill", Dimensions=dimensions
    )
    count = sum(len(page["Metrics"]) for page in pages)
    yield Question(
        "figures of caches",
        "",
        f"{len(seen.nodes)} core nodes publish in namespace {NAMESPACE}",
        "journalctl -u warmbase-cache-metrics on a node that is missing",
    ).answered(f"{count} do", good=count >= len(seen.nodes) > 0)


def _emr_publishes(seen: Seen) -> Iterator[Finding]:
    dimensions: Any = [{"Name": "JobFlowId", "Value": seen.cluster.id}]
    pages: Any = seen.aws.cloudwatch.get_paginator("list_metrics").paginate(
        Namespace="AWS/ElasticMapReduce", MetricName="CoreNodesRunning", Dimensions=dimensions
    )
    count = sum(len(page["Metrics"]) for page in pages)
    yield Question(
        "EMR's own metrics",
        "`AWS/ElasticMapReduce` spells its dimension `JobFlowId`",
        "CoreNodesRunning by JobFlowId",
        "aws cloudwatch list-metrics --namespace AWS/ElasticMapReduce; correct dashboards/alarm.py",
    ).answered("there" if count else "not there", good=count > 0)


def _claim_is_ours(seen: Seen) -> Iterator[Finding]:
    environment = seen.launch.environment
    if not environment.mode.in_s3 or environment.clusters[seen.launch.plan.cluster].role != "active":
        return
    claim = claim_of(seen.aws, environment.root)
    holder = claim.cluster if claim else "nobody"
    yield Question("claim of the root", "", seen.cluster.id, "warmbase claim").answered(
        holder, good=holder == seen.cluster.id
    )


OF_SERVICES = (
    _launch_is_as_pinned,
    _nodes_answer,
    _volumes_are_encrypted,
    _agent_publishes,
    _nodes_publish,
    _emr_publishes,
    _claim_is_ours,
)
"""Every check, in the order of the report."""
