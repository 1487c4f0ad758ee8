"""One stack, changed by a change set of the CDK command line that is checked before it is executed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import error_code, translated
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.failed_launch import wait_until_stable
from warmbase.operations.cluster.protection import RETAINED_TYPES, protect_stack
from warmbase.operations.cluster.stack import Events, template_of
from warmbase.operations.deploy.cdk import Assembly, run_cdk

PREFIX: Final = "warmbase"
"""The beginning of the name of each of our change sets; the names are unique, so nobody executes another's."""
NO_STACK: Final = frozenset({None, "REVIEW_IN_PROGRESS"})
"""The statuses of a stack that does not exist, or that only has a change set."""


def deploy_stack(assembly: Assembly, stack: str, say: Say) -> str:
    """Makes the stack what its template says; the outcome in a line. Without a difference nothing is done.

    Raises Refused where a change would lose something, OperationFailed where it cannot begin, and where it fails.
    """
    aws = assembly.aws
    with translated(f"could not deploy stack {stack}", "run the same command again to continue"):
        before = wait_until_stable(aws, stack, say)
        if before not in NO_STACK and template_of(aws, stack) == assembly.template(stack):
            protect_stack(aws, stack)
            return f"{before}, as its template says"
        _forget(aws, stack)
        name = f"{PREFIX}-{uuid.uuid4().hex}"
        _run(assembly, stack, "prepare-change-set", name, say)
        described = _described(aws, stack, name)
        if not described or described[0]["ExecutionStatus"] != "AVAILABLE":
            return f"{before}, as its template says" if before else "empty"
        # By its ARN, which belongs to the change set that is checked here and to no other.
        arn, changes = described[0]["ChangeSetId"], [change for page in described for change in page["Changes"]]
        lost = list(losses(changes))
        if lost:
            aws.cloudformation.delete_change_set(ChangeSetName=arn)
            raise Refused.of(
                where=f"stack {stack}",
                what="was not changed: its change set would remove resources that must be retained",
                why="\n".join(lost),
                fix="if a cluster runs without its launch record, write the record with `warmbase pin`, and deploy"
                " again; otherwise revert the change in the file or in this checkout",
            )
        if before not in NO_STACK:
            protect_stack(aws, stack)
        events = Events(aws, stack)
        try:
            _run(assembly, stack, "execute-change-set", arn, say)
        except OperationFailed:
            # Why, the stack's events say; where there are none, nothing was executed.
            if not events.begun:
                raise
        status = events.followed(say)
        if status not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
            raise OperationFailed.of(
                where=f"stack {stack}",
                what=f"ended {status}",
                why="\n".join(events.failures()) or "CloudFormation gave no reason",
                fix="fix the cause that the lines above name, then run the same command again",
            )
        if before in NO_STACK:
            protect_stack(aws, stack)
        return f"{status}, {len(changes)} resource{'s' * (len(changes) != 1)}"


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


def _run(assembly: Assembly, stack: str, action: str, change_set: str, say: Say) -> None:
    """Prepare or execute a change set by the CDK's own role for deployments, whatever else the credentials may do."""
    assembly.aws.check(action)

    def report(line: str) -> None:
        assembly.aws.check("DescribeChangeSet")
        say(line)

    command = ("deploy", stack, "--exclusively", "--app", str(assembly.directory), "--require-approval", "never")
    options = ("--progress", "events", "--method", action, "--change-set-name", change_set)
    run_cdk((*command, *options), assembly.variables, report)


def _described(aws: Aws, stack: str, change_set: str) -> list[Mapping[str, Any]]:
    """Return the pages of a change set; none where there was nothing to change, so that it does not exist."""
    try:
        pages: Any = aws.cloudformation.get_paginator("describe_change_set").paginate(
            ChangeSetName=change_set, StackName=stack
        )
        return list(pages)
    except ClientError as error:
        if error_code(error) == "ChangeSetNotFound" or "does not exist" in str(error):
            return []
        raise


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
