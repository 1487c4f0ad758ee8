"""Inspects each core node by a program that Systems Manager runs there, and the first primary node by an EMR step."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from configurations.launch import Launch
from operations.aws import Aws
from operations.cluster_step import PrimaryShell
from operations.emr_hbase import CacheIndex
from operations.hbase_control import CacheContents
from operations.node_caches import read_contents
from operations.node_command import outcome, send
from operations.progress import Say
from operations.verification.check import Facts, Nodes
from sizing.problem import OperationFailed

PROGRAM: Final = Path(__file__).parents[1] / "on_node" / "probe.py"
# judgement: Systems Manager delivers within seconds, and the program runs for two seconds.
ANSWER_SECONDS: Final = 120.0


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
        identity = send(aws, instance, command, ANSWER_SECONDS)
        if identity is not None:
            sent[instance] = identity
    for instance, identity in sent.items():
        ended = outcome(aws, identity, instance, ANSWER_SECONDS)
        facts[instance] = _facts(ended.output) if ended else None
    return facts


def probe_primary(primary: PrimaryShell, say: Say) -> Facts | str:
    """Return the facts of the first primary node; the reason where it does not answer."""
    try:
        return primary.run("inspect-primary", say)
    except OperationFailed as failed:
        return failed.summary


def probe_caches(primary: PrimaryShell, launch: Launch, nodes: Nodes, say: Say) -> Mapping[str, CacheContents] | str:
    """Return the contents of the cache of each node that answered; the reason where an index cannot be read."""
    instances = {instance: instance for instance, facts in nodes.items() if facts is not None}
    if not (launch.plan.mode.has_bucket_cache and instances):
        return {}
    say(f"reading the indexes of {len(instances)} caches through Systems Manager")
    index = CacheIndex.of(launch)
    try:
        return read_contents(primary, instances, index.variables, index.longest_seconds)
    except OperationFailed as failed:
        return failed.summary


def _facts(text: str) -> Facts | None:
    try:
        facts: Facts = json.loads(text)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None
