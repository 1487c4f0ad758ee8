"""A stack as CloudFormation describes it: its status, and the events that happen to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from operations.aws import Aws
from operations.polling import turns
from operations.progress import Say
from sizing.problem import OperationFailed

# judgement: EMR gives up on a cluster that does not start within the hour; a stack waits for that.
LONGEST_SECONDS: Final = 5400.0
FIRST_POLL_SECONDS: Final = 0.2
POLL_SECONDS: Final = 5.0


def described_stack(aws: Aws, stack: str) -> Mapping[str, Any] | None:
    """Return CloudFormation's description of a stack; None where it does not exist. Raises botocore's errors."""
    try:
        [description] = aws.cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    stack_fields: Mapping[str, Any] = description
    return None if stack_fields["StackStatus"] == "DELETE_COMPLETE" else stack_fields


def status_of(aws: Aws, stack: str) -> str | None:
    """Return the status of a stack; None where it does not exist. Raises botocore's errors."""
    description = described_stack(aws, stack)
    return None if description is None else str(description["StackStatus"])


class Events:
    """The events of one stack from now on, or, unless all is seen, of its last operation."""

    def __init__(self, aws: Aws, stack: str, *, only_new: bool = True) -> None:
        self._aws = aws
        self._stack = stack
        self._past_ids = {event["EventId"] for event in self.every()} if only_new else set[str]()

    def followed(self, say: Say) -> str | None:
        """The status in which it ends; each event is said. Raises OperationFailed where it goes on for too long."""
        status, began = None, not self._past_ids
        for _ in turns(LONGEST_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
            # Asked for before its events: what it says has its event.
            status = status_of(self._aws, self._stack)
            for event in self._new():
                began = True
                say(_line(event))
            if status is None or (began and not status.endswith("_IN_PROGRESS")):
                return status
        raise OperationFailed.of(
            where=f"stack {self._stack}",
            what=f"is still {status} after {LONGEST_SECONDS / 60:.0f} minutes",
            why="CloudFormation has not finished",
            fix="check its events in the console; run the same command again to continue waiting",
        )

    @property
    def begun(self) -> bool:
        """Return whether anything has happened since."""
        newest = next(iter(self.every()), None)
        return newest is not None and newest["EventId"] not in self._past_ids

    def failures(self) -> list[str]:
        """Why the last operation failed: the resources that failed first, as CloudFormation says it."""
        last: list[Mapping[str, Any]] = []
        for event in self.every():
            last.append(event)
            if event.get("ResourceStatusReason") == "User Initiated":
                break
        reasons = [
            f"{event['LogicalResourceId']}, {event['ResourceType']}: {event.get('ResourceStatusReason', '')}"
            for event in reversed(last)
            if event["ResourceStatus"].endswith("_FAILED") and event["ResourceType"] != "AWS::CloudFormation::Stack"
        ]
        return [event for event in reasons if "cancelled" not in event][:3]

    def every(self) -> Iterator[Mapping[str, Any]]:
        """Yield every event, the newest first; none of a stack that is not there."""
        try:
            for page in self._aws.cloudformation.get_paginator("describe_stack_events").paginate(StackName=self._stack):
                events: Any = page["StackEvents"]
                yield from events
        except ClientError as error:
            if "does not exist" not in str(error):
                raise

    def _new(self) -> list[Mapping[str, Any]]:
        """Return the new events, oldest first."""
        events = []
        for event in self.every():
            if event["EventId"] in self._past_ids:
                break
            events.append(event)
        self._past_ids.update(event["EventId"] for event in events)
        return events[::-1]


def delete_stack(aws: Aws, stack: str, say: Say) -> str:
    """Delete a stack, whose template retains buckets and keys; return the outcome in words. Raises OperationFailed."""
    status = status_of(aws, stack)
    if status is None:
        return "there is none"
    events = Events(aws, stack)
    if not status.startswith("DELETE_IN_PROGRESS"):
        aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
        aws.cloudformation.delete_stack(StackName=stack)
    ended = events.followed(say)
    if ended is not None:
        why = "\n".join(events.failures()) or "CloudFormation gave no reason"
        raise OperationFailed.of(
            where=f"stack {stack}",
            what=f"ended {ended}",
            why=why,
            fix="delete the resources that the lines above name, then run the same command again",
        )
    return "deleted"


def _line(event: Mapping[str, Any]) -> str:
    why = event.get("ResourceStatusReason")
    reason = f": {why}" if why and event["ResourceStatus"].endswith("FAILED") else ""
    return f"{event['LogicalResourceId']} {event['ResourceStatus']}{reason}"
