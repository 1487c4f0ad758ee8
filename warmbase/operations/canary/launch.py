"""Stages 1 and 2: the canary's environment is deployed behind its backstop, and its nodes are inspected.

Before anything is created, `canary_price` states the price from the plan and the price files.

The backstop is a set of schedules that end the clusters of the canary. They are written and read again before the first
node. They invoke a function that finds the clusters by name and tag, so they need no id and depend on no laptop. A
schedule that is ahead is never moved while a cluster runs: a canary that was interrupted does not live longer.
"""

from __future__ import annotations

import json
import re
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.emr.cluster_state import ENDED
from warmbase.environments.environment import Environment
from warmbase.environments.names import BACKSTOP_ROLE, CANARY_TAG, backstop_stack, emr_cluster_name
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import HOURS_PER_MONTH
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, error_code, translated
from warmbase.operations.aws.node_command import run_on_nodes
from warmbase.operations.aws.progress import Say, Stage
from warmbase.operations.canary.run import FIRST, SECOND, Canary, CanaryRun, StageOutcome
from warmbase.operations.cluster.alarms import try_alarm
from warmbase.operations.cluster.boost import AT, NO_GROUP, RETRY, moment
from warmbase.operations.cluster.stack import state_of, wait_for_end
from warmbase.operations.deploy.change_set import deploy_stack, run_cdk, selection
from warmbase.operations.deploy.deployment import Work, deployment, proposal
from warmbase.operations.verify.check import Check, CheckResult
from warmbase.operations.verify.services import alarm_test_results
from warmbase.operations.verify.verification import verification
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


# judgement: EMR ends the nodes of a cluster within minutes of the request.
ENDING_HOURS: Final = 0.1
LIKELY_HOURS: Final = 1.0
SECOND_LIKELY_HOURS: Final = (
    0.25  # judgement: a cluster whose first bootstrap action fails ends in a quarter of an hour
)
OF_S3: Final = "S3 "
SERVICES: Final = ("CloudWatch", "KMS", "interface endpoints")
LAUNCH: Final = 1
REFUSAL: Final = 4


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
    nodes, usd, most = list[int](), 0.0, 0.0
    services = _usd_per_hour(first, services=True)
    if LAUNCH in stages:
        nodes.append(first.primary.count + first.core.count)
        usd += _usd_per_hour(first) * LIKELY_HOURS + services * LIKELY_HOURS
        most += _usd_per_hour(first) * (MINUTES / 60 + ENDING_HOURS) + services * 2
    if REFUSAL in stages:
        nodes.append(second.primary.count + second.core.count)
        usd += _usd_per_hour(second) * SECOND_LIKELY_HOURS
        most += _usd_per_hour(second) * (SECOND_MINUTES / 60 + ENDING_HOURS)
    rates = {FIRST: _usd_per_hour(first), SECOND: _usd_per_hour(second)}
    return CanaryPrice(nodes=tuple(nodes), usd=usd, most_usd=most, idle_usd_per_hour=services, usd_per_hour=rates)


def _usd_per_hour(plan: Plan, *, services: bool = False) -> float:
    """Return what the nodes of a plan cost with their volumes, or the services around them, without S3."""
    return (
        sum(
            line.usd_per_month
            for line in plan.cost.lines
            if line.item.startswith(SERVICES) == services and not line.item.startswith(OF_S3)
        )
        / HOURS_PER_MONTH
    )


HARVEST: Final = "/usr/local/lib/warmbase/harvest-node.sh"
"""Where the first bootstrap action of a canary leaves its script."""
HARVEST_SECONDS: Final = 300.0  # judgement: a few hundred small files
ARCHIVE: Final = re.compile(r"(?P<node>.+?)-(?P<moment>bootstrap|minute-\d+|installed)\.tar\.gz$")
UNANSWERED: Final = "local AWS: not asked"
"""The stand-ins of the local AWS write this in place of an answer of a node."""
Archives = Mapping[str, Mapping[str, str]]
"""The text of each harvested file, by the name of its archive."""


class HarvestCheck(NamedTuple):
    """A pattern that a harvested file contains, or must not contain, if a row of docs/unconfirmed.md is right."""

    check: str
    row: str
    file: str
    pattern: str
    todo: str
    absent: bool = False


HARVESTED: Final = (
    HarvestCheck(
        "job-flow.json",
        "EMR's `job-flow.json` has `jobFlowCreationInstant`",
        "files/mnt/var/lib/info/job-flow.json",
        r'"jobFlowCreationInstant"\s*:\s*\d{13}\b',
        "correct the time of a launch in bootstrap-actions/programs/claim_root.py",
    ),
    HarvestCheck(
        "Python at bootstrap",
        "Python 3.9 is `/usr/bin/python3` while bootstrap actions run",
        "commands/python",
        r"Python 3\.(9|\d\d)",
        "adapt the programs in bootstrap-actions/programs to this version",
    ),
    HarvestCheck(
        "ZooKeeper of HBase",
        "HBase on EMR does not start ZooKeeper itself",
        "files/etc/hbase/conf/hbase-env.sh",
        r"HBASE_MANAGES_ZK=\"?false",
        "correct rule WB423",
    ),
    HarvestCheck(
        "EMR's coprocessors",
        "EMR itself sets no coprocessor in `hbase.coprocessor.master.classes`",
        "files/etc/hbase/conf/hbase-site.xml",
        r"hbase\.coprocessor\.(master|region|regionserver)\.classes",
        "render EMR's coprocessors beside ours",
        absent=True,
    ),
)
"""The checks of the harvest; people read most of the rest."""


