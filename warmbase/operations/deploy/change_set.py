"""One stack, changed by a change set of the CDK command line that is checked before it is executed.

The CDK command line is a process whose lines can be followed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.environments.reader import locate
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.package import EXAMPLES, PACKAGE, is_checkout
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import error_code, translated
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.failed_launch import wait_until_stable
from warmbase.operations.cluster.protection import RETAINED_TYPES, protect_stack
from warmbase.operations.cluster.stack import Events

APP: Final = f"{shlex.quote(sys.executable)} -P -m warmbase.app"
"""The CDK app of the package; -P keeps the current directory from shadowing modules."""
LAST_LINES: Final = 25
# judgement: it needs well under a second to end; this is for a loaded machine.
STOP_SECONDS: Final = 10.0


def selection(name: str) -> str:
    """Return the environment for the CDK command line: its name where the package has it, or the path of its file."""
    file = locate(name).resolve()
    return f"environment={name if file == (EXAMPLES / f'{name}.yaml').resolve() else file}"


def cdk_command() -> Path | None:
    """Return the CDK command line: that of the checkout, or else the first on the PATH; None where there is none."""
    own = PACKAGE.parent / "node_modules" / ".bin" / "cdk"
    program = own if own.exists() else shutil.which("cdk")
    return Path(program) if program else None


def cdk_version() -> str:
    """Return the version of the CDK command line that reads what the library of this release writes."""
    document = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    return str(document["dependencies"]["aws-cdk"])


def cdk_installation() -> str:
    """Return how to get that command line."""
    return "run `make setup-deploy`" if is_checkout() else f"npm install --global aws-cdk@{cdk_version()}"


def run_cdk(
    arguments: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None] = lambda _: None
) -> None:
    """Runs `cdk ARGUMENTS` on the app of the package; on_line gets each line of its output.

    It runs in the directory of the package, where no cdk.json of another app adds to ours. Raises OperationFailed with
    the last lines when it is missing or ends badly.
    """
    program = cdk_command()
    if program is None:
        raise OperationFailed.of(
            where="cdk",
            what="is not on the PATH",
            why="it is the CDK command line, a package of npm",
            fix=cdk_installation(),
        )
    last: deque[str] = deque(maxlen=LAST_LINES)
    app = () if "--app" in arguments else ("--app", APP)
    command = [str(program), *arguments, *app, "--no-notices", "--no-color"]
    with subprocess.Popen(
        command,
        cwd=PACKAGE,
        env=_variables(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    ) as process:
        try:
            for line in process.stdout or ():
                last.append(line.rstrip())
                on_line(line.rstrip())
        except BaseException:
            _stop(process)
            raise
    if process.returncode:
        raise OperationFailed.of(
            where=f"cdk {' '.join(arguments)}",
            what=f"ended with {process.returncode}",
            why="\n".join(last),
            fix="fix the cause that the lines above name, then run the same command again",
        )


def _stop(process: subprocess.Popen[str]) -> None:
    """Ends it with what it started: the app that it runs would go on writing its templates."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)


def _variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with the virtual environment's programs first, and with Node where a package has it."""
    path = os.pathsep.join((str(Path(sys.executable).parent), variables.get("PATH", os.defpath)))
    return {**variables, "PATH": path, "CDK_DISABLE_CLI_TELEMETRY": "true", "NODE_NO_WARNINGS": "1"}


PREFIX: Final = "warmbase"
"""The beginning of the name of each of our change sets; the names are unique, so nobody executes another's."""


class Assembly(Struct, frozen=True, kw_only=True):
    """Templates and files as synthesised, where they go, and the variables that the CDK command line gets."""

    directory: Path
    aws: Aws
    variables: Mapping[str, str]

    def template(self, stack: str) -> Mapping[str, Any]:
        """Return the template of one of its stacks."""
        text = (self.directory / f"{stack}.template.json").read_text(encoding="utf-8")
        template: Mapping[str, Any] = json.loads(text)
        return template


def deploy_stack(assembly: Assembly, stack: str, say: Say) -> str:
    """Makes the stack what its template says; the outcome in a line. Without a difference nothing is done.

    Raises Refused where a change would lose something, OperationFailed where it cannot begin, and where it fails.
    """
    aws = assembly.aws
    with translated(f"could not deploy stack {stack}", "run the same command again to continue"):
        before = wait_until_stable(aws, stack, say)
        if before not in {None, "REVIEW_IN_PROGRESS"} and template_of(aws, stack) == assembly.template(stack):
            protect_stack(aws, stack)
            return f"{before}, as its template says"
        change_set = _prepared(assembly, stack, say)
        if change_set is None:
            return f"{before}, as its template says" if before else "empty"
        _refuse_losses(aws, stack, change_set)
        new = before in {None, "REVIEW_IN_PROGRESS"}
        if not new:
            protect_stack(aws, stack)
        events = Events(aws, stack)
        try:
            # By its ARN, which belongs to the change set that was checked and to no other.
            _run(assembly, stack, ("execute-change-set", change_set.arn), say)
        except OperationFailed:
            # Why, the stack's events say; where there are none, nothing was executed.
            if not events.begun:
                raise
        status = events.followed(say)
        if status not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
            raise _failed(stack, status, events)
        if new:
            protect_stack(aws, stack)
        return f"{status}, {len(change_set.changes)} resource{'s' * (len(change_set.changes) != 1)}"


