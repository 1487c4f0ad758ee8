"""Operators of one environment, each with their own checkout, whose commands run in this process.

The commands are those of the command line. Their calls go to an in-process AWS, the CDK command line is replaced by the
same change sets, and a new cluster claims its root as a node would. `World.pause` is called wherever a command could
be interrupted, so that another one can run there.
"""

from __future__ import annotations

import atexit
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from botocore.exceptions import ClientError
from msgspec import Struct, field

from tests.operations.deployed import PROJECT, Deployed, deployed
from tests.operations.killable import Killed
from tests.operations.mocked_aws import ASSETS, clients, operator
from warmbase import app
from warmbase.cli.commands import COMMANDS, command_module, warmbase
from warmbase.environments.launch_record import launch_records
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import WarmbaseError
from warmbase.operations.aws import clients as identity
from warmbase.operations.aws import lock, node_command
from warmbase.operations.aws.clients import Aws, Gate, only_reading
from warmbase.operations.aws.lock import current_lock
from warmbase.operations.cluster import stack as environment_cluster
from warmbase.operations.cluster.drift import digest
from warmbase.operations.deploy import cdk, change_set, tuning

STACK = "warmbase-dev-blue-cluster"
ROOT, CLAIM = "warmbase-dev-root-123456789012-us-east-1", "hbase.warmbase-claim"
ANSWERS: Mapping[str, Any] = {
    **{key: [] for key in ("tables", "enabled", "flushed", "servers", "files")}, "down": True, "directory": "/WAL",
    "returned": False,
}  # fmt: skip
SETTINGS = {"A": ("hbase.rpc.timeout", "90000"), "B": ("hbase.client.scanner.timeout.period", "120000")}


class Outcome(Struct, dict=True):
    """The outcome of one command: its exit code, which is None if it was killed, and what it printed."""

    code: int | None
    text: str


