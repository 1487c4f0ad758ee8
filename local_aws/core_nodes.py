"""Nodes of a local cluster: their HBase, and the shell texts that Systems Manager runs on them.

A text that writes a program to a file, to inspect the machine, is not run: the program would describe the machine of
the local AWS. Its command succeeds without output, as every command does in moto. A program that reads the page of a
server is run, and reads a file instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.emr.models import emr_backends
from moto.ssm.models import SimpleSystemManagerBackend

from local_aws import nodes
from local_aws.control_tags import HBASE, control
from local_aws.moto_internals import wrap
from local_aws.server_pages import ADDRESSES, settings_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from local_aws.moto_internals import Untyped

INSPECTION = 'base64 -d >"$program"'
PAGE = "--page="
RUNNING = "InProgress"
ENDED = {True: ("Success", 0), False: ("Failed", 1)}


def install() -> None:
    """Let Systems Manager run shell texts on nodes."""
    wrap(SimpleSystemManagerBackend, "send_command", _sent)


def hbase_of(cluster: Untyped) -> nodes.SimulatedHBase:
    """Return the HBase of a cluster, which remembers what earlier programs have done."""
    if not hasattr(cluster, "hbase_marks"):
        cluster.hbase_marks = {}
    hosts = tuple(one.private_dns_name for one in cluster.ec2_instances if one.instance_group.role == "CORE")
    return nodes.SimulatedHBase(state=control(cluster, HBASE) or "well", hosts=hosts, marks=cluster.hbase_marks)


def _sent(original: Callable[..., Untyped], backend: Untyped, **request: Untyped) -> Untyped:
    # moto adds every instance of the region to a command without targets.
    instances = tuple(request["instance_ids"])
    command = original(backend, **request)
    text = "\n".join(request["parameters"].get("commands", []))
    if nodes.has_nodes() and (INSPECTION not in text or PAGE in text):
        invocations = [invocation for invocation in command.invocations if invocation["InstanceId"] in instances]
        programs = [(invocation, *place) for invocation in invocations for place in _place(backend, invocation)]
        for invocation, _, _ in programs:
            invocation.update(Status=RUNNING, StatusDetails=RUNNING)
        nodes.run_beside(lambda: _run(backend.region_name, programs, text))
    return command


def _place(backend: Untyped, invocation: Untyped) -> Iterator[tuple[Untyped, Untyped]]:
    """Yield the cluster and the node that the invocation is for."""
    for cluster in emr_backends[backend.account_id][backend.region_name].clusters.values():
        for node in cluster.ec2_instances:
            if node.ec2_instance_id == invocation["InstanceId"]:
                yield cluster, node


def _run(region: str, programs: Sequence[tuple[Untyped, Untyped, Untyped]], text: str) -> None:
    """Run the text on each node, and write its end into the invocation."""
    for invocation, cluster, node in programs:
        status, code = ENDED[False]
        try:
            role = node.instance_group.role
            files = {"/page/conf": settings_page(cluster, role)} if role in ADDRESSES else {}
            local = text.replace(ADDRESSES.get(role, PAGE), f"file://{nodes.ROOT}/page" if files else PAGE)
            end = nodes.run_on_core_node(region, hbase_of(cluster), node.private_dns_name, local, files)
            status, code = ENDED[end.succeeded]
            invocation.update(StandardOutputContent=end.printed, StandardErrorContent=end.log)
        finally:
            invocation.update(ResponseCode=code, StatusDetails=status, Status=status)
