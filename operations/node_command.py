"""Runs a shell text as root on one instance, through Systems Manager, and waits for its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct

from operations.aws import Aws
from operations.aws_errors import AGAIN, translated
from operations.polling import turns
from sizing.problem import OperationFailed

DOCUMENT: Final = "AWS-RunShellScript"
FIRST_POLL_SECONDS: Final = 0.2
POLL_SECONDS: Final = 2.0
UNENDED: Final = frozenset({"Pending", "InProgress", "Delayed"})
SHORTEST_SECONDS: Final = 30  # the least that SendCommand accepts: Systems Manager API Reference, TimeoutSeconds


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """The end of a command: Systems Manager's status, `Success` or another, and what the text printed."""

    status: str
    output: str
    errors: str

    @property
    def has_succeeded(self) -> bool:
        """Return whether the text ran and ended with status 0."""
        return self.status == "Success"


def send(aws: Aws, instance: str, text: str, seconds: float) -> str | None:
    """Return the id of the command that runs the text; None where Systems Manager does not know the instance.

    Systems Manager ends a text that runs longer than `seconds`. Raises botocore's errors.
    """
    limit = max(SHORTEST_SECONDS, round(seconds))
    with suppress(aws.ssm.exceptions.InvalidInstanceId):
        return aws.ssm.send_command(
            InstanceIds=[instance],
            DocumentName=DOCUMENT,
            Parameters={"commands": [text], "executionTimeout": [str(limit)]},
            TimeoutSeconds=limit,
        )["Command"]["CommandId"]
    return None


def outcome(aws: Aws, command: str, instance: str, seconds: float) -> CommandOutcome | None:
    """Wait for the end of a command; None where it has not ended after so many seconds. Raises botocore's errors."""
    for _ in turns(seconds, FIRST_POLL_SECONDS, POLL_SECONDS):
        # Systems Manager may not know a command for a moment after it was sent.
        with suppress(aws.ssm.exceptions.InvocationDoesNotExist):
            invocation = aws.ssm.get_command_invocation(CommandId=command, InstanceId=instance)
            if invocation["Status"] not in UNENDED:
                return CommandOutcome(
                    status=invocation["Status"],
                    output=invocation["StandardOutputContent"],
                    errors=invocation["StandardErrorContent"],
                )
    return None


def run_on_node(aws: Aws, instance: str, text: str, seconds: float) -> str:
    """Run the text on the instance and return what it prints. Raises OperationFailed where it does not succeed."""
    return run_on_nodes(aws, {instance: text}, seconds)[instance]


def run_on_nodes(aws: Aws, texts: Mapping[str, str], seconds: float) -> dict[str, str]:
    """Run a text on each instance, on all at once, and return what each prints. Raises as `run_on_node` does."""
    commands: dict[str, str | None] = {}
    for instance, text in texts.items():
        with translated(f"could not run a command on {instance}", AGAIN):
            commands[instance] = send(aws, instance, text, seconds)
    return {instance: _printed(aws, instance, command, seconds) for instance, command in commands.items()}


def _printed(aws: Aws, instance: str, command: str | None, seconds: float) -> str:
    with translated(f"could not read the outcome of a command on {instance}", AGAIN):
        ended = None if command is None else outcome(aws, command, instance, seconds)
    if ended is not None and ended.has_succeeded:
        return ended.output
    if command is None:
        what, why = "cannot be reached", "Systems Manager does not know the instance"
    elif ended is None:
        what, why = "has not answered", f"the command {command} has not ended after {seconds:,.0f} seconds"
    else:
        what = f"could not run the command {command}: {ended.status}"
        why = (ended.errors or ended.output).strip()[-500:] or "it printed nothing"
    raise OperationFailed.of(
        where=f"instance {instance}",
        what=what,
        why=why,
        fix="check that the SSM Agent runs there, and that its subnet has a route to ssm and ssmmessages; then run"
        " the same command again",
    )
