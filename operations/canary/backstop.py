"""The schedules that end the clusters of a canary, which are written and read again before the first node.

They invoke a function that finds the clusters by name and tag, so they need no id and depend on no laptop. A schedule
that is ahead is never moved while a cluster runs: a canary that was interrupted does not live longer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from emr.cluster_state import ENDED
from environments.names import BACKSTOP_ROLE, CANARY_TAG, backstop_stack, emr_cluster_name
from operations.aws import Aws
from operations.aws_errors import AGAIN, error_code, translated
from operations.boost_state import moment
from operations.cluster_boost import AT, NO_GROUP, RETRY
from operations.environment_cluster import state_of, wait_for_end
from operations.progress import Say
from sizing.problem import OperationFailed

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
    clock: Callable[[], float] = time.time

    @property
    def prefix(self) -> str:
        """Return how the names of the clusters begin."""
        return emr_cluster_name(self.environment, self.cluster)

    def arm(self, minutes: float) -> str:
        """Make sure that schedules end the clusters, and return in words when. Raises OperationFailed otherwise.

        Call it before a cluster is launched. While one runs, schedules that are ahead stay as they are.
        """
        with translated("could not schedule the end of the clusters", AGAIN):
            at, runs = self.fires_at(), bool(self.running())
            if at is None or not runs:
                self._write(self.clock() + 60 * (SOON_MINUTES if runs else minutes))
            at = self.fires_at()
        if at is None or at <= self.clock():
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
            try:
                schedule = self.aws.scheduler.get_schedule(GroupName=self._group, Name=name)
            except ClientError as error:
                if error_code(error) != NO_GROUP:
                    raise
                continue
            at = datetime.strptime(schedule["ScheduleExpression"], AT).replace(tzinfo=UTC).timestamp()
            if schedule["State"] == "ENABLED" and at > self.clock():
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
            if cluster["Name"].startswith(self.prefix) and cluster["Status"]["State"] not in ENDED
        ]
        return [identity for identity in candidates if self._is_own(identity)]

    def _is_own(self, identity: str) -> bool:
        tags = self.aws.emr.describe_cluster(ClusterId=identity)["Cluster"].get("Tags", [])
        return {"Key": CANARY_TAG, "Value": self.environment} in tags

    def end(self, say: Say) -> str:
        """End the clusters now, as the schedules would, and wait for their end. Raises OperationFailed."""
        with translated("could not end the clusters", AGAIN):
            clusters = self.running()
            for cluster in clusters:
                self.aws.emr.set_termination_protection(JobFlowIds=[cluster], TerminationProtected=False)
                self.aws.emr.terminate_job_flows(JobFlowIds=[cluster])
        for cluster in clusters:
            wait_for_end(cluster, partial(self._end_of, cluster), say)
        return f"{', '.join(clusters) or 'no cluster'} ended"

    def _end_of(self, cluster: str) -> tuple[str, bool]:
        state = state_of(self.aws, cluster)
        return state or "unknown to EMR", state in ENDED

    def disarm(self) -> None:
        """Delete the schedules."""
        with translated("could not delete the schedules of the backstop", AGAIN):
            for name in self._names:
                try:
                    self.aws.scheduler.delete_schedule(GroupName=self._group, Name=name)
                except ClientError as error:
                    if error_code(error) != NO_GROUP:
                        raise

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
            try:
                self.aws.scheduler.update_schedule(**request)
            except ClientError as error:
                if error_code(error) != NO_GROUP:
                    raise
                self.aws.scheduler.create_schedule(**request)

    @property
    def _group(self) -> str:
        return backstop_stack(self.environment)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"{self.cluster or 'all'}-{attempt}" for attempt in range(1, ATTEMPTS + 1))
