"""The deployment of an environment: its proposal, and the steps that carry it out, each of which can be repeated.

A proposal holds the checks, the changes, and the facts that it was made from. It can be saved in a file: one person
reviews it, and a later command carries out exactly that proposal or nothing.

What is deployed is what the CDK command line synthesises. A cluster is launched by its stack once, read back, written
down and protected; from then on it is tuned, and its stack changes what lies around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from warmbase.changes.engine_facet import EngineCluster, changes_of, deployable_clusters
from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_spec import flattened
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records
from warmbase.environments.names import cluster_stack, monitoring_stack, network_stack, storage_stack
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.ground.files import read_json
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import Progress, Say, Stage
from warmbase.operations.aws.root_bucket import needs, set_up
from warmbase.operations.cluster.alarms import Silence, read_silence, unmute
from warmbase.operations.cluster.drift import Basis, digest, group_basis, record_basis, refuse_moved, trace_basis
from warmbase.operations.cluster.engine_facet import operations_of
from warmbase.operations.cluster.protection import Protection, protect, read_protection, read_stack_protection
from warmbase.operations.cluster.stack import status_of, template_of
from warmbase.operations.deploy.cdk import Assembly, selection
from warmbase.operations.deploy.change_set import NO_STACK, deploy_stack
from warmbase.operations.deploy.pinning import pin_once
from warmbase.operations.deploy.preflight import PreflightCheck, preflight, refuse_unready
from warmbase.operations.deploy.tuning import Tuning, reconfiguration


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

    @property
    def differs(self) -> bool:
        """Return whether a deployment would create or change the stack."""
        return self.status is None or bool(self.added or self.changed or self.removed)


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
        return not (
            any(stack.differs for stack in self.stacks)
            or self.bucket
            or any(tuning.group_changes for tuning in self.tunings.values())
            or any(silence.ours for silence in self.silences.values())
            or any(protection.missing for protection in self.protections.values())
        )


def proposal(assembly: Assembly, progress: Progress, *, dry_run: bool) -> Proposal:
    """Return what a deployment would change. It first records a cluster that an earlier run launched.

    Raises InvalidInput for a faulty file or record, Infeasible, or Refused if a check fails.
    """
    aws, environment = assembly.aws, read_environment(assembly.name)
    with progress.step("read the environment and plan") as say:
        clusters = deployable_clusters(environment)
        groups = {name: cluster.launch.plan.core for name, cluster in clusters.items()}
        say(", ".join(f"{name}: {group.count} x {group.instance_type}" for name, group in groups.items()))
    with progress.step("check the account") as say:
        checks = list(preflight(aws, environment, _launches(clusters), _records(clusters)))
        refuse_unready(checks)
        say(f"{len(checks)} checks, no problem")
    with _reading_stacks(environment):
        unrecorded = [
            cluster_name
            for cluster_name in environment.cluster_names
            if cluster_name not in _records(clusters)
            and status_of(aws, cluster_stack(environment.name, cluster_name)) not in NO_STACK
        ]
    if unrecorded and dry_run:
        file = environment.argument
        raise Refused.of(
            where=f"cluster {', '.join(unrecorded)}",
            what="runs without a launch record",
            why="a deployment would write the record first, but a dry run writes nothing",
            fix=f"warmbase pin {file}, then run the same command again; or run `warmbase deploy {file}`,"
            " which writes the record, and asks before it changes anything else",
        )
    for cluster_name in unrecorded:
        title = f"record cluster {cluster_name}, which an earlier run launched"
        with environment_lock(aws, environment, "deploy"), progress.step(title) as say:
            say(pin_once(aws, environment, cluster_name, say))
    if unrecorded:
        clusters = deployable_clusters(environment)
    with progress.step(f"cdk synth -c {selection(assembly.name)}") as say:
        assembly.synthesise(say)
        say("done")
    with progress.step("compare with the deployed stacks") as say, _reading_stacks(environment):
        changes = proposed(assembly, environment, clusters, checks)
        differing = sum(stack.differs for stack in changes.stacks)
        say("no difference" if changes.empty else f"{differing} stacks differ")
    return changes


def refuse_outdated(assembly: Assembly, changes: Proposal, progress: Progress) -> None:
    """Read the facts of the proposal again. Raises Refused if any of them has changed.

    Call it while you hold the lock, so that nothing changes afterwards.
    """
    environment = changes.environment
    with progress.step("check that nothing has changed since the proposal") as say, _reading_stacks(environment):
        clusters = deployable_clusters(environment)
        checks = list(preflight(assembly.aws, environment, _launches(clusters), _records(clusters)))
        refuse_unready(checks)
        now = proposed(assembly, environment, clusters, checks)
        refuse_moved(changes.basis, now.basis)
        say(f"{len(now.basis)} facts, none of which has changed")


def proposed(
    assembly: Assembly,
    environment: Environment,
    clusters: Mapping[str, EngineCluster],
    checks: Sequence[PreflightCheck],
) -> Proposal:
    """Return what would change, from the synthesised templates and what AWS describes. Raises botocore's errors."""
    aws, launches, records = assembly.aws, _launches(clusters), _records(clusters)
    tunings = {
        name: operations_of(engine_of(environment, name)).tuning(aws, clusters[name])
        for name in clusters
        if name in records
    }
    return Proposal(
        environment=environment,
        checks=tuple(checks),
        launches=launches,
        analytics={name: cluster.launch.plan for name, cluster in clusters.items() if name not in launches},
        records=records,
        stacks=tuple(_stack_changes(assembly)),
        bucket=tuple(needs(aws, environment.root)) if environment.mode.keeps_data_in_s3 else (),
        tunings=tunings,
        protections={
            name: (read_protection if name in records else read_stack_protection)(aws, environment.name, name)
            for name in clusters
        },
        account=aws.account,
        traces=trace_basis(aws, environment, clusters.keys() - records.keys()),
        silences={name: read_silence(aws, environment.name, name) for name in clusters},
        usd_per_month={name: cluster.launch.plan.cost.usd_per_month for name, cluster in clusters.items()},
        current_usd_per_month={
            name: changes_of(engine_of(environment, name)).current_usd(
                clusters[name], tuning.running.cluster.groups["core"].count
            )
            for name, tuning in tunings.items()
        },
    )