def template_of(aws: Aws, stack: str) -> Mapping[str, Any]:
    """As it is deployed. Raises botocore's errors."""
    body: Any = aws.cloudformation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    template: Mapping[str, Any] = json.loads(body) if isinstance(body, str) else body
    return template


def losses(changes: list[Mapping[str, Any]]) -> Iterator[str]:
    """Each change that would, or could, replace or remove something that is kept."""
    for entry in changes:
        change = entry["ResourceChange"]
        what = f"{change['LogicalResourceId']}, {change['ResourceType']}"
        if change["ResourceType"] not in RETAINED_TYPES:
            continue
        if change["Action"] not in {"Add", "Modify", "Import", "SyncWithActual"}:
            yield f"{what}: {change['Action'].lower()}"
        elif change["Action"] == "Modify" and change.get("Replacement") != "False":
            causes = sorted({detail["Target"].get("Name", "") for detail in change.get("Details", ())} - {""})
            yield f"{what}: replacement {change.get('Replacement', 'not ruled out').lower()}, by {', '.join(causes)}"


class _ChangeSet(Struct, frozen=True, kw_only=True):
    """A change set that CloudFormation has computed, with the changes that it would make."""

    arn: str
    changes: list[Mapping[str, Any]]


def _prepared(assembly: Assembly, stack: str, say: Say) -> _ChangeSet | None:
    """Return the change set that makes the stack what its template says; None where there is nothing to do."""
    _forget(assembly.aws, stack)
    name = f"{PREFIX}-{uuid.uuid4().hex}"
    _run(assembly, stack, ("prepare-change-set", name), say)
    try:
        pages: Any = assembly.aws.cloudformation.get_paginator("describe_change_set").paginate(
            ChangeSetName=name, StackName=stack
        )
        parts = list(pages)
    except ClientError as error:
        if error_code(error) == "ChangeSetNotFound" or "does not exist" in str(error):
            return None
        raise
    if parts[0]["ExecutionStatus"] != "AVAILABLE":
        return None
    return _ChangeSet(arn=parts[0]["ChangeSetId"], changes=[change for page in parts for change in page["Changes"]])


def _run(assembly: Assembly, stack: str, method: tuple[str, str], say: Say) -> None:
    """Prepare or execute a change set by the CDK's own role for deployments, whatever else the credentials may do."""
    aws, (action, change_set) = assembly.aws, method
    aws.check(action)

    def report(line: str) -> None:
        aws.check("DescribeChangeSet")
        say(line)

    command = ("deploy", stack, "--exclusively", "--app", str(assembly.directory), "--require-approval", "never")
    options = ("--progress", "events", "--method", action, "--change-set-name", change_set)
    run_cdk((*command, *options), assembly.variables, report)


def _forget(aws: Aws, stack: str) -> None:
    """Delete the change sets that earlier runs have left: they were made from other templates."""
    try:
        pages: Any = aws.cloudformation.get_paginator("list_change_sets").paginate(StackName=stack)
        names = [
            summary["ChangeSetId"]
            for page in pages
            for summary in page["Summaries"]
            if summary["ChangeSetName"].startswith(PREFIX)
        ]
    except ClientError as error:
        if "does not exist" not in str(error):
            raise
        return
    for name in names:
        aws.cloudformation.delete_change_set(ChangeSetName=name)


def _refuse_losses(aws: Aws, stack: str, change_set: _ChangeSet) -> None:
    lost = list(losses(change_set.changes))
    if lost:
        aws.cloudformation.delete_change_set(ChangeSetName=change_set.arn)
        raise Refused.of(
            where=f"stack {stack}",
            what="was not changed: its change set would remove resources that must be retained",
            why="\n".join(lost),
            fix="if a cluster runs without its launch record, write the record with `warmbase pin`, and deploy"
            " again; otherwise revert the change in the file or in this checkout",
        )


def _failed(stack: str, status: str | None, events: Events) -> OperationFailed:
    why = "\n".join(events.failures()) or "CloudFormation gave no reason"
    return OperationFailed.of(
        where=f"stack {stack}",
        what=f"ended {status}",
        why=why,
        fix="fix the cause that the lines above name, then run the same command again",
    )
