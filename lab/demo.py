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
from warmbase.configurations.launch import launch_of
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import launch_records
from warmbase.environments.reader import locate, read_environment
from warmbase.environments.reader.document import load_document
from warmbase.ground.errors import Drifted, InvalidInput, OperationFailed
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
        environment = read_environment(name)
        if environment.account not in (None, ACCOUNT):
            raise InvalidInput.of(
                where=load_document(locate(name), environment.source).where(("account",)),
                what="account",
                why=f"the local AWS has one account, {ACCOUNT}; the file pins {environment.account}",
                fix="remove `account` from a copy of the file, and run the demo on the copy",
            )
        # All clusters are deployed, so each must be deployable.
        launches = {cluster: launch_of(environment, choice) for cluster, choice in environment.clusters.items()}
        for candidate in launches.values():
            check_deployable(candidate)
        launch = launches[environment.active.name]
        say(f"{launch.plan.core.count} x {launch.plan.core.instance_type} for {launch.plan.environment}")
    progress.show(environment, launch.plan)
    with tempfile.TemporaryDirectory(prefix="warmbase-demo-") as scratch, ExitStack() as stack:
        chosen, output = selection(name), str(Path(scratch) / "cdk.out")
        with progress.step("render the classifications") as say:
            properties = [path for level in launch.settings for path, _, _ in flattened(level)]
            say(f"{len(properties)} properties in {len(set(properties))} classifications")
        with progress.step(f"cdk synth -c {chosen}") as say:
            no_aws = local_environment(NOWHERE, environment.region, os.environ)
            run_cdk(("synth", "-c", chosen, "--quiet", "--output", output), no_aws, say)
            say("done")
        with progress.step("cfn-lint the templates") as say:
            templates, errors = lint_errors(Path(output))
            if errors:
                raise OperationFailed.of(
                    where=output,
                    what="cfn-lint found errors in the templates",
                    why="\n".join(errors),
                    fix="correct the template that each line names",
                )
            say(f"{templates} templates, no error")
        if hosting.endpoint:
            with progress.step(f"use the local AWS at {hosting.endpoint}") as say:
                local = stack.enter_context(running_aws(hosting.endpoint, environment.region))
                say("it answers")
        else:
            with progress.step("start a local AWS (an emulator: no node starts, no HBase runs)") as say:
                local = stack.enter_context(local_aws(environment.region, keep=hosting.keep))
                say(local.endpoint)
        aws = Aws(local.environment, any_call)

        def cdk(*arguments: str, quiet: tuple[str, ...]) -> None:
            """Run the CDK command line as a user would, with options that silence it and keep it from leaving files."""
            command = (arguments[0], "-c", chosen, *arguments[1:])
            with progress.step(" ".join(("cdk", *command))) as say:
                run_cdk((*command, *quiet, "--output", output), local.environment, say)
                say("done")

        cdk("bootstrap", quiet=())
        _create_what_exists(aws, environment, progress)
        cdk("deploy", "--all", quiet=("--require-approval", "never"))
        with progress.step("compare what EMR, CloudWatch and S3 now hold with the rendered files") as say:
            cluster, comparisons = compare_deployed(aws, launch)
            differences = [f"{one.subject}: {line}" for one in comparisons for line in one.differences]
            if differences:
                raise Drifted(
                    f"cluster {cluster.id}",
                    differences,
                    why="differs from what was rendered",
                    fix=_remedy(environment),
                )
            facts = sum(comparison.facts for comparison in comparisons)
            say(f"{cluster.id} is {cluster.state}; {facts} facts, no difference")
        retained: tuple[str, ...] = ()
        if not hosting.keep:
            with progress.step("lift termination protection (only on this machine)") as say:
                say(f"lifted from {_lift_protection(local, environment.name, cluster.id)} resources")
            cdk("destroy", "--all", quiet=("--force",))
            with progress.step("check the remaining resources") as say:
                remaining = tuple(stack["StackName"] for stack in _stacks(aws, environment.name))
                names = (bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"])
                retained = tuple(name for name in names if name.startswith(f"warmbase-{environment.name}-"))
                if remaining or not retained:
                    raise OperationFailed.of(
                        where=environment.name,
                        what="the demo did not remove what it deployed",
                        why=f"stacks left: {remaining or 'none'}; buckets left: {retained or 'none'}",
                        fix="end the local AWS, which keeps nothing, and run the demo again",
                    )
                say(f"no stack; {len(retained)} buckets retained")
        yield Demo(
            plan=launch.plan,
            cluster_name=environment.active.name,
            cluster_id=cluster.id,
            comparisons=comparisons,
            retained_buckets=retained,
            background_aws=local if hosting.keep else None,
        )


def _create_what_exists(aws: Aws, environment: Environment, progress: Progress) -> None:
    """Create in the local AWS what the environment names, and what exists in another account only.

    Where it names a secret of the KDC, that is a new password; the real one is never read.
    """
    if (kerberos := environment.kerberos) is not None:
        identity, key = kerberos.secret
        password = secrets.token_urlsafe()
        with progress.step(f"store a password for the KDC as secret {identity} of the local AWS") as say:
            with suppress(aws.secrets.exceptions.ResourceExistsException):
                aws.secrets.create_secret(Name=identity, SecretString=json.dumps({key: password}) if key else password)
            say("done")
    if environment.network.vpc is not None or environment.root.existing:
        with progress.step("create what the environment names and this emulator lacks") as say:
            names = create_stand_ins(aws, environment)
            subject = "each stands in for yours and exists" if len(names) > 1 else "stands in for yours: it exists"
            say(f"{', '.join(names)}: {subject} only here" if names else "all of it exists")


def _remedy(environment: Environment) -> str:
    """Return how to end a difference: a launch record deploys the recorded cluster, whatever the file says today."""
    if not launch_records(environment):
        return "run the demo again from a clean checkout; if it differs again, report it"
    file = Path(environment.source)
    return (
        f"{file.with_suffix('.launch')} records a running cluster, and the demo deployed that cluster, not today's"
        f" file: run the demo on a copy elsewhere: mkdir copy && cp {file} copy/ && warmbase demo copy/{file.name}"
    )


def _lift_protection(local: LocalAws, environment: str, cluster_id: str) -> int:
    """End the termination protection of the cluster and of the environment's stacks; return how many had any.

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
    return len(clusters) + len(stacks)


def _stacks(aws: Aws, environment: str) -> list[StackTypeDef]:
    return [
        stack
        for stack in aws.cloudformation.describe_stacks()["Stacks"]
        if stack["StackName"].startswith(f"warmbase-{environment}-") and stack["StackStatus"] != "DELETE_COMPLETE"
    ]
