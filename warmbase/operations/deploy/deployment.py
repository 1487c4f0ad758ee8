"""The deployment of an environment: its proposal, and the steps that carry it out, each of which can be repeated.

A proposal holds the checks, the changes, and the facts that it was made from. It can be saved in a file: one person
reviews it, and a later command carries out exactly that proposal or nothing.

What is deployed is what the CDK command line synthesises. A cluster is launched by its stack once, read back, written
down and protected; from then on it is tuned, and its stack changes what lies around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_spec import flattened
from warmbase.engines.engine import EngineCluster, deployable_clusters, engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records
from warmbase.environments.names import cluster_stack, monitoring_stack, network_stack, storage_stack
from warmbase.environments.reader import read_environment
from warmbase.environments.regular_file import read_regular_file
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import Progress, Say, Stage
from warmbase.operations.aws.root_bucket import needs, set_up
from warmbase.operations.cluster.alarms import Silence, read_silence, unmute
from warmbase.operations.cluster.drift import Basis, digest, group_basis, record_basis, refuse_moved, trace_basis
from warmbase.operations.cluster.protection import Protection, protect, read_protection, read_stack_protection
from warmbase.operations.cluster.stack import status_of
from warmbase.operations.deploy.change_set import Assembly, deploy_stack, run_cdk, selection, template_of
from warmbase.operations.deploy.pinning import pin_once
from warmbase.operations.deploy.preflight import preflight, refuse_unready
from warmbase.operations.deploy.preflight_account import PreflightCheck
from warmbase.operations.deploy.tuning import Tuning, reconfiguration


class Work(Struct, frozen=True, kw_only=True):
    """An environment as you named it, with the clients and variables to deploy it; `directory` takes the assembly."""

    name: str
    aws: Aws
    variables: Mapping[str, str]
    directory: Path

    @property
    def assembly(self) -> Assembly:
        """Return what is synthesised."""
        return Assembly(directory=self.directory / "cdk.out", aws=self.aws, variables=self.variables)


class StackChange(Struct, frozen=True, kw_only=True):
    """The differences between a stack and its synthesised template. `status` is None if there is no stack yet."""

    name: str
    status: str | None
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    deployed_template: str
    """A digest of the deployed template; empty if there is no stack yet."""
    template: str
    """A digest of the synthesised template."""


class Proposal(Struct, frozen=True, kw_only=True):
    """The changes that a deployment would make. `analytics` are the plans of the analytics clusters.

    `bucket` lists what it would set on an existing root bucket.

    `traces` are the facts that a cluster leaves behind when it is torn down.
    `usd_per_month` is the cost of each cluster as planned, `current_usd_per_month` that of each running one as it is.
    """

    environment: Environment
    checks: tuple[PreflightCheck, ...]
    launches: Mapping[str, Launch]
    analytics: Mapping[str, Any]
    records: Mapping[str, LaunchRecord]
    stacks: tuple[StackChange, ...]
    bucket: tuple[str, ...]
    tunings: Mapping[str, Tuning]
    silences: Mapping[str, Silence]
    protections: Mapping[str, Protection]
    account: str
    traces: Basis
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
        facts |= {"account": self.account, "region": self.environment.region}
        facts["settings that the root bucket lacks"] = "; ".join(self.bucket) or "none"
        for cluster_name, silence in self.silences.items():
            facts[f"silence of cluster {cluster_name}'s alarms"] = ", ".join(silence.causes) or "none"
        for cluster_name, protection in self.protections.items():
            facts[f"protection that cluster {cluster_name} lacks"] = ", ".join(protection.missing) or "none"
        return {**facts, **record_basis(self.records), **self.traces}

    @property
    def outcome(self) -> Basis:
        """Return the templates and settings that the deployment applies; those of another deployment differ."""
        stacks = {f"stack {stack.name}, as it will be deployed": f"template {stack.template}" for stack in self.stacks}
        groups = {
            f"changes of cluster {cluster_name}, as they will be applied": digest(
                [(change.role, change.count, sorted(flattened(change.settings))) for change in tuning.group_changes]
            )
            for cluster_name, tuning in self.tunings.items()
        }
        return stacks | groups

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to do."""
        changes = any((stack.added, stack.changed, stack.removed) != ((), (), ()) for stack in self.stacks)
        unmade = any(stack.status is None for stack in self.stacks)
        tuned = any(tuning.group_changes for tuning in self.tunings.values())
        silent = any(silence.ours for silence in self.silences.values())
        unprotected = any(protection.missing for protection in self.protections.values())
        return not (changes or unmade or self.bucket or tuned or silent or unprotected)