def synthesise(work: Work, say: Say) -> None:
    """Synthesise the templates of an environment."""
    output = str(work.assembly.directory)
    run_cdk(("synth", "-c", selection(work.name), "--quiet", "--output", output), work.variables, say)


def deploy_backstop(canary: Canary, say: Say) -> str:
    """Deploy the stack of the backstop alone, which the schedules need."""
    with canary.work(canary.run.file) as work:
        synthesise(work, say)
        return deploy_stack(work.assembly, backstop_stack(canary.environment.name), say)


def launch_cluster(canary: Canary) -> StageOutcome:
    """Deploy the environment, once schedules exist that end its cluster. Raises as a deployment does."""
    backstop = Backstop(aws=canary.aws, environment=canary.environment.name)
    with canary.work(canary.run.file) as work:
        proposed = proposal(work, canary.progress, dry_run=False)

        def steps() -> Iterator[Stage]:
            name = backstop_stack(canary.environment.name)
            yield Stage(title=f"deploy {name}", act=lambda say: deploy_stack(work.assembly, name, say))
            yield Stage(title="schedule the end of the clusters", act=lambda _: backstop.arm(MINUTES))
            yield from deployment(work, proposed)

        canary.carry_out(steps())
    cluster = canary.running_cluster()
    archives = fetch_harvest(canary, cluster.id)
    nodes = {match["node"] for name in archives if (match := ARCHIVE.match(name))}
    headline = f"{cluster.state}; harvested {len(nodes)} nodes ({sum(map(len, archives.values()))} files)"
    return StageOutcome(lines=(headline,), results=tuple(_harvest_results(archives)))


def inspect_cluster(canary: Canary) -> StageOutcome:
    """Verify the cluster, and harvest what exists on its nodes since HBase is installed."""
    cluster = canary.running_cluster()
    with canary.progress.step("verify the cluster") as say:
        results = list(verification(canary.aws, canary.planned.launch, say))
        say(f"{len(results)} checks")
    lines = list[str]()
    with canary.progress.step("harvest the nodes again") as say:
        try:
            say(_harvested_now(canary, cluster.id))
        except OperationFailed as failed:
            lines.append(f"not every node was harvested again: {failed.summary}")
    environment = canary.environment
    if environment.alarm_email is not None:
        with canary.progress.step("test one alarm, which notifies you twice") as say:
            tested = alarm_test_results(try_alarm(canary.aws, environment.name, FIRST, say))
            results += tested
            say("; ".join(result.found for result in tested))
    archives = fetch_harvest(canary, cluster.id)
    results += _harvest_results(archives)
    lines += list(_notes(archives))
    differing = [result for result in results if result.good is False]
    good = sum(result.good is True for result in results)
    headline = f"{good} of {len(results)} checks as documented, {len(differing)} differ"
    more = [f"{result.check}: expected {result.expected}, found {result.found}" for result in differing]
    return StageOutcome(lines=(headline, *more, *lines), results=tuple(results))


def _harvested_now(canary: Canary, cluster: str) -> str:
    with translated("could not list the nodes", AGAIN):
        pages: Any = canary.aws.emr.get_paginator("list_instances").paginate(
            ClusterId=cluster, InstanceStates=["RUNNING"]
        )
        nodes = [node["Ec2InstanceId"] for page in pages for node in page["Instances"]]
    text = f"{HARVEST} --log-bucket={canary.log_bucket()} --moment=installed"
    run_on_nodes(canary.aws, dict.fromkeys(nodes, text), HARVEST_SECONDS)
    return f"{len(nodes)} nodes"


def fetch_harvest(canary: Canary, cluster: str) -> Archives:
    """Return what the nodes of a cluster have uploaded so far, and keep the archives in the directory of the run."""
    aws, bucket, prefix = canary.aws, canary.log_bucket(), f"emr/{cluster}/harvest/"
    archives: dict[str, dict[str, str]] = {}
    with translated("could not read the harvest", AGAIN):
        for page in aws.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", ()):
                name = entry["Key"].removeprefix(prefix)
                file = canary.run.directory / "harvest" / cluster / name.replace("/", "-")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(aws.s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read())
                archives[name] = dict(_texts(file.read_bytes()))
    return archives


def _texts(archive: bytes) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=BytesIO(archive)) as members:
        for member in members:
            content = members.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name.removeprefix("./"), content.read().decode(errors="replace")


def _harvest_results(archives: Archives) -> Iterator[CheckResult]:
    for one in HARVESTED:
        texts = [files[one.file] for files in archives.values() if UNANSWERED not in files.get(one.file, UNANSWERED)]
        matches = [re.search(one.pattern, text) is not None for text in texts]
        good = all(match != one.absent for match in matches) if matches else None
        text = f"{sum(matches)} of {len(matches)} files" if matches else "no node has such a file yet"
        expected = f"{'no ' if one.absent else ''}{one.pattern} in {one.file.partition('/')[2]}"
        yield Check(one.check, one.row, expected, one.todo).result(text, good=good)


def _notes(archives: Archives) -> Iterator[str]:
    """Yield what no check expects, for people: the supervision of HBase, and another region in its log."""
    for name, files in archives.items():
        units = files.get("commands/units", "")
        for unit in re.findall(r"^Id=(hbase-\S+)$", units, re.MULTILINE):
            part = units.partition(f"Id={unit}")[0].rpartition("\n\n")[2] + units.partition(f"Id={unit}")[2]
            restart = re.search(r"^Restart=(\S+)$", part, re.MULTILINE)
            if restart:
                yield f"{name}: {unit} has Restart={restart[1]}"
        for file, count in re.findall(r"^(/\S+):([1-9]\d*)$", files.get("commands/foreign-region", ""), re.MULTILINE):
            yield f"{name}: {file} names us-east-2 {count} times"