class World(Struct, dict=True):
    """Two checkouts and the account that they share. `pause` gets the name of each place that a command reaches."""

    directory: Path
    pause: Callable[[str], None] = lambda _: None
    active: list[str] = field(default_factory=list)
    proposals: dict[str, str] = field(default_factory=dict)
    launches: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    is_dead: bool = False
    is_stolen: bool = False
    """Somebody else has written the claim, so it does not have to name the running cluster."""

    @property
    def aws(self) -> Aws:
        """Return clients without a gate."""
        return clients()

    def file(self, name: str) -> Path:
        """Return the environment file of that operator's checkout."""
        return self.directory / name / "dev.yaml"

    def run(self, name: str, *arguments: str) -> Outcome:
        """Run a command to its end. A killed one leaves its lock behind."""
        command, *options = arguments
        words = [str(self.file(name)) if word == "ENV" else word for word in options]
        text = io.StringIO()
        self.active.append(name)
        gate = operator(name).gate
        try:
            with redirect_stdout(text), redirect_stderr(text):
                code = self._code(command, words)
        finally:
            self.active.pop()
            operator(name).gate = gate
        return Outcome(code, text.getvalue())

    def _code(self, command: str, words: Sequence[str]) -> int | None:
        try:
            chosen = warmbase.get_command(click.Context(warmbase), command)
            assert chosen is not None
            chosen.main(list(words), prog_name=command, standalone_mode=False)
        except WarmbaseError as error:
            click.echo(str(error), err=True)
            return error.exit_code
        except Killed:
            return None
        finally:
            self.is_dead = False
        return 0

    def unlock(self, name: str) -> None:
        """Remove the lock as its message says."""
        holder = current_lock(self.aws, "dev")
        if holder is not None:
            assert self.run(name, "unlock", "ENV", "--yes", "--token", holder.token).code == 0

    def running(self) -> list[str]:
        """Return the clusters that may write."""
        clusters = self.aws.emr.list_clusters()["Clusters"]
        ours = [cluster for cluster in clusters if cluster["Name"] == "warmbase-dev-blue"]
        return [cluster["Id"] for cluster in ours if not cluster["Status"]["State"].startswith("TERMINATED")]

    def settings(self) -> list[dict[str, str]]:
        """Return the properties in force of each group of the cluster that runs."""
        [identity] = self.running()
        groups: Any = self.aws.emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]
        return [
            {key: value for part in group["Configurations"] for key, value in part.get("Properties", {}).items()}
            for group in groups
        ]

    def record(self, name: str) -> str | None:
        """Return the cluster that the checkout's record names."""
        record = launch_records(read_environment(str(self.file(name)))).get("blue")
        return record.cluster_id if record else None

    def claim(self) -> str | None:
        """Return the cluster that the claim names; None where there is no claim."""
        try:
            body = self.aws.s3.get_object(Bucket=ROOT, Key=CLAIM)["Body"].read()
        except self.aws.s3.exceptions.NoSuchKey:
            return None
        return str(json.loads(body)["cluster"])

    def write_claim(self, cluster: str) -> None:
        """Write the claim as a node does."""
        content = {"cluster": cluster, "region": "us-east-1", "account": "123456789012", "claimed_at": "2026-11-20"}
        try:
            condition: Any = {"IfMatch": self.aws.s3.head_object(Bucket=ROOT, Key=CLAIM)["ETag"]}
        except ClientError:
            condition = {"IfNoneMatch": "*"}
        self.aws.s3.put_object(Bucket=ROOT, Key=CLAIM, Body=json.dumps(content).encode(), **condition)

    def end_cluster(self) -> None:
        """Terminate the running cluster, as somebody can in the console."""
        for cluster in self.running():
            self.aws.emr.set_termination_protection(JobFlowIds=[cluster], TerminationProtected=False)
            self.aws.emr.terminate_job_flows(JobFlowIds=[cluster])

    def check(self, where: str) -> None:
        """Record each law that is broken now."""
        running = self.running()
        if len(running) > 1:
            self.violations.append(f"{where}: two writers: {running}")
        if running and self.claim() not in running and not self.is_stolen:
            self.violations.append(f"{where}: {running} runs, and the claim names {self.claim()}")

    def cdk(
        self, arguments: Sequence[str], variables: Mapping[str, str], say: Callable[[str], None] = lambda _: None
    ) -> None:
        """Do what the CDK command line does, on the in-process AWS, with credentials of its own."""
        del variables
        if arguments[0] == "synth":
            name, output = arguments[2].partition("=")[2], Path(arguments[arguments.index("--output") + 1])
            shutil.copytree(_synthesised(Path(name)), output, dirs_exist_ok=True)
            return
        stack, method, name = arguments[1], arguments[-3], arguments[-1]
        directory = Path(arguments[arguments.index("--app") + 1])
        say(f"{stack}: {method}")
        self.pause(f"cdk {method} {stack}")
        formation: Any = self.aws.cloudformation
        if method == "execute-change-set":
            before = set(self.running())
            formation.execute_change_set(ChangeSetName=name)
            for cluster in set(self.running()) - before:
                self._claim_root(cluster)
            return
        for asset in directory.glob("asset.*"):
            self.aws.s3.put_object(Bucket=ASSETS, Key=asset.name.removeprefix("asset."), Body=asset.read_bytes())
        known = {one["StackName"] for one in formation.describe_stacks()["Stacks"]
                 if one["StackStatus"] not in {"REVIEW_IN_PROGRESS", "DELETE_COMPLETE"}}  # fmt: skip
        formation.create_change_set(
            StackName=stack,
            ChangeSetName=name,
            ChangeSetType="UPDATE" if stack in known else "CREATE",
            TemplateBody=(directory / f"{stack}.template.json").read_text(),
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )

    def _claim_root(self, cluster: str) -> None:
        """Let the cluster claim its root; end it if another cluster has the claim."""
        self.launches.append(cluster)
        name = self.active[-1]
        if "blue: a new cluster" not in self.proposals.get(name, ""):
            self.violations.append(f"{name} launched {cluster}, which nobody had proposed")
        if self.claim() in self.running():
            self.violations.append(f"{name} launched {cluster} while {self.claim()} holds the claim")
            return
        self.write_claim(cluster)


