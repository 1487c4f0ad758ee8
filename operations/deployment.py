"""The deployment of an environment, step by step; each step can be repeated.

What is deployed is what the CDK command line synthesises. A cluster is launched by its stack once, read back, written
down and protected; from then on it is tuned, and its stack changes what lies around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from environments.environment import Environment
from environments.names import cluster_stack, monitoring_stack, network_stack, storage_stack
from environments.record_files import launch_records
from operations.alarm_muting import unmute
from operations.aws import Aws
from operations.aws_errors import translated
from operations.change_set import deploy_stack
from operations.deployed_stack import status_of
from operations.existing_bucket import set_up
from operations.pinning import pin_once
from operations.progress import Say, Stage
from operations.proposal import Proposal, Work, reading_stacks
from operations.protection import protect
from operations.reconfiguration import reconfiguration
from sizing.problem import Refused


def deployment(work: Work, changes: Proposal) -> Iterator[Stage]:
    """Yield every step, in order. Each first reads the current state."""
    environment, aws = changes.environment, work.aws
    yield _of_stack(work, network_stack(environment.name))
    yield _of_stack(work, storage_stack(environment.name))
    if environment.root.existing and environment.mode.keeps_data_in_s3:
        title = f"configure bucket {environment.root.bucket}"
        yield Stage(title=title, act=partial(_bucket_set_up, aws, environment))
    for cluster_name in (*changes.launches, *changes.analytics):
        stack = cluster_stack(environment.name, cluster_name)
        yield Stage(title=f"deploy {stack}", act=partial(_cluster_deployed, work, environment, cluster_name))
        title = f"check cluster {cluster_name} and write its launch record"
        yield Stage(title=title, act=partial(pin_once, aws, environment, cluster_name))
        yield Stage(
            title=f"protect cluster {cluster_name} from termination",
            act=partial(_protected, aws, environment, cluster_name),
        )
        yield _of_stack(work, monitoring_stack(environment.name, cluster_name))
        if cluster_name in changes.silences and changes.silences[cluster_name].ours:
            yield Stage(
                title=f"end the silence of cluster {cluster_name}'s alarms",
                act=partial(_unmuted, aws, environment, cluster_name),
            )
    for planned in changes.tunings.values():
        yield from reconfiguration(aws, planned)


def _of_stack(work: Work, name: str) -> Stage:
    return Stage(title=f"deploy {name}", act=partial(deploy_stack, work.assembly, name))


def _cluster_deployed(work: Work, environment: Environment, cluster_name: str, say: Say) -> str:
    """Deploy the cluster's stack. Raises Refused where that would launch a cluster although one is recorded."""
    stack, record = cluster_stack(environment.name, cluster_name), launch_records(environment).get(cluster_name)
    with reading_stacks(environment):
        status = status_of(work.aws, stack)
    if record is not None and status in {None, "REVIEW_IN_PROGRESS"}:
        raise Refused.of(
            where=f"stack {stack}",
            what=f"does not exist, although {record.directory} records its cluster {record.cluster_id}",
            why="a deployment would launch a second cluster under the record of the first",
            fix="clear away what is left of the recorded cluster: warmbase teardown"
            f" {Path(environment.source).stem} {cluster_name}",
        )
    return deploy_stack(work.assembly, stack, say)


def _bucket_set_up(aws: Aws, environment: Environment, say: Say) -> str:
    with translated(
        f"could not configure bucket {environment.root.bucket}",
        "ask the owner of the bucket to set this, or allow these credentials to",
    ):
        return set_up(aws, environment.root, say)


def _protected(aws: Aws, environment: Environment, cluster_name: str, _: Say) -> str:
    return protect(aws, environment.name, cluster_name)


def _unmuted(aws: Aws, environment: Environment, cluster_name: str, _: Say) -> str:
    with translated(f"could not end the silence of cluster {cluster_name}'s alarms", "run the same command again"):
        return unmute(aws, environment.name, cluster_name)
