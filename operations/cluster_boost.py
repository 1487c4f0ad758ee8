"""The cache volumes of a running EMR cluster, and the one-time schedules that restore them after a boost.

EMR lists the volumes of each node; those of the planned cache's size are cache volumes, as in the bootstrap
action. The schedules are in the group of the cluster's stack, so they are gone with it.
Source: EventBridge Scheduler User Guide, managing-targets-universal; API Reference, CreateSchedule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from configurations.launch import Launch
from environments.names import BOOST_ROLE, BOOST_TAG, boost_group, cluster_stack
from facts.prices import price_table
from operations.aws import Aws
from operations.aws_errors import AGAIN, error_code, translated
from operations.boost_state import ATTEMPTS_SECONDS, BoostState, CacheVolume, WayBack
from operations.description import DescribedCluster
from sizing.boost import extra_usd_per_hour
from sizing.gp3 import INCLUDED_IOPS, INCLUDED_MIB_S, Provision, gp3_volume
from sizing.problem import Refused

MODIFY_VOLUME: Final = "arn:aws:scheduler:::aws-sdk:ec2:modifyVolume"
RETRY: Final = {"MaximumEventAgeInSeconds": 24 * 3600, "MaximumRetryAttempts": 185}
"""The most that EventBridge Scheduler allows."""
AT: Final = "at(%Y-%m-%dT%H:%M:%S)"
NO_GROUP: Final = "ResourceNotFoundException"


class ClusterBoost(Struct, frozen=True, kw_only=True):
    """The boost of one running cluster whose cache volumes have this size and had this provision at its launch.

    `usd_per_hour` is the price of a provision above that of the launch, for one volume.
    """

    aws: Aws
    group: str
    stack: str
    cluster_id: str
    size_gib: int
    launch_provision: Provision
    usd_per_hour: Callable[[Provision], float]

    def state(self) -> BoostState:
        """Return the volumes and the schedules as they are now. Raises OperationFailed."""
        with translated("could not read the cache volumes", AGAIN):
            return BoostState(volumes=dict(sorted(self._volumes())), ways_back=self._ways_back())

    def _volumes(self) -> Iterator[tuple[str, CacheVolume]]:
        aws = self.aws
        pages: Any = aws.emr.get_paginator("list_instances").paginate(
            ClusterId=self.cluster_id, InstanceGroupTypes=["CORE"], InstanceStates=["RUNNING"]
        )
        names = [
            volume["VolumeId"] for page in pages for node in page["Instances"] for volume in node.get("EbsVolumes", ())
        ]
        if not names:
            return
        described: Any = [
            volume
            for page in aws.ec2.get_paginator("describe_volumes").paginate(VolumeIds=names)
            for volume in page["Volumes"]
            if volume["Size"] == self.size_gib and volume["VolumeType"] == "gp3"
        ]
        modifications = self._modifications([volume["VolumeId"] for volume in described])
        for volume in described:
            latest = modifications.get(volume["VolumeId"], {})
            provision = (volume.get("Throughput") or INCLUDED_MIB_S, volume.get("Iops") or INCLUDED_IOPS)
            yield (
                volume["VolumeId"],
                CacheVolume(
                    provision=provision,
                    launch_provision=self.launch_provision,
                    usd_per_hour=self.usd_per_hour(provision),
                    modified_at=latest["StartTime"].timestamp() if latest else None,
                    modification=latest.get("ModificationState"),
                ),
            )

    def _modifications(self, names: list[str]) -> dict[str, Any]:
        """Return the latest modification of each volume that has one; EC2 refuses ids of volumes without."""
        if not names:
            return {}
        filters: Any = [{"Name": "volume-id", "Values": names}]
        pages: Any = self.aws.ec2.get_paginator("describe_volumes_modifications").paginate(Filters=filters)
        return {entry["VolumeId"]: entry for page in pages for entry in page["VolumesModifications"]}

    def _ways_back(self) -> dict[str, WayBack]:
        aws, ways = self.aws, dict[str, WayBack]()
        try:
            pages: Any = aws.scheduler.get_paginator("list_schedules").paginate(GroupName=self.group)
            names = [schedule["Name"] for page in pages for schedule in page["Schedules"]]
        except ClientError as error:
            if error_code(error) != NO_GROUP:
                raise
            return {}
        for name in names:
            volume, way = _parsed(aws.scheduler.get_schedule(GroupName=self.group, Name=name))
            known = ways.get(volume, way)
            remaining = known.remaining + 1 if volume in ways else 1
            ways[volume] = replace(min(way, known, key=lambda one: one.at), remaining=remaining)
        return ways

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        """Write the schedules of a volume, after the tag that lets their role modify it. Raises OperationFailed."""
        aws, (throughput_mib_s, iops) = self.aws, provision
        with translated(f"could not schedule the end of the boost of {volume}", AGAIN):
            aws.ec2.create_tags(Resources=[volume], Tags=[{"Key": BOOST_TAG, "Value": self.group}])
            call = {"VolumeId": volume, "Throughput": throughput_mib_s, "Iops": iops}
            role = self._role()
            for name, at in zip(_names(volume, len(times)), times, strict=True):
                request: Any = {
                    "Name": name,
                    "GroupName": self.group,
                    "ScheduleExpression": datetime.fromtimestamp(at, UTC).strftime(AT),
                    "FlexibleTimeWindow": {"Mode": "OFF"},
                    "ActionAfterCompletion": "DELETE",
                    "Target": {"Arn": MODIFY_VOLUME, "RoleArn": role, "Input": json.dumps(call), "RetryPolicy": RETRY},
                }
                try:
                    aws.scheduler.update_schedule(**request)
                except ClientError as error:
                    if error_code(error) != NO_GROUP:
                        raise
                    aws.scheduler.create_schedule(**request)

    def unschedule(self, volume: str) -> None:
        """Delete the schedules of a volume. Raises OperationFailed."""
        aws = self.aws
        with translated(f"could not delete the schedules of {volume}", AGAIN):
            for name in _names(volume, len(ATTEMPTS_SECONDS)):
                try:
                    aws.scheduler.delete_schedule(GroupName=self.group, Name=name)
                except ClientError as error:
                    if error_code(error) != NO_GROUP:
                        raise

    def modify(self, volume: str, provision: Provision) -> None:
        """Give a volume this provision now. Raises OperationFailed."""
        throughput_mib_s, iops = provision
        with translated(f"could not modify {volume}", AGAIN):
            self.aws.ec2.modify_volume(VolumeId=volume, Throughput=throughput_mib_s, Iops=iops)

    def refuse_undeployed(self) -> None:
        """Raise Refused for a cluster that an earlier version deployed, without the role of the schedules."""
        with translated("could not read the stack of the cluster", AGAIN):
            if self._role():
                return
        raise Refused.of(
            where=f"stack {self.stack}",
            what="has no role for the schedules that restore raised volumes",
            why="an earlier version of warmbase deployed it, and without them nothing is raised",
            fix="deploy the environment again (warmbase deploy), which does not touch the running cluster",
        )

    def _role(self) -> str:
        """Return the ARN of the role of the schedules; empty where the stack has none."""
        aws = self.aws
        for resource in aws.cloudformation.describe_stack_resources(StackName=self.stack)["StackResources"]:
            if resource["LogicalResourceId"] == BOOST_ROLE:
                return f"arn:{aws.partition}:iam::{aws.account}:role/{resource['PhysicalResourceId']}"
        return ""


def read_boost(aws: Aws, launch: Launch, cluster: DescribedCluster) -> BoostState | None:
    """Return the boost of a cluster now; None where no volume of it could be raised. Raises OperationFailed."""
    try:
        return cluster_boost(aws, launch, cluster).state()
    except Refused:
        return None


def cluster_boost(aws: Aws, launch: Launch, cluster: DescribedCluster) -> ClusterBoost:
    """Return the boost of a running cluster. Raises Refused where no EBS volume of its nodes holds a cache."""
    plan = launch.plan
    sizes = {volume.size_gib for volume in plan.core.volumes if volume.purpose == "cache" and volume.type == "gp3"}
    at_launch = [volume for volume in cluster.groups["core"].group.volumes if volume.size_gib in sizes]
    if not at_launch:
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="has no gp3 volume of the planned cache's size",
            why="only gp3 volumes can be raised, and their size says which of them hold the caches",
            fix="to see the volumes, use warmbase status --output json",
        )
    [size], first = sizes, at_launch[0]
    provision = (first.throughput_mib_s or INCLUDED_MIB_S, first.iops or INCLUDED_IOPS)
    volume = gp3_volume("cache", size, provision)
    prices = price_table(launch.environment.region).discounted(launch.environment.discount)
    return ClusterBoost(
        aws=aws,
        group=boost_group(plan.environment, plan.cluster),
        stack=cluster_stack(plan.environment, plan.cluster),
        cluster_id=cluster.id,
        size_gib=size,
        launch_provision=provision,
        usd_per_hour=lambda raised: extra_usd_per_hour(volume, raised, prices),
    )


def _names(volume: str, count: int) -> Iterator[str]:
    """Yield the names of the schedules of a volume."""
    return (f"{volume}-{number}" for number in range(1, count + 1))


def _parsed(schedule: Any) -> tuple[str, WayBack]:  # noqa: ANN401 - the API's own form
    call = json.loads(schedule["Target"]["Input"])
    at = datetime.strptime(schedule["ScheduleExpression"], AT).replace(tzinfo=UTC)
    attempt = int(schedule["Name"].rpartition("-")[2])
    return call["VolumeId"], WayBack(at=at.timestamp(), provision=(call["Throughput"], call["Iops"]), attempt=attempt)
