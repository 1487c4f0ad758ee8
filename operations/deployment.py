"""The deployment of an environment: it is checked and proposed, and then runs step by step; each step can be repeated.

What is deployed is what the CDK command line synthesises. A cluster is launched by its stack once, read back, written
down and protected; from then on it is tuned, and its stack changes what lies around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from changes.planned_cluster import PlannedCluster, deployable_clusters
from configurations.launch import Launch
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from environments.names import cluster_stack, monitoring_stack, network_stack, storage_stack
from environments.planning import plan_of
from environments.reader import read_environment
from environments.record_files import check_record, launch_records
from operations.alarm_muting import Silence, read_silence, unmute
from operations.aws import Aws
from operations.aws_errors import translated
from operations.basis import Basis, digest, group_basis, record_basis, refuse_moved
from operations.cdk import run_cdk, selection
from operations.change_set import Assembly, deploy_stack, template_of
from operations.deployed_stack import status_of, wait_until_stable
from operations.description import cluster_id
from operations.existing_bucket import needs, set_up
from operations.lock import environment_lock
from operations.pinning import pin, upgrade
from operations.preflight import PreflightCheck, preflight, refuse_unready
from operations.progress import Progress, Say, Stage
from operations.protection import protect
from operations.reconfiguration import reconfiguration
from operations.tuning import Tuning, tuning_of
from sizing.problem import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Which environment, as it was named, with which clients and variables; `directory` takes the assembly."""

    name: str
    aws: Aws
    variables: Mapping[str, str]
    directory: Path

    @property
    def assembly(self) -> Assembly:
        """Return what is synthesised."""
        return Assembly(directory=self.directory / "cdk.out", aws=self.aws, variables=self.variables)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChange:
    """A stack beside what is synthesised: its `status`, None where it is still to be made, and what differs."""

    name: str
    status: str | None
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    deployed_template: str
    """A digest of the template as it is deployed; empty where the stack is still to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The changes that a deployment would make. `bucket` has what would be set on an existing root bucket.

    `usd_per_month`: of the clusters as planned, by name; `current_usd_per_month` of those that run, as they run.
    """

    environment: Environment
    checks: tuple[PreflightCheck, ...]
    launches: Mapping[str, Launch]
    records: Mapping[str, LaunchRecord]
    stacks: tuple[StackChange, ...]
    bucket: tuple[str, ...]
    tunings: Mapping[str, Tuning]
    silences: Mapping[str, Silence]
    usd_per_month: Mapping[str, float]
    current_usd_per_month: Mapping[str, float]

    @property
    def basis(self) -> Basis:
        """Return the facts that the proposal was made from."""
        facts: dict[str, str] = {
            f"stack {stack.name}": f"{stack.status}, template {stack.deployed_template}" if stack.status else "absent"
            for stack in self.stacks
        }
        for tuning in self.tunings.values():
            facts |= group_basis(tuning.running)
        facts["settings that the root bucket lacks"] = "; ".join(self.bucket) or "none"
        return facts | record_basis(self.records)

    @property
    def empty(self) -> bool:
        """Return whether nothing is to be done."""
        changes = any((stack.added, stack.changed, stack.removed) != ((), (), ()) for stack in self.stacks)
        unmade = any(stack.status is None for stack in self.stacks)
        tuned = any(tuning.group_changes for tuning in self.tunings.values())
        silent = any(silence.ours for silence in self.silences.values())
        return not (changes or unmade or self.bucket or tuned or silent)