class Steps:
    """Progress that pauses the world as each step begins."""

    world: World

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """Pause, and run the step."""
        self.world.pause(title)
        yield lambda line: click.echo(line, err=True)
        self.world.check(title)


_syntheses: dict[str, Path] = {}


def _synthesised(file: Path) -> Path:
    """Return the assembly of an environment file and its record; it depends neither on their place nor on the time."""
    record = launch_records(read_environment(str(file))).get("blue")
    about = {**record.document(), "cluster_id": "", "launched_at": ""} if record else {}
    key = digest([file.read_text(), about])
    if key not in _syntheses:
        directory = Path(tempfile.mkdtemp(prefix="warmbase-tests-"))
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        _syntheses[key] = app.synthesise(str(file), str(directory)).assembly
    return _syntheses[key]


def install_world(world: World, patch: pytest.MonkeyPatch) -> None:
    """Let every command run in this process, as the operator that is active."""
    for module in (tuning, environment_cluster, lock, node_command):
        patch.setattr(module, "FIRST_POLL_SECONDS", 0.0)
        patch.setattr(module, "POLL_SECONDS", 0.0)
    patch.setattr(tuning, "BEGIN_SECONDS", 0.0)
    patch.setattr(tuning, "PUBLISHED_SECONDS", 0.0)
    patch.setattr(node_command.PrimaryShell, "run", lambda *_: ANSWERS)
    for module in (cdk, change_set):
        patch.setattr(module, "run_cdk", world.cdk)

    def aws_of(_: Mapping[str, str], gate: Gate = only_reading) -> Aws:
        clients_of = operator(world.active[-1])
        clients_of.gate = gate
        return clients_of

    def confirm(*_: object, **__: object) -> bool:
        world.proposals[world.active[-1]] = getattr(sys.stdout, "getvalue", str)()
        world.pause("question")
        return True

    remove = lock.remove_lock
    patch.setattr(lock, "remove_lock", lambda *arguments: None if world.is_dead else remove(*arguments))
    patch.setattr(identity, "Aws", aws_of)
    patch.setattr(click, "confirm", confirm)
    for command in COMMANDS:
        module_name = command_module(command)
        chosen = warmbase.get_command(click.Context(warmbase), command)
        if chosen is not None and hasattr(sys.modules[module_name], "TerminalProgress"):
            patch.setattr(f"{module_name}.TerminalProgress", type("Steps", (Steps,), {"world": world}))


def checkout(world: World, name: str, source: Deployed, text: str) -> None:
    """Create a checkout for the operator: the file with a change, and a copy of the record."""
    file = world.file(name)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    if source.file.with_suffix(".launch").exists():
        shutil.copytree(source.file.with_suffix(".launch"), file.with_suffix(".launch"), dirs_exist_ok=True)


def changed_text(name: str) -> str:
    """Return the text of the environment file with the setting that the operator changes."""
    key, value = SETTINGS[name]
    text = (PROJECT / "environments/dev.yaml").read_text()
    return text.replace("clusters:", f"overrides: {{hbase-site: {{{key}: '{value}'}}}}\nclusters:", 1)


def deployed_world(directory: Path) -> Deployed:
    """Return a deployed environment whose cluster holds its claim."""
    directory.mkdir(exist_ok=True)
    here = deployed(clients(), directory)
    World(directory).write_claim(here.cluster_id)
    clients().ssm.put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="21", Type="String")
    return here


def deployed_checkout(directory: Path, patch: pytest.MonkeyPatch) -> tuple[Deployed, World]:
    """Return a deployed environment, and the world in which operator A has its checkout."""
    here, world = deployed_world(directory), World(directory)
    install_world(world, patch)
    checkout(world, "A", here, changed_text("A"))
    return here, world
