"""Commands on the nodes of a cluster: a shell text through Systems Manager, or a script as an EMR step.

`run_on_node` runs a text as root on one instance and waits for its outcome. `PrimaryShell` runs a script on the
primary, which answers in JSON. The step contains the whole script, because a node can read only those of our files that
were uploaded for its launch. The script writes its answer below `emr/` in the log bucket, where nodes may write.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, suppress_codes, translated
from warmbase.operations.aws.lock import Lock
from warmbase.operations.aws.progress import Say, turns

DOCUMENT: Final = "AWS-RunShellScript"
FIRST_POLL_SECONDS: Final = 0.2
COMMAND_POLL_SECONDS: Final = 2.0
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
    for _ in turns(seconds, FIRST_POLL_SECONDS, COMMAND_POLL_SECONDS):
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
    printed: dict[str, str] = {}
    for instance, command in commands.items():
        with translated(f"could not read the outcome of a command on {instance}", AGAIN):
            ended = None if command is None else outcome(aws, command, instance, seconds)
        if ended is not None and ended.has_succeeded:
            printed[instance] = ended.output
            continue
        fix = (
            "check that the SSM Agent runs there, and that its subnet has a route to ssm and ssmmessages; then run the"
            " same command again"
        )
        if command is None:
            what, why = "cannot be reached", "Systems Manager does not know the instance"
        elif ended is None:
            what, why = "has not answered", f"the command {command} has not ended after {seconds:,.0f} seconds"
        else:
            what = f"could not run the command {command}: {ended.status}"
            why = (ended.errors or ended.output).strip()[-500:] or "it printed nothing"
            fix = "resolve that, then run the same command again"
        raise OperationFailed.of(
            where=f"instance {instance}",
            what=what,
            why=why,
            fix=fix,
        )
    return printed


DIRECTORY: Final = Path(__file__).parents[1] / "steps"
PART: Final = re.compile(
    r'^# shellcheck source=warmbase/operations/steps/(?P<part>\w+\.sh)\nsource "\$\(dirname .*\)/(?P=part)"\n',
    re.MULTILINE,
)
"""The lines by which a script includes a part that it shares with others."""
PROGRAM: Final = re.compile(r'^ *cat "\$\(dirname .*\)/(?P<program>\w+\.rb)"\n', re.MULTILINE)
"""The line by which a script prints a program for the HBase shell."""
COMMENT: Final = re.compile(r"^ +#.*\n", re.MULTILINE)
DIRECTIVE: Final = "# shellcheck shell=bash\n"
OURS: Final = "warmbase "
"""The beginning of the name of each of our steps."""
LONGEST_ARGUMENT: Final = 10_280  # EMR API Reference, HadoopJarStepConfig
# judgement: the longest step stops HBase, which writes the index of every cache.
LONGEST_SECONDS: Final = 5400.0

POLL_SECONDS: Final = 10.0
ENDED: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "INTERRUPTED"})


class PrimaryShell(Struct, frozen=True, kw_only=True):
    """Runs scripts on the first primary node of one cluster; their answers are in the log bucket."""

    aws: Aws
    cluster_id: str
    log_bucket: str

    def run(self, name: str, say: Say, *arguments: str) -> Mapping[str, Any]:
        """Return what the script of that name answers. Raises OperationFailed where it fails, or answers nothing."""
        key = f"emr/{self.cluster_id}/warmbase/{name}-{uuid.uuid4().hex}.json"
        with translated(f"could not run {name} on {self.cluster_id}", "run the same command again"):
            text = script(name)
            # The pending steps belong to a command that was killed, or to `verify`. Only the command that holds the
            # lock knows that no other command is waiting for such a step.
            if isinstance(self.aws.gate, Lock) and (waiting := self._pending_steps()):
                self.aws.emr.cancel_steps(ClusterId=self.cluster_id, StepIds=waiting)
            [step] = self.aws.emr.add_job_flow_steps(
                JobFlowId=self.cluster_id,
                Steps=[
                    {
                        "Name": f"{OURS}{name}",
                        "ActionOnFailure": "CONTINUE",
                        "HadoopJarStep": {
                            "Jar": "command-runner.jar",
                            "Args": ["bash", "-c", text, name, f"s3://{self.log_bucket}/{key}", *arguments],
                        },
                    }
                ],
            )["StepIds"]
            try:
                state = self._ended(step, name, say)
            except BaseException:
                # A pending step must not run after the command that added it has ended. One that runs goes on: EMR
                # would interrupt it between two of its calls (API Reference, CancelSteps).
                with suppress(ClientError, BotoCoreError):
                    if step in self._pending_steps():
                        self.aws.emr.cancel_steps(ClusterId=self.cluster_id, StepIds=[step])
                raise
            answer: Mapping[str, Any] | None = None
            with suppress_codes():
                answer = json.loads(self.aws.s3.get_object(Bucket=self.log_bucket, Key=key)["Body"].read())
        if answer is not None and "error" not in answer and state == "COMPLETED":
            return answer
        if state == "CANCELLED":
            raise OperationFailed.of(
                where=f"{name} on {self.cluster_id}",
                what="was cancelled",
                why="another command, somebody in the EMR console, or an earlier step that failed cancelled the step",
                fix=AGAIN,
            )
        why = "the step left no answer"
        if answer is not None:
            why = str(answer.get("error", "the step answered, but failed afterwards"))
        log = f"s3://{self.log_bucket}/emr/{self.cluster_id}/steps/{step}/stderr.gz"
        raise OperationFailed.of(
            where=f"{name} on {self.cluster_id}",
            what=f"ended {state}",
            why=why,
            fix=f"read {log}, fix the cause, and run the same command again",
        )

    def _pending_steps(self) -> list[str]:
        """Return the pending steps of warmbase."""
        pages: Any = self.aws.emr.get_paginator("list_steps").paginate(
            ClusterId=self.cluster_id, StepStates=["PENDING"]
        )
        return [step["Id"] for page in pages for step in page["Steps"] if step["Name"].startswith(OURS)]

    def _ended(self, step: str, name: str, say: Say) -> str:
        reported = ""
        for _ in turns(LONGEST_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
            state: str = self.aws.emr.describe_step(ClusterId=self.cluster_id, StepId=step)["Step"]["Status"]["State"]
            if state in ENDED:
                return state
            if state != reported:
                say(f"step {step}, {name}, is {state}")
                reported = state
        raise OperationFailed.of(
            where=f"step {step}, {name}",
            what=f"is still {reported} after {LONGEST_SECONDS / 60:.0f} minutes",
            why=f"cluster {self.cluster_id} has not finished the step",
            fix="check in the EMR console what the step is waiting for; once it has ended, run the same command again",
        )


def script(name: str) -> str:
    """Return the whole text of a script, as it is sent: without the comments inside its program in Ruby.

    Raises ValueError if it is too long for EMR.
    """

    def part(match: re.Match[str]) -> str:
        return (DIRECTORY / match["part"]).read_text(encoding="utf-8").removeprefix(DIRECTIVE)

    def program(match: re.Match[str]) -> str:
        text = (DIRECTORY / match["program"]).read_text(encoding="utf-8")
        return f"cat <<'RUBY'\n{COMMENT.sub('', text)}RUBY\n"

    text = PART.sub(part, (DIRECTORY / f"{name}.sh").read_text(encoding="utf-8"))
    text = PROGRAM.sub(program, text)
    if len(text) > LONGEST_ARGUMENT:
        raise ValueError(f"{name}: {len(text)} characters, and a step takes {LONGEST_ARGUMENT} in one argument")
    return text
