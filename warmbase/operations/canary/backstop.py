"""The backstop of a canary, and the price of a canary, which the backstop limits.

The backstop is a set of schedules that end the clusters of the canary. They are written, and read back, before the
first node is launched. They invoke a function that finds the clusters by name and tag, so they need no id and depend on
no laptop. A schedule in the future is never moved while a cluster runs, so a canary that was interrupted does not live
longer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.emr.cluster_state import ENDED
from warmbase.environments.environment import Environment
from warmbase.environments.names import BACKSTOP_ROLE, CANARY_TAG, backstop_stack, emr_cluster_name
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import HOURS_PER_MONTH
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, suppress_codes, translated
from warmbase.operations.aws.progress import Say
from warmbase.operations.canary.end_clusters import has_name
from warmbase.operations.canary.run import FIRST, LAUNCH, REFUSAL, SECOND, CanaryRun
from warmbase.operations.cluster.boost import AT, NO_GROUP, RETRY, moment
from warmbase.operations.cluster.stack import state_of, wait_for_end
from warmbase.sizing.plan import Plan

MINUTES: Final = 90
SECOND_MINUTES: Final = 25
"""A second cluster, which must refuse to start, needs less time, and costs less if nobody comes back."""
SOON_MINUTES: Final = 10  # judgement: for a cluster that runs although its schedules have fired
ATTEMPTS: Final = 2
"""The second schedule fires a minute later, for a call that EMR throttled."""


class Backstop(Struct, frozen=True, kw_only=True):
    """The backstop of a canary's clusters: of all of them, or of the one with the given name."""

    aws: Aws
    environment: str
    cluster: str = ""

    @property
    def prefix(self) -> str:
        """Return the name of the cluster, or how the names of all clusters begin."""
        return emr_cluster_name(self.environment, self.cluster)

    def arm(self, minutes: float) -> str:
        """Make sure that schedules end the clusters, and return in words when. Raises OperationFailed otherwise.

        Call it before a cluster is launched. While one runs, schedules that are ahead stay as they are.
        """
        with translated("could not schedule the end of the clusters", AGAIN):
            at, runs = self.fires_at(), bool(self.running())
            if at is None or not runs:
                self._write(self.aws.now().timestamp() + 60 * (SOON_MINUTES if runs else minutes))
            at = self.fires_at()
        if at is None or at <= self.aws.now().timestamp():
            raise OperationFailed.of(
                where=f"schedule group {self._group}",
                what="has no schedule that would end the clusters",
                why="EventBridge Scheduler does not list what was written; without it no node is launched",
                fix=AGAIN,
            )
        return f"whatever happens, the clusters end at {moment(at)}"

    def fires_at(self) -> float | None:
        """Return when the next schedule fires, in seconds since 1970; None where none is ahead."""
        times = []
        for name in self._names:
            with suppress_codes({NO_GROUP}):
                schedule = self.aws.scheduler.get_schedule(GroupName=self._group, Name=name)
                at = datetime.strptime(schedule["ScheduleExpression"], AT).replace(tzinfo=UTC).timestamp()
                if schedule["State"] == "ENABLED" and at > self.aws.now().timestamp():
                    times.append(at)
        return min(times, default=None)

    def moment(self) -> str:
        """Return in words when the next schedule fires."""
        with translated("could not read the schedules of the backstop", AGAIN):
            at = self.fires_at()
        return "an unknown time: no schedule is ahead" if at is None else moment(at)

    def running(self) -> list[str]:
        """Return the ids of the clusters that the backstop would end: those of its names with the canary's tag."""
        candidates = [
            cluster["Id"]
            for page in self.aws.emr.get_paginator("list_clusters").paginate()
            for cluster in page["Clusters"]
            if has_name(cluster["Name"], self.prefix) and cluster["Status"]["State"] not in ENDED
        ]
        tag = {"Key": CANARY_TAG, "Value": self.environment}
        return [
            identity
            for identity in candidates
            if tag in self.aws.emr.describe_cluster(ClusterId=identity)["Cluster"].get("Tags", [])
        ]

    def end(self, say: Say) -> str:
        """End the clusters now, as the schedules would, and wait for their end. Raises OperationFailed."""
        with translated("could not end the clusters", AGAIN):
            clusters = self.running()
            for cluster in clusters:
                self.aws.emr.set_termination_protection(JobFlowIds=[cluster], TerminationProtected=False)
                self.aws.emr.terminate_job_flows(JobFlowIds=[cluster])

        def read(cluster: str) -> tuple[str, bool]:
            state = state_of(self.aws, cluster)
            return state or "unknown to EMR", state in ENDED

        for cluster in clusters:
            wait_for_end(cluster, partial(read, cluster), say)
        return f"{', '.join(clusters) or 'no cluster'} ended"

    def disarm(self) -> None:
        """Delete the schedules."""
        with translated("could not delete the schedules of the backstop", AGAIN):
            for name in self._names:
                with suppress_codes({NO_GROUP}):
                    self.aws.scheduler.delete_schedule(GroupName=self._group, Name=name)

    def _write(self, at: float) -> None:
        stack: Any = self.aws.cloudformation.describe_stack_resources(StackName=self._group)["StackResources"]
        ids = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in stack}
        partition, account, region = self.aws.partition, self.aws.account, self.aws.region
        for attempt, name in enumerate(self._names):
            request = {
                "Name": name,
                "GroupName": self._group,
                "ScheduleExpression": datetime.fromtimestamp(at + 60 * attempt, UTC).strftime(AT),
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "State": "ENABLED",
                "ActionAfterCompletion": "DELETE",
                "Target": {
                    "Arn": f"arn:{partition}:lambda:{region}:{account}:function:{self._group}",
                    "RoleArn": f"arn:{partition}:iam::{account}:role/{ids[BACKSTOP_ROLE]}",
                    "Input": json.dumps({"prefix": self.prefix}),
                    "RetryPolicy": RETRY,
                },
            }
            is_new = True
            with suppress_codes({NO_GROUP}):
                self.aws.scheduler.update_schedule(**request)
                is_new = False
            if is_new:
                self.aws.scheduler.create_schedule(**request)

    @property
    def _group(self) -> str:
        return backstop_stack(self.environment)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"{self.cluster or 'all'}-{attempt}" for attempt in range(1, ATTEMPTS + 1))


