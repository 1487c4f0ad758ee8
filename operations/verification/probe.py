"""Inspects nodes by a program that Systems Manager runs there, and HBase's first primary node by an EMR step."""

from __future__ import annotations

import base64
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from msgspec import Struct

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

GroupType = Literal["CORE", "MASTER"]
"""The name that EMR gives an instance group."""
NAMES: Final = {"CORE": "core", "MASTER": "primary"}
ON_NODE: Final = Path(__file__).parents[1] / "on_node"
PACKAGES: Final = ("operations", "operations/on_node")
SHARED: Final = "node_facts.py"
RUN: Final = (
    'program=$(mktemp) && trap \'rm -f "$program"\' EXIT && echo {packed} | base64 -d >"$program"'
    ' && /usr/bin/python3 "$program" {arguments}'
)
# judgement: Systems Manager delivers within seconds; a program runs for two seconds, or a minute if it counts pages.
ANSWER_SECONDS: Final = 120.0


class NodeProgram(Struct, frozen=True):
    """A program of `on_node` with its arguments."""

    name: str
    arguments: Sequence[str]

    @property
    def packed(self) -> bytes:
        """Return the program with the module that all of them import, as a zip that Python runs."""
        files = {f"{package}/__init__.py": b"" for package in PACKAGES}
        files[f"{PACKAGES[-1]}/{SHARED}"] = (ON_NODE / SHARED).read_bytes()
        files["__main__.py"] = (ON_NODE / self.name).read_bytes()
        packed = io.BytesIO()
        with ZipFile(packed, "w") as archive:
            for path, content in files.items():
                archive.writestr(ZipInfo(path), content, ZIP_DEFLATED)
        return packed.getvalue()

    @property
    def text(self) -> str:
        """Return the shell text that runs it on a node."""
        return RUN.format(packed=base64.b64encode(self.packed).decode(), arguments=shlex.join(self.arguments))


def probe_nodes(aws: Aws, cluster_id: str, group: GroupType, program: NodeProgram, say: Say) -> Nodes:
    """Return the facts of each node of an instance group, as the program prints them. Raises botocore's errors."""
    pages: Any = aws.emr.get_paginator("list_instances").paginate(
        ClusterId=cluster_id, InstanceGroupTypes=[group], InstanceStates=["RUNNING"]
    )
    instances = [instance["Ec2InstanceId"] for page in pages for instance in page["Instances"]]
    text = program.text
    facts: dict[str, Facts | None] = dict.fromkeys(instances)
    sent: dict[str, str] = {}
    nodes = "node" if len(instances) == 1 else "nodes"
    say(f"inspecting {len(instances)} {NAMES[group]} {nodes} through Systems Manager")
    for instance in instances:
        # One command for each instance: an instance that Systems Manager does not know would fail the command for all.
        identity = send(aws, instance, text, ANSWER_SECONDS)
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