def proposal(work: Work, progress: Progress, *, dry_run: bool) -> Proposal:
    """Return what a deployment would change. It first records a cluster that an earlier run launched.

    Raises InvalidInput for a faulty file or record, Infeasible, Refused where something stands in the way.
    """
    environment = read_environment(work.name)
    with progress.step("read the environment and plan") as say:
        clusters = deployable_clusters(environment)
        say(
            ", ".join(
                f"{cluster.name}: {cluster.launch.plan.core.count} x {cluster.launch.plan.core.instance_type}"
                for cluster in clusters.values()
            )
        )
    with progress.step("check the account") as say:
        checks = list(preflight(work.aws, environment, _launches(clusters), _records(clusters)))
        refuse_unready(checks)
        say(f"{len(checks)} checks, no problem")
    unrecorded = _unrecorded(work.aws, environment, _records(clusters))
    if unrecorded:
        _refuse_dry(environment, unrecorded, dry_run=dry_run)
        for cluster_name in unrecorded:
            title = f"record cluster {cluster_name}, which an earlier run launched"
            with environment_lock(work.aws, environment, "deploy"), progress.step(title) as say:
                say(_recorded(work.aws, environment, cluster_name, say))
        clusters = deployable_clusters(environment)
    with progress.step(f"cdk synth -c {selection(work.name)}") as say:
        output = str(work.assembly.directory)
        run_cdk(("synth", "-c", selection(work.name), "--quiet", "--output", output), work.variables, say)
        say("done")
    with progress.step("compare with the deployed stacks") as say, _reading(environment):
        changes = _proposed(work, environment, clusters, checks)
        say(
            "no difference"
            if changes.empty
            else f"{sum(1 for stack in changes.stacks if _differs(stack))} stacks differ"
        )
    return changes


def refuse_outdated(work: Work, changes: Proposal, progress: Progress) -> None:
    """Read everything again that the proposal was made from. Raises Refused where any of it has moved.

    Call it while you hold the lock, so that nothing moves afterwards.
    """
    environment = changes.environment
    with progress.step("check that nothing has changed since the proposal") as say, _reading(environment):
        clusters = deployable_clusters(environment)
        checks = list(preflight(work.aws, environment, _launches(clusters), _records(clusters)))
        refuse_unready(checks)
        now = _proposed(work, environment, clusters, checks)
        refuse_moved(changes.basis, now.basis)
        say(f"{len(now.basis)} facts, none has changed")


def deployment(work: Work, changes: Proposal) -> Iterator[Stage]:
    """Every step, in order. Each looks at what is there first."""
    environment, aws = changes.environment, work.aws
    yield _of_stack(work, network_stack(environment.name))
    yield _of_stack(work, storage_stack(environment.name))
    if environment.root.existing and environment.mode.keeps_data_in_s3:
        title = f"configure bucket {environment.root.bucket}"
        yield Stage(title=title, act=partial(_bucket_set_up, aws, environment))
    for cluster_name in changes.launches:
        stack = cluster_stack(environment.name, cluster_name)
        yield Stage(title=f"deploy {stack}", act=partial(_cluster_deployed, work, environment, cluster_name))
        title = f"check cluster {cluster_name} and write its launch record"
        yield Stage(title=title, act=partial(_recorded, aws, environment, cluster_name))
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


def _launches(clusters: Mapping[str, PlannedCluster]) -> Mapping[str, Launch]:
    return {name: cluster.launch for name, cluster in clusters.items()}


def _records(clusters: Mapping[str, PlannedCluster]) -> Mapping[str, LaunchRecord]:
    return {name: cluster.record for name, cluster in clusters.items() if cluster.record is not None}


def _unrecorded(aws: Aws, environment: Environment, records: Mapping[str, LaunchRecord]) -> list[str]:
    with _reading(environment):
        return [
            cluster_name
            for cluster_name in environment.clusters
            if cluster_name not in records
            and status_of(aws, cluster_stack(environment.name, cluster_name)) not in {None, "REVIEW_IN_PROGRESS"}
        ]


def _refuse_dry(environment: Environment, unrecorded: list[str], *, dry_run: bool) -> None:
    if dry_run:
        names = ", ".join(unrecorded)
        raise Refused.of(
            where=f"cluster {names}",
            what="runs without a launch record",
            why="a deployment would write the record first, but a dry run writes nothing",
            fix=f"warmbase pin {Path(environment.source).stem}, then run the same command again",
        )