def _launches(clusters: Mapping[str, EngineCluster]) -> Mapping[str, Launch]:
    """Return the launches of HBase's clusters."""
    launches = {name: cluster.launch for name, cluster in clusters.items()}
    return {name: launch for name, launch in launches.items() if isinstance(launch, Launch)}


def _records(clusters: Mapping[str, EngineCluster]) -> Mapping[str, LaunchRecord]:
    """Return the launch records of all clusters that have one."""
    return {name: cluster.record for name, cluster in clusters.items() if cluster.record is not None}


def _stack_changes(assembly: Assembly) -> Iterator[StackChange]:
    for file in sorted(assembly.directory.glob("*.template.json")):
        name = file.name.removesuffix(".template.json")
        status = status_of(assembly.aws, name)
        exists = status not in NO_STACK
        there = template_of(assembly.aws, name)["Resources"] if exists else {}
        wanted: Mapping[str, Any] = assembly.template(name)["Resources"]
        yield StackChange(
            name=name,
            status=status if exists else None,
            added=tuple(sorted(wanted.keys() - there.keys())),
            changed=tuple(sorted(key for key in wanted.keys() & there.keys() if wanted[key] != there[key])),
            removed=tuple(sorted(there.keys() - wanted.keys())),
            deployed_template=digest(there) if exists else "",
            template=digest(wanted),
        )


def _reading_stacks(environment: Environment) -> AbstractContextManager[None]:
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
        document: Mapping[str, Any] = read_json(file)
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


def deployment(assembly: Assembly, changes: Proposal) -> Iterator[Stage]:
    """Yield every step, in order. Each first reads the current state."""
    environment, aws = changes.environment, assembly.aws

    def set_up_bucket(say: Say) -> str:
        with translated(
            f"could not configure bucket {environment.root.bucket}",
            "ask the owner of the bucket to set this, or allow these credentials to",
        ):
            return set_up(aws, environment.root, say)

    yield _stack_stage(assembly, network_stack(environment.name))
    yield _stack_stage(assembly, storage_stack(environment.name))
    if environment.root.existing and environment.mode.keeps_data_in_s3:
        yield Stage(title=f"configure bucket {environment.root.bucket}", act=set_up_bucket)
    for cluster_name in (*changes.launches, *changes.analytics):
        yield from _cluster_stages(assembly, changes, cluster_name)
    for tuning in changes.tunings.values():
        yield from reconfiguration(aws, tuning)


def _stack_stage(assembly: Assembly, name: str) -> Stage:
    return Stage(title=f"deploy {name}", act=partial(deploy_stack, assembly, name))


def _cluster_stages(assembly: Assembly, changes: Proposal, cluster_name: str) -> Iterator[Stage]:
    environment, aws = changes.environment, assembly.aws
    stack = cluster_stack(environment.name, cluster_name)

    def deploy_cluster(say: Say) -> str:
        """Deploy the stack. Raises Refused if it would launch a cluster although one is recorded."""
        record = launch_records(environment).get(cluster_name)
        with _reading_stacks(environment):
            status = status_of(aws, stack)
        if record is not None and status in NO_STACK:
            raise Refused.of(
                where=f"stack {stack}",
                what=f"does not exist, although {record.directory} records its cluster {record.cluster_id}",
                why="a deployment would launch a second cluster under the record of the first",
                fix="clear away what is left of the recorded cluster: warmbase teardown"
                f" {environment.argument} {cluster_name}",
            )
        return deploy_stack(assembly, stack, say)

    def end_silence(_: Say) -> str:
        what = f"could not end the silence of cluster {cluster_name}'s alarms"
        with translated(what, "run the same command again"):
            return unmute(aws, environment.name, cluster_name)

    yield Stage(title=f"deploy {stack}", act=deploy_cluster)
    yield Stage(
        title=f"check cluster {cluster_name} and write its launch record",
        act=partial(pin_once, aws, environment, cluster_name),
    )
    yield Stage(
        title=f"protect cluster {cluster_name} from termination",
        act=lambda _: protect(aws, environment.name, cluster_name),
    )
    yield _stack_stage(assembly, monitoring_stack(environment.name, cluster_name))
    if cluster_name in changes.silences and changes.silences[cluster_name].ours:
        yield Stage(title=f"end the silence of cluster {cluster_name}'s alarms", act=end_silence)