def proposal(work: Work, progress: Progress, *, dry_run: bool) -> Proposal:
    """Return what a deployment would change. It first records a cluster that an earlier run launched.

    Raises InvalidInput for a faulty file or record, Infeasible, or Refused if a check fails.
    """
    environment = read_environment(work.name)
    with progress.step("read the environment and plan") as say:
        clusters = DeployableClusters.of(environment)
        say(clusters.text)
    with progress.step("check the account") as say:
        checks = list(preflight(work.aws, environment, clusters.launches, clusters.records))
        refuse_unready(checks)
        say(f"{len(checks)} checks, no problem")
    unrecorded = _unrecorded(work.aws, environment, clusters.records)
    if unrecorded:
        _refuse_dry(environment, unrecorded, dry_run=dry_run)
        for cluster_name in unrecorded:
            title = f"record cluster {cluster_name}, which an earlier run launched"
            with environment_lock(work.aws, environment, "deploy"), progress.step(title) as say:
                say(pin_once(work.aws, environment, cluster_name, say))
        clusters = DeployableClusters.of(environment)
    with progress.step(f"cdk synth -c {selection(work.name)}") as say:
        output = str(work.assembly.directory)
        run_cdk(("synth", "-c", selection(work.name), "--quiet", "--output", output), work.variables, say)
        say("done")
    with progress.step("compare with the deployed stacks") as say, reading_stacks(environment):
        changes = proposed(work, environment, clusters, checks)
        say(
            "no difference"
            if changes.empty
            else f"{sum(1 for stack in changes.stacks if _differs(stack))} stacks differ"
        )
    return changes


def refuse_outdated(work: Work, changes: Proposal, progress: Progress) -> None:
    """Read the facts of the proposal again. Raises Refused if any of them has changed.

    Call it while you hold the lock, so that nothing changes afterwards.
    """
    environment = changes.environment
    with progress.step("check that nothing has changed since the proposal") as say, reading_stacks(environment):
        clusters = DeployableClusters.of(environment)
        checks = list(preflight(work.aws, environment, clusters.launches, clusters.records))
        refuse_unready(checks)
        now = proposed(work, environment, clusters, checks)
        refuse_moved(changes.basis, now.basis)
        say(f"{len(now.basis)} facts, none of which has changed")


class DeployableClusters(Struct, frozen=True, kw_only=True):
    """The clusters of an environment by name, as they can be deployed, those of HBase first."""

    clusters: Mapping[str, EngineCluster]

    @classmethod
    def of(cls, environment: Environment) -> DeployableClusters:
        """Return every cluster, checked. Raises as `deployable_clusters`."""
        return cls(clusters=deployable_clusters(environment))

    @property
    def launches(self) -> Mapping[str, Launch]:
        """Return the launches of HBase's clusters."""
        launches = {name: cluster.launch for name, cluster in self.clusters.items()}
        return {name: launch for name, launch in launches.items() if isinstance(launch, Launch)}

    @property
    def analytics(self) -> Mapping[str, Any]:
        """Return the plans of the analytics clusters."""
        return {name: cluster.launch.plan for name, cluster in self.clusters.items() if name not in self.launches}

    @property
    def records(self) -> Mapping[str, LaunchRecord]:
        """Return the launch records of all clusters that have one."""
        records = {name: cluster.record for name, cluster in self.clusters.items()}
        return {name: record for name, record in records.items() if record is not None}

    @property
    def text(self) -> str:
        """Return the core nodes of each cluster."""
        groups = {name: cluster.launch.plan.core for name, cluster in self.clusters.items()}
        return ", ".join(f"{name}: {group.count} x {group.instance_type}" for name, group in groups.items())


def _unrecorded(aws: Aws, environment: Environment, records: Mapping[str, LaunchRecord]) -> list[str]:
    with reading_stacks(environment):
        return [
            cluster_name
            for cluster_name in environment.cluster_names
            if cluster_name not in records
            and status_of(aws, cluster_stack(environment.name, cluster_name)) not in {None, "REVIEW_IN_PROGRESS"}
        ]


