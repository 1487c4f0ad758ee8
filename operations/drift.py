"""What runs, set against what is rendered today: the cluster as changes are looked for, and all that is around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from configurations.impact.launched import described_subject, settings_of
from configurations.launch import Launch
from configurations.lint.subject import NodeGroup, NodeVolume, Subject
from operations.aws import Aws
from operations.comparison import Comparison, around
from operations.description import DescribedCluster, DescribedGroup, described_cluster
from sizing.problem import OperationFailed

__all__ = ["Live", "live"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A cluster that runs, and how far dashboards, alarms and the root bucket are what is rendered today."""

    subject: Subject
    around: tuple[Comparison, ...]


def live(aws: Aws, launch: Launch) -> Live:
    """Asks EMR, CloudWatch and S3. Raises OperationFailed where they do not answer, or nothing runs."""
    plan = launch.plan
    try:
        cluster = described_cluster(aws, plan.environment, plan.cluster)
        return Live(subject=_subject(cluster), around=around(aws, launch, cluster))
    except (ClientError, BotoCoreError) as error:
        raise OperationFailed(
            f"what runs of {plan.environment} {plan.cluster} could not be read\n  {error}\n"
            "  fix: deploy first; or use credentials of the account in which it was deployed"
        ) from error


def _subject(cluster: DescribedCluster) -> Subject:
    return described_subject(
        source=f"{cluster.id}, {cluster.state}",
        release=cluster.release,
        applications=(),
        settings=cluster.settings,
        groups=tuple(_group(role, group) for role, group in cluster.groups.items()),
    )


def _group(role: str, group: DescribedGroup) -> NodeGroup:
    return NodeGroup(
        role=role,
        instance_type=group.instance_type,
        count=group.count,
        volumes=tuple(_volumes(group)),
        settings=settings_of(group.settings),
    )


def _volumes(group: DescribedGroup) -> Iterator[NodeVolume]:
    """EMR lists each by itself; equal ones are counted, as a plan does."""
    for each in dict.fromkeys(group.volumes):
        yield NodeVolume(
            type=each.type,
            size_gib=each.size_gib,
            iops=each.iops,
            throughput_mib_s=each.throughput_mib_s,
            count=group.volumes.count(each),
        )
