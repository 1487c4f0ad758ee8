"""A run of the canary: its directory with the answers of each stage, and the environment that it deploys.

The directory holds the environment file, so every other command works on it, and the launch record lies beside it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

import msgspec
from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from warmbase.changes.planned_cluster import PlannedCluster, deployable_cluster
from warmbase.environments.environment import Environment, Wal
from warmbase.environments.names import CANARY_TAG, network_stack, storage_stack
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, EXPIRED, THROTTLED, error_code, translated
from warmbase.operations.aws.lock import current_lock, remove_lock
from warmbase.operations.aws.progress import Progress, Stage, carry_out
from warmbase.operations.cluster.stack import EnvironmentCluster, environment_cluster, status_of, template_of
from warmbase.operations.deploy.cdk import Assembly
from warmbase.operations.deploy.change_set import NO_STACK
from warmbase.operations.verify.check import CheckResult

FIRST: Final = "blue"
SECOND: Final = "green"
LAUNCH: Final = 1
REFUSAL: Final = 4
LAST_STAGE: Final = 5
MOST_LETTERS: Final = 14
"""A name has at most 21 characters, and `-canary` follows."""
SMALL: Final = """\
workload:
  stored: 200 GiB
  block_size: 64 KiB
  cell: 1 KiB
  row: 10 KiB
  reads: {per_second: 200}
  regions: 40
targets: {hit_ratio: 0.9, lost_nodes: 0}
"""
"""The workload of environments/dev.yaml: two small core nodes carry it."""
CHANGED: Final = "overrides: {hbase-site: {hbase.rpc.timeout: '90000'}}\n"
"""One property that costs no cache: a reconfiguration sets it."""
Answer = TypeVar("Answer")


class StageOutcome(Struct, frozen=True, kw_only=True):
    """The findings of a stage: lines for people, beginning with a summary, and the results of checks."""

    lines: tuple[str, ...] = ()
    results: tuple[CheckResult, ...] = ()


class StageAnswer(Struct, frozen=True, kw_only=True):
    """The saved outcome of a stage; `failure` is empty where it ended well."""

    stage: int
    seconds: float
    failure: str
    lines: tuple[str, ...]
    results: tuple[CheckResult, ...]


class RunRecord(Struct, frozen=True, kw_only=True):
    """The content of run.json: the environment that the run is for, and the name of the one that it deploys."""

    source: str
    name: str


class CanaryRun(Struct, frozen=True, kw_only=True):
    """The directory of one run, and the name of the environment that it deploys."""

    directory: Path
    name: str

    @property
    def file(self) -> Path:
        """Return the file of the environment."""
        return self.directory / f"{self.name}.yaml"

    @property
    def second_file(self) -> Path:
        """Return the file that has, in place of the first cluster, a second one over the same root."""
        return self.directory / "second" / f"{self.name}.yaml"

    def answer(self, stage: int) -> StageAnswer | None:
        """Return the saved answer of a stage; None where there is none yet."""
        return _read(self.directory / f"stage-{stage}.json", StageAnswer)

    def answers(self) -> tuple[StageAnswer, ...]:
        """Return the saved answers, in the order of the stages."""
        return tuple(answer for stage in range(LAST_STAGE + 1) if (answer := self.answer(stage)) is not None)

    def save(self, answer: StageAnswer) -> None:
        """Save the answer of a stage."""
        text = msgspec.json.format(msgspec.json.encode(answer)).decode()
        self.write(self.directory / f"stage-{answer.stage}.json", text)

    def begin(self, environment: Environment) -> None:
        """Write the files of the run, as far as they do not exist."""
        files = {
            self.directory / "run.json": json.dumps({"source": environment.source, "name": self.name}, indent=1),
            self.file: _environment_text(environment, self.name),
            self.second_file: _environment_text(environment, self.name, second=True),
        }
        for file, text in files.items():
            if not file.exists():
                self.write(file, text)

    def write(self, file: Path, text: str) -> None:
        """Write a file whole or not at all."""
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)


def canary_name(environment: Environment) -> str:
    """Return the name of the environment that the canary of an environment deploys."""
    return f"{environment.name[:MOST_LETTERS].rstrip('-')}-canary"


def open_run(environment: Environment, parent: Path, today: str) -> CanaryRun:
    """Return the unfinished run of an environment below a directory, or a new one, of which no file exists yet."""
    name = canary_name(environment)
    for file in sorted(parent.glob("*/run.json"), reverse=True):
        record = _read(file, RunRecord)
        run = CanaryRun(directory=file.parent, name=name)
        last = run.answer(LAST_STAGE)
        if record is not None and record.name == name and (last is None or last.failure):
            return run
    others = [path.name for path in parent.glob(f"{today}*")]
    directory = parent / (today if today not in others else f"{today}-{len(others) + 1}")
    return CanaryRun(directory=directory, name=name)


def _environment_text(environment: Environment, name: str, *, second: bool = False) -> str:
    """Return the text of a small environment in the place, and with the release, of another one.

    `second` names another cluster over the same root, with three primary nodes; every other resource is shared.
    """
    network = {"availability_zone": environment.network.availability_zone}
    if not environment.network.endpoint_policies:
        network["endpoint_policies"] = "false"
    settings: dict[str, str | None] = {
        "name": name,
        "account": f"'{environment.account}'" if environment.account else None,
        "region": environment.region,
        "release": environment.release,
        "os_release": environment.os_release and f"'{environment.os_release}'",
        "network": _flow(network),
        "tags": json.dumps({**environment.tags, CANARY_TAG: name}, ensure_ascii=False),
        "storage": "{wal: emr-wal}" if environment.wal is Wal.EMR_WAL else None,
        "security": None if environment.encrypt_local_disks else "{local_disks: false}",
        "alarms": environment.alarm_email and _flow({"email": json.dumps(environment.alarm_email)}),
    }
    head = "".join(f"{key}: {value}\n" for key, value in settings.items() if value)
    cluster, primaries = (SECOND, 3) if second else (FIRST, 1)
    nodes = f"{{primaries: {primaries}, core: {{families: [m8g, r8g, m7g]}}}}"
    return f"# Written by `warmbase canary`.\n{head}{SMALL}clusters:\n  {cluster}: {nodes}\n"


def _flow(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"


def _read(file: Path, kind: type[Answer]) -> Answer | None:
    """Return the content of a JSON file of this type; None where the file does not exist."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return None