# judgement: EMR ends the nodes of a cluster within minutes of the request.
ENDING_HOURS: Final = 0.1
LIKELY_HOURS: Final = 1.0
SECOND_LIKELY_HOURS: Final = (
    0.25  # judgement: a cluster whose first bootstrap action fails ends in a quarter of an hour
)
OF_S3: Final = "S3 "
SERVICES: Final = ("CloudWatch", "KMS", "interface endpoints")


class CanaryPrice(Struct, frozen=True, kw_only=True):
    """The nodes of each cluster, and the price of the stages that were asked for, likely and at most."""

    nodes: tuple[int, ...]
    usd: float
    most_usd: float
    idle_usd_per_hour: float
    """The price of what remains once the backstop has ended the clusters, until the last stage removes it."""
    usd_per_hour: Mapping[str, float]
    """The price of the nodes of each cluster."""


def canary_price(environment: Environment, run: CanaryRun, stages: tuple[int, ...]) -> CanaryPrice:
    """Return the price of these stages of the canary of an environment.

    S3 is left out: the canary stores a few megabytes. Endpoints bill each hour that has begun.
    """
    with TemporaryDirectory(prefix="warmbase-canary-") as directory:
        draft = CanaryRun(directory=Path(directory), name=run.name)
        draft.begin(environment)
        first = deployable_cluster(read_environment(str(draft.file)), FIRST).launch.plan
        second = deployable_cluster(read_environment(str(draft.second_file)), SECOND).launch.plan
    hourly = {FIRST: _usd_per_hour(first), SECOND: _usd_per_hour(second)}
    nodes, usd, most = list[int](), 0.0, 0.0
    services = _usd_per_hour(first, services=True)
    if LAUNCH in stages:
        nodes.append(first.primary.count + first.core.count)
        usd += (hourly[FIRST] + services) * LIKELY_HOURS
        most += hourly[FIRST] * (MINUTES / 60 + ENDING_HOURS) + services * 2
    if REFUSAL in stages:
        nodes.append(second.primary.count + second.core.count)
        usd += hourly[SECOND] * SECOND_LIKELY_HOURS
        most += hourly[SECOND] * (SECOND_MINUTES / 60 + ENDING_HOURS)
    return CanaryPrice(nodes=tuple(nodes), usd=usd, most_usd=most, idle_usd_per_hour=services, usd_per_hour=hourly)


def _usd_per_hour(plan: Plan, *, services: bool = False) -> float:
    """Return what the nodes of a plan cost with their volumes, or the services around them, without S3."""
    lines = [line for line in plan.cost.lines if not line.item.startswith(OF_S3)]
    usd = sum(line.usd_per_month for line in lines if line.item.startswith(SERVICES) == services)
    return usd / HOURS_PER_MONTH