def _proposed(
    work: Work,
    environment: Environment,
    clusters: Mapping[str, PlannedCluster],
    checks: list[PreflightCheck],
) -> Proposal:
    aws, launches, records = work.aws, _launches(clusters), _records(clusters)
    tunings = {name: tuning_of(aws, clusters[name]) for name in records}
    return Proposal(
        environment=environment,
        checks=tuple(checks),
        launches=launches,
        records=records,
        stacks=tuple(_stack_changes(work)),
        bucket=tuple(needs(aws, environment.root)) if environment.mode.keeps_data_in_s3 else (),
        tunings=tunings,
        silences={name: read_silence(aws, environment.name, name) for name in records},
        usd_per_month={cluster_name: launch.plan.cost.usd_per_month for cluster_name, launch in launches.items()},
        current_usd_per_month={
            cluster_name: _current_usd(launches[cluster_name], tuning) for cluster_name, tuning in tunings.items()
        },
    )


def _current_usd(launch: Launch, tuning: Tuning) -> float:
    """The month's cost of as many nodes as there are."""
    environment = launch.environment
    choice = environment.clusters[launch.plan.cluster]
    count = tuning.running.cluster.groups["core"].count
    return plan_of(environment, replace(choice, core=replace(choice.core, count=count))).cost.usd_per_month


def _stack_changes(work: Work) -> Iterator[StackChange]:
    for file in sorted(work.assembly.directory.glob("*.template.json")):
        name = file.name.removesuffix(".template.json")
        status = status_of(work.aws, name)
        there = None if status in {None, "REVIEW_IN_PROGRESS"} else template_of(work.aws, name)["Resources"]
        wanted: Mapping[str, Any] = work.assembly.template(name)["Resources"]
        yield StackChange(
            name=name,
            status=None if there is None else status,
            added=tuple(sorted(wanted.keys() - (there or {}).keys())),
            changed=tuple(
                sorted(key for key in wanted.keys() & (there or {}).keys() if wanted[key] != (there or {})[key])
            ),
            removed=tuple(sorted((there or {}).keys() - wanted.keys())),
            deployed_template="" if there is None else digest(there),
        )


def _differs(change: StackChange) -> bool:
    return change.status is None or bool(change.added or change.changed or change.removed)


def _of_stack(work: Work, name: str) -> Stage:
    return Stage(title=f"deploy {name}", act=partial(deploy_stack, work.assembly, name))


def _cluster_deployed(work: Work, environment: Environment, cluster_name: str, say: Say) -> str:
    """Deploy the cluster's stack. Raises Refused where that would launch a cluster although one is recorded."""
    stack, record = cluster_stack(environment.name, cluster_name), launch_records(environment).get(cluster_name)
    with _reading(environment):
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


def _recorded(aws: Aws, environment: Environment, cluster_name: str, say: Say) -> str:
    """The launch record, once the stack has settled. Raises Refused where the record is another cluster's."""
    record = launch_records(environment).get(cluster_name)
    with _reading(environment):
        wait_until_stable(aws, cluster_stack(environment.name, cluster_name), say)
        if record is not None:
            check_record(environment, cluster_name, record, cluster_id(aws, environment.name, cluster_name))
    if record is not None and record.plan is not None:
        return "already recorded"
    if record is not None:
        return f"already recorded; the plan was added to {upgrade(record).directory}: commit it"
    pinned = pin(aws, environment, cluster_name)
    return f"{pinned.record.cluster_id}, EMR confirms {pinned.confirmed} facts: {pinned.record.directory}; commit it"


def _protected(aws: Aws, environment: Environment, cluster_name: str, _: Say) -> str:
    return protect(aws, environment, cluster_name)


def _unmuted(aws: Aws, environment: Environment, cluster_name: str, _: Say) -> str:
    with translated(f"could not end the silence of cluster {cluster_name}'s alarms", "run the same command again"):
        return unmute(aws, environment.name, cluster_name)


def _reading(environment: Environment) -> AbstractContextManager[None]:
    return translated(f"could not read the deployed stacks of {environment.name}", "run the same command again")