class Canary(Struct, frozen=True, kw_only=True):
    """A run with the clients and variables of its account. Each stage reads the state from AWS when it begins."""

    aws: Aws
    run: CanaryRun
    variables: Mapping[str, str]
    progress: Progress

    @property
    def is_rehearsal(self) -> bool:
        """Return whether an emulated AWS answers."""
        return bool(self.variables.get("AWS_ENDPOINT_URL"))

    @property
    def environment(self) -> Environment:
        """Return the environment that the run deploys."""
        return read_environment(str(self.run.file))

    @property
    def planned(self) -> PlannedCluster:
        """Return today's plan of the first cluster, with its launch record once it has one."""
        return deployable_cluster(self.environment, FIRST)

    @property
    def cluster(self) -> EnvironmentCluster | None:
        """Return the first cluster; None where none was launched."""
        return environment_cluster(self.aws, self.environment, FIRST)

    def running_cluster(self) -> EnvironmentCluster:
        """Return the first cluster. Raises Refused where it does not run, because its backstop has ended it."""
        cluster = self.cluster
        if cluster is None or not cluster.is_running:
            raise Refused.of(
                where=f"cluster {FIRST} of {self.run.name}",
                what=f"does not run: {cluster.state_text if cluster else 'none was launched'}",
                why="its launch failed, or its backstop has ended it",
                fix="clear away what is left with --stages 5, and begin another run",
            )
        return cluster

    @contextmanager
    def assembly(self, file: Path) -> Iterator[Assembly]:
        """Yield the assembly of an environment file, in a directory of its own."""
        with TemporaryDirectory(prefix="warmbase-canary-") as directory:
            yield Assembly(name=str(file), aws=self.aws, variables=self.variables, directory=Path(directory))

    def refuse_other_stacks(self) -> None:
        """Raise Refused where the stacks of an environment have the canary's names: it would change and delete them."""
        tag = {"Key": CANARY_TAG, "Value": self.run.name}
        with translated("could not read the deployed stacks", AGAIN):
            for stack in (network_stack(self.run.name), storage_stack(self.run.name)):
                if status_of(self.aws, stack) not in NO_STACK and json.dumps(tag) not in json.dumps(
                    template_of(self.aws, stack)
                ):
                    raise Refused.of(
                        where=f"stack {stack}",
                        what="exists, and no canary has made it",
                        why=f"the canary deploys an environment named {self.run.name}, and deletes it at its end",
                        fix="run the canary of an environment with another name, or in another account or region",
                    )

    def remove_stale_lock(self) -> None:
        """Remove the lock that a canary of this machine left behind, whose process no longer runs."""
        holder = current_lock(self.aws, self.run.name)
        if holder is None or (holder.command, holder.host) != ("warmbase canary", socket.gethostname()):
            return
        try:
            os.kill(int(holder.pid.partition(" ")[0]), 0)
        except ProcessLookupError:
            remove_lock(self.aws, self.run.name, holder.token)
        except (ValueError, PermissionError):
            return

    def carry_out(self, steps: Iterator[Stage]) -> None:
        """Carry out the steps of another command."""
        carry_out(steps, self.progress)

    def log_bucket(self) -> str:
        """Return the name of the log bucket."""
        environment = self.environment
        return environment.in_account(environment.log_bucket, self.aws.account)


def is_interruption(error: BaseException | None) -> bool:
    """Return whether an error says that AWS could not be asked, rather than what it answered."""
    while error is not None:
        if isinstance(error, BotoCoreError):
            return True
        if isinstance(error, ClientError) and error_code(error) in EXPIRED | THROTTLED:
            return True
        error = error.__cause__
    return False
