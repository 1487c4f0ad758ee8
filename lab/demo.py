"""The whole deployment on this machine: plan, render, synthesise, lint, deploy to a local AWS, read back, remove.

The local AWS is an emulator: no node starts and no HBase runs. The CDK command line and the app are the same as for a
real account.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from local_aws.server import (
    ACCOUNT,
    NOWHERE,
    LocalAws,
    local_aws,
    local_environment,
    refuse_dead,
    refuse_remote,
    running_aws,
)
from local_aws.stand_ins import create_stand_ins
from local_aws.template_lint import lint_errors
from warmbase.configurations.launch import Launch, launch_of
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import launch_records
from warmbase.environments.reader import locate, read_environment
from warmbase.environments.reader.document import load_document
from warmbase.ground.errors import Drifted, InvalidInput, OperationFailed, Problem
from warmbase.linter.lint import check_deployable
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.aws.progress import Progress
from warmbase.operations.cluster.drift import Comparison, compare_deployed
from warmbase.operations.deploy.cdk import run_cdk, selection
from warmbase.sizing.plan import Plan

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef


class DemoProgress(Progress, Protocol):
    """How the demo reports its steps and shows the plan."""

    def show(self, environment: Environment, plan: Plan) -> None:
        """Show the plan to the user."""


class Hosting(Struct, frozen=True, kw_only=True):
    """Where the demo deploys: to the local AWS at `endpoint`, or else to a new one that `keep` leaves up."""

    endpoint: str | None = None
    keep: bool = False


class Demo(Struct, frozen=True, kw_only=True):
    """The result of a demo; `background_aws` is None unless the local AWS stays up."""

    plan: Plan
    cluster_name: str
    cluster_id: str
    comparisons: tuple[Comparison, ...]
    retained_buckets: tuple[str, ...]
    background_aws: LocalAws | None


@contextmanager
def run_demo(name: str, hosting: Hosting, progress: DemoProgress) -> Iterator[Demo]:
    """Run every step on an environment; the local AWS is up within the block, and stays up with `keep`.

    So whoever keeps it says in the block how to end it. Raises InvalidInput for a faulty environment or an endpoint
    where no local AWS is, Infeasible when nothing meets its targets, Drifted when a service describes something else
    than was rendered, OperationFailed when a step fails.
    """
    if hosting.endpoint:
        refuse_dead(hosting.endpoint)
    with progress.step("read the environment and plan") as say:
        launch = _launch(name)
        say(f"{launch.plan.core.count} x {launch.plan.core.instance_type} for {launch.plan.environment}")
    progress.show(launch.environment, launch.plan)
    with tempfile.TemporaryDirectory(prefix="warmbase-demo-") as scratch:
        chosen, output = selection(name), Path(scratch) / "cdk.out"
        _check(chosen, launch, output, progress)
        with _started(hosting, launch.environment.region, progress) as local:
            yield _cycle(Cycle(chosen, launch, local, output, progress), keep=hosting.keep)


class Cycle(Struct, frozen=True):
    """The data that the steps on the local AWS share; `selection` is the CDK option that chooses the environment."""

    selection: str
    launch: Launch
    local: LocalAws
    output: Path
    progress: Progress

    @property
    def aws(self) -> Aws:
        """Return clients of the local AWS."""
        return Aws(self.local.environment, any_call)

    def cdk(self, command: str, *arguments: str, quiet: tuple[str, ...] = ()) -> None:
        """Run the CDK command line as a user would, with options that silence it and keep it from leaving files."""
        with self.progress.step(" ".join(("cdk", command, "-c", self.selection, *arguments))) as say:
            run_cdk((command, "-c", self.selection, *arguments, *quiet), self.local.environment, say)
            say("done")


def _launch(name: str) -> Launch:
    environment = read_environment(name)
    _refuse_other_account(name, environment)
    # All clusters are deployed, so each must be deployable.
    launches = {cluster_name: launch_of(environment, choice) for cluster_name, choice in environment.clusters.items()}
    for launch in launches.values():
        check_deployable(launch)
    return launches[environment.active.name]


def _refuse_other_account(name: str, environment: Environment) -> None:
    if environment.account in (None, ACCOUNT):
        return
    problem = Problem(
        where=load_document(locate(name), environment.source).where(("account",)),
        what="account",
        why=f"the local AWS has one account, {ACCOUNT}; the file pins {environment.account}",
        fix="remove `account` from a copy of the file, and run the demo on the copy",
    )
    raise InvalidInput([problem])


def _check(selection: str, launch: Launch, output: Path, progress: Progress) -> None:
    with progress.step("render the classifications") as say:
        properties = [path for level in launch.settings for path, _, _ in flattened(level)]
        say(f"{len(properties)} properties in {len(set(properties))} classifications")
    with progress.step(f"cdk synth -c {selection}") as say:
        no_aws = local_environment(NOWHERE, launch.environment.region, os.environ)
        run_cdk(("synth", "-c", selection, "--quiet", "--output", str(output)), no_aws, say)
        say("done")
    with progress.step("cfn-lint the templates") as say:
        templates, errors = lint_errors(output)
        if errors:
            raise OperationFailed.of(
                where=str(output),
                what="cfn-lint found errors in the templates",
                why="\n".join(errors),
                fix="correct the template that each line names",
            )
        say(f"{templates} templates, no error")


@contextmanager
def _started(hosting: Hosting, region: str, progress: Progress) -> Iterator[LocalAws]:
    with ExitStack() as stack:
        if hosting.endpoint:
            with progress.step(f"use the local AWS at {hosting.endpoint}") as say:
                local = stack.enter_context(running_aws(hosting.endpoint, region))
                say("it answers")
        else:
            with progress.step("start a local AWS (an emulator: no node starts, no HBase runs)") as say:
                local = stack.enter_context(local_aws(region, keep=hosting.keep))
                say(local.endpoint)
        yield local


def _cycle(cycle: Cycle, *, keep: bool) -> Demo:
    output = ("--output", str(cycle.output))
    cycle.cdk("bootstrap", quiet=output)
    _store_password(cycle)
    _stand_in(cycle)
    cycle.cdk("deploy", "--all", quiet=("--require-approval", "never", *output))
    cluster_id, comparisons = _read_back(cycle)
    retained = () if keep else _remove(cycle, cluster_id)
    return Demo(
        plan=cycle.launch.plan,
        cluster_name=cycle.launch.environment.active.name,
        cluster_id=cluster_id,
        comparisons=comparisons,
        retained_buckets=retained,
        background_aws=cycle.local if keep else None,
    )


def _store_password(cycle: Cycle) -> None:
    """Store a password in the local AWS where the environment names a secret; a real one is never read."""
    kerberos = cycle.launch.environment.kerberos
    if kerberos is None:
        return
    identity, key = kerberos.secret
    password = secrets.token_urlsafe()
    with cycle.progress.step(f"store a password for the KDC as secret {identity} of the local AWS") as say:
        with suppress(cycle.aws.secrets.exceptions.ResourceExistsException):
            cycle.aws.secrets.create_secret(
                Name=identity, SecretString=json.dumps({key: password}) if key else password
            )
        say("done")


def _stand_in(cycle: Cycle) -> None:
    """Create stand-ins for the resources that the environment names, which exist in another account only."""
    environment = cycle.launch.environment
    if environment.network.vpc is None and not environment.root.existing:
        return
    with cycle.progress.step("create what the environment names and this emulator lacks") as say:
        names = create_stand_ins(cycle.aws, environment)
        subject = "each stands in for yours and exists" if len(names) > 1 else "stands in for yours: it exists"
        say(f"{', '.join(names)}: {subject} only here" if names else "all of it exists")


def _read_back(cycle: Cycle) -> tuple[str, tuple[Comparison, ...]]:
    with cycle.progress.step("compare what EMR, CloudWatch and S3 now hold with the rendered files") as say:
        cluster, comparisons = compare_deployed(cycle.aws, cycle.launch)
        differences = [f"{comparison.subject}: {line}" for comparison in comparisons for line in comparison.differences]
        if differences:
            raise Drifted(
                f"cluster {cluster.id}",
                differences,
                why="differs from what was rendered",
                fix=_remedy(cycle.launch.environment),
            )
        say(
            f"{cluster.id} is {cluster.state}; {sum(comparison.facts for comparison in comparisons)} facts,"
            " no difference"
        )
    return cluster.id, comparisons


def _remedy(environment: Environment) -> str:
    """Return how to end a difference: a launch record deploys the recorded cluster, whatever the file says today."""
    if not launch_records(environment):
        return "run the demo again from a clean checkout; if it differs again, report it"
    file = Path(environment.source)
    return (
        f"{file.with_suffix('.launch')} records a running cluster, and the demo deployed that cluster, not today's"
        f" file: run the demo on a copy elsewhere: mkdir copy && cp {file} copy/ && warmbase demo copy/{file.name}"
    )


def _remove(cycle: Cycle, cluster_id: str) -> tuple[str, ...]:
    environment = cycle.launch.environment.name
    with cycle.progress.step("lift termination protection (only on this machine)") as say:
        say(f"lifted from {len(_lift_protection(cycle.local, environment, cluster_id))} resources")
    cycle.cdk("destroy", "--all", quiet=("--force", "--output", str(cycle.output)))
    with cycle.progress.step("check the remaining resources") as say:
        remaining = _remaining_stacks(cycle.aws, environment)
        retained = _root_buckets(cycle.aws, environment)
        if remaining or not retained:
            raise OperationFailed.of(
                where=environment,
                what="the demo did not remove what it deployed",
                why=f"stacks left: {remaining or 'none'}; buckets left: {retained or 'none'}",
                fix="end the local AWS, which keeps nothing, and run the demo again",
            )
        say(f"no stack; {len(retained)} buckets retained")
    return retained


def _lift_protection(local: LocalAws, environment: str, cluster_id: str) -> tuple[str, ...]:
    """End the termination protection of the cluster and of the environment's stacks; return those that had any.

    Raises InvalidInput for an endpoint that is not on this machine: protection is lifted here and nowhere else.
    """
    refuse_remote(local.endpoint)
    aws = Aws(local.environment, any_call)
    clusters = [cluster_id] if aws.emr.describe_cluster(ClusterId=cluster_id)["Cluster"]["TerminationProtected"] else []
    if clusters:
        aws.emr.set_termination_protection(JobFlowIds=clusters, TerminationProtected=False)
    stacks = [stack["StackName"] for stack in _stacks(aws, environment) if stack.get("EnableTerminationProtection")]
    for stack in stacks:
        aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
    return (*clusters, *stacks)


def _remaining_stacks(aws: Aws, environment: str) -> tuple[str, ...]:
    return tuple(stack["StackName"] for stack in _stacks(aws, environment))


def _stacks(aws: Aws, environment: str) -> list[StackTypeDef]:
    return [
        stack
        for stack in aws.cloudformation.describe_stacks()["Stacks"]
        if stack["StackName"].startswith(f"warmbase-{environment}-") and stack["StackStatus"] != "DELETE_COMPLETE"
    ]


def _root_buckets(aws: Aws, environment: str) -> tuple[str, ...]:
    buckets = aws.s3.list_buckets()["Buckets"]
    return tuple(bucket["Name"] for bucket in buckets if bucket["Name"].startswith(f"warmbase-{environment}-"))
