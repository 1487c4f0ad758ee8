"""EMR steps, and the shell texts that Systems Manager runs on the nodes of a local cluster.

A step is RUNNING at its first description, and ends at its second: `bash -c` steps run there. One that takes longer
than a client waits for an answer stays RUNNING, and ends at a later description.

A text for Systems Manager that writes a program to a file, to inspect the machine, is not run: the program would
describe the machine of the local AWS. Its command succeeds without output, as every command does in moto. A program
that reads the page of a server is run, and reads a file instead.

`settings_page` is such a page, on which a server says what it has read: rendered properties, and EMR's own. Sources of
EMR's own properties: a public cluster of emr-7.12.0 with HBase on S3, whose author names the defaults that he changed;
and a decompilation of EMR's provisioner of 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final
from xml.sax.saxutils import escape

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.emr.models import Cluster, ElasticMapReduceBackend, emr_backends
from moto.emr.responses import ElasticMapReduceResponse
from moto.ssm.models import SimpleSystemManagerBackend

from local_aws.controls import EMR_DEFAULTS, HBASE, STEP, control
from local_aws.emr import nodes
from local_aws.moto_internals import Untyped, replace, request_parameter, wrap

ADDRESSES: Final[Mapping[str, str]] = {"CORE": "http://127.0.0.1:16030", "MASTER": "http://127.0.0.1:16010"}
"""The address of the server's page on a node of each group."""
FILES: Final = ("core-site", "hdfs-site", "hbase-site")
OF_A_CLUSTER: Final[Mapping[str, str]] = {
    "hbase.cluster.distributed": "true",
    "hbase.zookeeper.quorum": "ip-10-0-0-10.ec2.internal",
    "hbase.tmp.dir": "/mnt/var/hbase",
}
"""Properties that EMR must set on each cluster."""
HIDDEN: Final[Mapping[str, str]] = {
    "hbase.balancer.tablesOnMaster": "none",
    "hbase.balancer.uselocality": "false",
    "hbase.bucketcache.size": "8192",
    "hbase.hregion.memstore.flush.size": "268435456",
    "hbase.hstore.blockingStoreFiles": "20",
    "hbase.hstore.compactionThreshold": "8",
    "hbase.master.startup.retainassign": "false",
    "hbase.regionserver.handler.count": "30",
    "hbase.wal.dir": "hdfs://ip-10-0-0-10.ec2.internal:8020/user/hbase/WAL",
}
"""Properties that EMR is said to set for HBase on S3 where nobody else does."""


def settings_page(cluster: Untyped, role: str) -> str:
    """Return the page of the server on each node of a group: what is rendered, over what EMR sets."""
    [group] = [group for group in cluster.instance_groups if group.role == role]
    entries = {key: (value, "hbase-site") for key, value in OF_A_CLUSTER.items()}
    if control(cluster, EMR_DEFAULTS) == "merge":
        entries |= {key: (value, "hbase-site") for key, value in HIDDEN.items()}
    for file in FILES:
        for level in (cluster.configurations, group.configurations):
            for setting in level or ():
                if setting["Classification"] == file:
                    entries |= {key: (value, file) for key, value in setting.get("Properties", {}).items()}
    properties = (
        f"<property><name>{escape(key)}</name><value>{escape(str(value))}</value><source>{file}.xml</source></property>"
        for key, (value, file) in entries.items()
    )
    return f"<configuration>{''.join(properties)}</configuration>"


INSPECTION = 'base64 -d >"$program"'
PAGE = "--page="
RUNNING = "InProgress"
ENDED = {True: ("Success", 0), False: ("Failed", 1)}


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
        clusters = emr_backends[backend.account_id][backend.region_name].clusters.values()
        programs = [
            (invocation, cluster, node)
            for invocation in command.invocations
            for cluster in clusters
            for node in cluster.ec2_instances
            if invocation["InstanceId"] in instances and node.ec2_instance_id == invocation["InstanceId"]
        ]
        for invocation, _, _ in programs:
            invocation.update(Status=RUNNING, StatusDetails=RUNNING)
        nodes.run_beside(lambda: _run(backend.region_name, programs, text))
    return command


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


def install() -> None:
    """Make moto's steps end, its clusters return to WAITING, and Systems Manager run shell texts on nodes."""
    wrap(SimpleSystemManagerBackend, "send_command", _sent)
    wrap(ElasticMapReduceBackend, "describe_step", _visible_state)
    wrap(Cluster, "add_steps", _added)
    replace(ElasticMapReduceResponse, "cancel_steps", _cancelled)


def _added(original: Callable[..., Untyped], cluster: Untyped, steps: Untyped) -> Untyped:
    before = getattr(cluster, "state", None)
    added = original(cluster, steps)
    cluster.state = "RUNNING" if steps else before
    for step in added:
        step.looks, step.program = 0, None
    return added


def _cancelled(response: Untyped) -> Untyped:
    """Answer CancelSteps, which cancels steps that wait, and interrupts those that run."""
    steps = response.backend.clusters[request_parameter(response, "ClusterId")].steps
    wanted = request_parameter(response, "StepIds", [])
    answer = []
    for step in (candidate for candidate in steps if candidate.id in wanted):
        if step.state in {"PENDING", "RUNNING"}:
            step.state, step.end_date_time = "CANCELLED", utcnow()
            answer.append({"StepId": step.id, "Status": "SUBMITTED"})
        else:
            reason = f"it is {step.state}"
            answer.append({"StepId": step.id, "Status": "FAILED", "Reason": reason})
    return ActionResult({"CancelStepsInfoList": answer})


def _visible_state(
    original: Callable[..., Untyped], backend: Untyped, cluster_id: str, *rest: Untyped, **named: Untyped
) -> Untyped:
    cluster = backend.clusters[cluster_id]
    for step in cluster.steps:
        step.looks += 1
        if step.end_date_time is None and step.looks == 1:
            step.state, step.start_date_time = "RUNNING", utcnow()
        elif step.end_date_time is None:
            behaviour = control(cluster, STEP)
            if behaviour or not (nodes.has_nodes() and step.args[:2] == ["bash", "-c"]):
                step.state, step.end_date_time = behaviour or "COMPLETED", utcnow()
            elif step.program is None:
                step.program = nodes.run_beside(partial(_run_step, cluster, step))
            else:
                step.program.join(nodes.ANSWER_SECONDS)
    if cluster.state == "RUNNING" and all(step.end_date_time for step in cluster.steps):
        cluster.state = "WAITING"
    return original(backend, cluster_id, *rest, **named)


def _run_step(cluster: Untyped, step: Untyped) -> None:
    region, log = cluster.emr_backend.region_name, f"{cluster.id}/steps/{step.id}"
    succeeded = False
    try:
        succeeded = nodes.run_step(region, hbase_of(cluster), step.args, cluster.log_uri, log)
    finally:
        if step.end_date_time is None:  # it was not cancelled meanwhile
            step.state, step.end_date_time = "COMPLETED" if succeeded else "FAILED", utcnow()
