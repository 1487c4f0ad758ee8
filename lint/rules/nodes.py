"""Instances, applications, and changes that EMR makes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.jvm_options import jvm_options
from lint.node import LintedNode
from lint.rule import NO_AWS, Violation, rule
from lint.rules.volumes import instance_of

GROUPS: Final = "InstanceGroups"
YARN: Final = "yarn.nodemanager.resource.memory-mb"


@rule(
    id="WB701",
    severity=Severity.ERROR,
    title="managed scaling",
    because="it does not know HBase: a node that goes takes its regions and its cache along",
    fix="remove the policy; resize core nodes by hand, regions moved first",
    source="EMR Management Guide, emr-managed-scaling",
    proof=NO_AWS,
    of_hbase_1=True,
)
def _managed_scaling(node: LintedNode) -> Iterator[Violation]:
    if node.subject.managed_scaling is not None:
        yield Violation(
            classification="",
            property="ManagedScalingPolicy",
            line=node.subject.managed_scaling,
            message="EMR would add and remove nodes by what YARN needs",
        )


@rule(
    id="WB708",
    severity=Severity.ERROR,
    title="an instance type that the release does not list",
    because="EMR refuses it",
    fix="choose a type that it lists",
    source="EMR Management Guide, emr-supported-instance-types",
    proof=NO_AWS,
    roles=("primary", "core"),
    of_hbase=False,
    of_hbase_1=True,
)
def _not_listed(node: LintedNode) -> Iterator[Violation]:
    instance = instance_of(node)
    if instance and node.release and node.exact and not instance.offered_by(node.release.emr):
        yield Violation(
            classification="",
            property="InstanceType",
            line=node.group.line if node.group else None,
            message=f"{node.release.label} does not list {instance.name} among its instance types",
        )


@rule(
    id="WB709",
    severity=Severity.ERROR,
    title="metrics without the agent that publishes them",
    because="nothing publishes them",
    fix="add AmazonCloudWatchAgent",
    source="EMR Release Guide, emr-AmazonCloudWatchAgent",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _no_agent(node: LintedNode) -> Iterator[Violation]:
    wanted = "emr-metrics" in node.subject.classifications
    if node.subject.applications and wanted and "AmazonCloudWatchAgent" not in node.subject.applications:
        yield Violation(
            classification="emr-metrics",
            line=node.subject.classifications["emr-metrics"],
            property="Applications",
            message="metrics are asked for, and AmazonCloudWatchAgent is not among the applications",
        )


@rule(
    id="WB710",
    severity=Severity.ERROR,
    title="a cache without HBase",
    because="the classifications have nothing to configure",
    fix="add HBase",
    source="EMR Release Guide, emr-hbase",
    proof=NO_AWS,
    of_hbase_1=True,
)
def _no_hbase(node: LintedNode) -> Iterator[Violation]:
    applications = {name.lower() for name in node.subject.applications}
    if applications and "hbase" not in applications and node.caches:
        yield Violation(classification="", property="Applications", message="HBase is not among the applications")


@rule(
    id="WB711",
    severity=Severity.WARNING,
    title="a stated heap beside memory left to YARN",
    because="both believe that it is theirs",
    fix=f"state {YARN} and yarn.scheduler.maximum-allocation-mb",
    source="EMR Release Guide, emr-hadoop-task-config",
    proof=NO_AWS,
    of_hbase_1=True,
)
def _memory_not_reserved(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    stated = options.with_flag("-Xmx") or node.setting("HBASE_HEAPSIZE", "hbase-env/export")
    if stated and node.subject.shows("yarn-site") and node.unstated(YARN, "yarn-site"):
        yield Violation(
            classification="yarn-site",
            property=YARN,
            message="the heap is stated and YARN's share is not: YARN may still use a third of the memory to a half",
        )


@rule(
    id="WB712",
    severity=Severity.INFO,
    title="a key pair",
    because="Session Manager needs none, and logs who does what",
    fix="leave it out",
    source="AWS Systems Manager User Guide",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _key_pair(node: LintedNode) -> Iterator[Violation]:
    if node.subject.key_pair is not None:
        yield Violation(
            classification="", property="KeyName", line=node.subject.key_pair, message="an SSH key opens every node"
        )


@rule(
    id="WB713",
    severity=Severity.WARNING,
    title="task nodes",
    because="a RegionServer that comes and goes moves regions and leaves their cached blocks behind",
    fix="leave task nodes out",
    source="EMR's own HBase set-up, read on a 7.x node (weak)",
    proof=NO_AWS,
    of_hbase_1=True,
)
def _task_nodes(node: LintedNode) -> Iterator[Violation]:
    task = node.subject.group("task")
    if task is not None and node.in_s3:
        yield Violation(
            classification="",
            property=GROUPS,
            line=task.line,
            message="in S3 mode task nodes run RegionServers too: they cache, and Spot takes them away",
        )


@rule(
    id="WB714",
    severity=Severity.INFO,
    title="one primary node",
    because="EMR replaces one of three, and none of one",
    fix="use three, with a placement group",
    source="EMR Management Guide, emr-plan-ha",
    proof=NO_AWS,
    of_hbase_1=True,
)
def _one_primary(node: LintedNode) -> Iterator[Violation]:
    primary = node.subject.group("primary")
    if primary is not None and primary.count == 1:
        yield Violation(
            classification="",
            property=GROUPS,
            line=primary.line,
            message="one primary node: when it is lost the cluster ends, with every cache",
        )
