"""Inspects each core node by a program that Systems Manager runs there, and the first primary node by an EMR step."""

from __future__ import annotations

import base64
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from operations.aws import Aws
from operations.cluster_step import PrimaryShell
from operations.progress import Say
from operations.verification.check import Facts, Nodes
from sizing.problem import OperationFailed

PROGRAM: Final = Path(__file__).parents[1] / "on_node" / "probe.py"
# judgement: Systems Manager delivers within seconds, and the program runs for two seconds.
ANSWER_SECONDS: Final = 120.0
POLL_SECONDS: Final = 2.0


def probe_core_nodes(aws: Aws, cluster_id: str, keys: list[str], say: Say) -> Nodes:
    """Return the facts of each core node. Raises botocore's errors."""
    pages: Any = aws.emr.get_paginator("list_instances").paginate(
        ClusterId=cluster_id, InstanceGroupTypes=["CORE"], InstanceStates=["RUNNING"]
    )
    instances = [instance["Ec2InstanceId"] for page in pages for instance in page["Instances"]]
    program = base64.b64encode(PROGRAM.read_bytes()).decode()
    command = f"echo {program} | base64 -d | /usr/bin/python3 - {' '.join(keys)}"
    facts: dict[str, Facts | None] = dict.fromkeys(instances)
    sent: dict[str, str] = {}
    say(f"inspecting {len(instances)} core nodes through Systems Manager")
    for instance in instances:
        # One command for each instance: an instance that Systems Manager does not know would fail the command for all.
        with suppress(aws.ssm.exceptions.InvalidInstanceId):
            sent[instance] = aws.ssm.send_command(
                InstanceIds=[instance], DocumentName="AWS-RunShellScript", Parameters={"commands": [command]}
            )["Command"]["CommandId"]
    for instance, identity in sent.items():
        facts[instance] = _invocation_facts(aws, identity, instance)
    return facts


def probe_primary(primary: PrimaryShell, say: Say) -> Facts | str:
    """Return the facts of the first primary node; the reason where it does not answer."""
    try:
        return primary.run("inspect-primary", say)
    except OperationFailed as failed:
        return failed.summary


def _invocation_facts(aws: Aws, command: str, instance: str) -> Facts | None:
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        # Systems Manager may not know a command for a moment after it was sent.
        with suppress(aws.ssm.exceptions.InvocationDoesNotExist):
            invocation = aws.ssm.get_command_invocation(CommandId=command, InstanceId=instance)
            if invocation["Status"] not in {"Pending", "InProgress", "Delayed"}:
                return _facts(invocation["StandardOutputContent"])
        time.sleep(POLL_SECONDS)
    return None


def _facts(text: str) -> Facts | None:
    try:
        facts: Facts = json.loads(text)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None