def _refuse_dry(environment: Environment, unrecorded: list[str], *, dry_run: bool) -> None:
    if dry_run:
        names, name = ", ".join(unrecorded), Path(environment.source).stem
        raise Refused.of(
            where=f"cluster {names}",
            what="runs without a launch record",
            why="a deployment would write the record first, but a dry run writes nothing",
            fix=f"warmbase pin {name}, then run the same command again; or run `warmbase deploy {name}`,"
            " which writes the record, and asks before it changes anything else",
        )


def proposed(
    work: Work,
    environment: Environment,
    clusters: DeployableClusters,
    checks: list[PreflightCheck],
) -> Proposal:
    """Return what would change, from the synthesised templates and what AWS describes. Raises botocore's errors."""
    aws, planned, records = work.aws, clusters.clusters, clusters.records
    tunings = {name: engine_of(environment, name).tuning(aws, planned[name]) for name in planned if name in records}
    return Proposal(
        environment=environment,
        checks=tuple(checks),
        launches=clusters.launches,
        analytics=clusters.analytics,
        records=records,
        stacks=tuple(_stack_changes(work)),
        bucket=tuple(needs(aws, environment.root)) if environment.mode.keeps_data_in_s3 else (),
        tunings=tunings,
        protections={
            name: (read_protection if name in records else read_stack_protection)(aws, environment.name, name)
            for name in planned
        },
        account=aws.account,
        traces=trace_basis(aws, environment, planned.keys() - records.keys()),
        silences={name: read_silence(aws, environment.name, name) for name in planned},
        usd_per_month={name: cluster.launch.plan.cost.usd_per_month for name, cluster in planned.items()},
        current_usd_per_month={
            name: engine_of(environment, name).current_usd(planned[name], tuning.running.cluster.groups["core"].count)
            for name, tuning in tunings.items()
        },
    )


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
            template=digest(wanted),
        )


def _differs(change: StackChange) -> bool:
    return change.status is None or bool(change.added or change.changed or change.removed)


def reading_stacks(environment: Environment) -> AbstractContextManager[None]:
    """Translate errors of boto3 while the deployed stacks are read."""
    return translated(f"could not read the deployed stacks of {environment.name}", "run the same command again")


FORMAT: Final = 1
SAVE_AGAIN: Final = "save a proposal again: warmbase deploy ENV --save FILE"


class SavedProposal(Struct, frozen=True, kw_only=True):
    """The facts that a proposal was made from, and the templates and settings that it applies."""

    file: Path
    environment: str
    basis: Basis
    outcome: Basis

    def refuse_other(self, proposed: Proposal) -> None:
        """Refuse a proposal that is not the saved one. Raises Refused with each fact that differs."""
        if self.environment != proposed.environment.name:
            raise Refused.of(
                where=str(self.file),
                what=f"is a proposal for environment {self.environment}",
                why=f"the command is for environment {proposed.environment.name}",
                fix=f"name that environment's file as ENV: warmbase deploy ENV --apply {self.file}",
            )
        refuse_moved({**self.basis, **self.outcome}, {**proposed.basis, **proposed.outcome})


def write_proposal(file: Path, proposed: Proposal, content: object) -> None:
    """Write a proposal; `content` is what a person reviews. Raises InvalidInput where the file cannot be written."""
    document = {
        "format": FORMAT,
        "environment": proposed.environment.name,
        "basis": proposed.basis,
        "outcome": proposed.outcome,
        "proposal": content,
    }
    draft = file.with_name(f".{file.name}.new")
    try:
        draft.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise InvalidInput.of(
            where=str(file),
            what="cannot be written",
            why=str(error),
            fix="name a file in a directory that you may write to",
        ) from None


def read_proposal(file: Path) -> SavedProposal:
    """Return a saved proposal. Raises InvalidInput if the file does not hold one."""
    try:
        document: Mapping[str, Any] = json.loads(read_regular_file(file))
        if document["format"] != FORMAT:
            raise InvalidInput.of(
                where=str(file),
                what=f"has format {document['format']}, and this version reads format {FORMAT}",
                why="another version of warmbase saved it",
                fix=SAVE_AGAIN,
            )
        return SavedProposal(
            file=file,
            environment=str(document["environment"]),
            basis=dict(document["basis"]),
            outcome=dict(document["outcome"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput.of(
            where=str(file), what="is not a saved proposal", why=f"{type(error).__name__}: {error}", fix=SAVE_AGAIN
        ) from None


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
