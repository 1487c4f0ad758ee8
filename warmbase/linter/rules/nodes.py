"""Instances, applications, and changes that EMR makes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode, instance_of, jvm_options
from warmbase.linter.rule import Violation, emr_hbase_rule, emr_rule

GROUPS: Final = "InstanceGroups"
YARN: Final = "yarn.nodemanager.resource.memory-mb"


@emr_hbase_rule(
    id="WB701",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="managed scaling",
    because="managed scaling does not know HBase: a node that it removes takes its regions and its cache with it",
    fix="remove the policy; resize core nodes by hand, after you move their regions",
    source="EMR Management Guide, emr-managed-scaling",
)
def _managed_scaling(node: LintedNode) -> Iterator[Violation]:
    if node.subject.managed_scaling is not None:
        yield Violation(
            "ManagedScalingPolicy",
            "EMR would add and remove nodes according to the load of YARN",
            classification="",
            line=node.subject.managed_scaling,
        )


@emr_hbase_rule(
    id="WB715",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="auto-termination policy",
    because="EMR counts YARN applications, steps, notebooks and the use of HDFS as activity, but no request to HBase",
    fix="remove the policy from a cluster that serves requests",
    source="EMR Management Guide, emr-auto-termination-policy",
)
def _auto_termination(node: LintedNode) -> Iterator[Violation]:
    if node.subject.auto_termination is not None:
        yield Violation(
            "AutoTerminationPolicy",
            "EMR can terminate the cluster while it serves requests",
            classification="",
            line=node.subject.auto_termination,
        )


@emr_rule(
    id="WB708",
    severity=Severity.ERROR,
    title="instance type that the release does not support",
    because="EMR rejects it",
    fix="choose a type that the release lists",
    source="EMR Management Guide, emr-supported-instance-types",
    roles=("primary", "core"),
)
def _not_listed(node: LintedNode) -> Iterator[Violation]:
    instance = instance_of(node)
    if instance and node.release and node.exact and not instance.offered_by(node.release.emr):
        unheard = "" if instance.emr_since else ": EC2 has it, but EMR is not known to support it"
        yield Violation(
            "InstanceType",
            f"{node.release.label} does not list {instance.name} among its instance types{unheard}",
            classification="",
            line=node.group.line if node.group else None,
        )


@emr_rule(
    id="WB709",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="metrics without AmazonCloudWatchAgent",
    because="only the agent publishes emr-metrics",
    fix="add the application AmazonCloudWatchAgent",
    source="EMR Release Guide, emr-AmazonCloudWatchAgent",
)
def _no_agent(node: LintedNode) -> Iterator[Violation]:
    configured = "emr-metrics" in node.subject.classifications
    if node.subject.applications and configured and "AmazonCloudWatchAgent" not in node.subject.applications:
        yield Violation(
            "Applications",
            "no metric is published, because AmazonCloudWatchAgent is not among the applications",
            classification="emr-metrics",
            line=node.subject.classifications["emr-metrics"],
        )


@emr_hbase_rule(
    id="WB710",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="cache without HBase",
    because="without HBase the classifications configure nothing",
    fix="add the application HBase",
    source="EMR Release Guide, emr-hbase",
)
def _no_hbase(node: LintedNode) -> Iterator[Violation]:
    applications = {name.lower() for name in node.subject.applications}
    if applications and "hbase" not in applications and node.caches:
        yield Violation("Applications", "HBase is not among the applications", classification="")


@emr_hbase_rule(
    id="WB711",
    severity=Severity.WARNING,
    title="heap set, memory of YARN not set",
    because="HBase and YARN each count on the same memory",
    fix=f"set {YARN} and yarn.scheduler.maximum-allocation-mb",
    source="EMR Release Guide, emr-hadoop-task-config",
)
def _memory_not_reserved(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    heap = options.with_flag("-Xmx") or node.setting("HBASE_HEAPSIZE", "hbase-env/export")
    if heap and node.subject.shows("yarn-site") and node.unstated(YARN, "yarn-site"):
        yield Violation(
            YARN,
            "YARN may use a third to a half of the memory besides the heap, because its share is not set",
            classification="yarn-site",
        )


@emr_rule(
    id="WB712",
    severity=Severity.INFO,
    title="EC2 key pair",
    because="Session Manager needs no key pair, and logs who does what",
    fix="remove it",
    source="AWS Systems Manager User Guide",
)
def _key_pair(node: LintedNode) -> Iterator[Violation]:
    if node.subject.key_pair is not None:
        yield Violation(
            "KeyName", "whoever has the SSH key can log in to every node", classification="", line=node.subject.key_pair
        )


@emr_hbase_rule(
    id="WB713",
    severity=Severity.WARNING,
    title="task nodes",
    because="when a RegionServer comes or goes, its regions move and leave their cached blocks behind",
    fix="remove the task nodes",
    source="EMR's own HBase set-up, read on a 7.x node (weak)",
)
def _task_nodes(node: LintedNode) -> Iterator[Violation]:
    task = node.subject.group("task")
    if task is not None and node.in_s3:
        yield Violation(
            GROUPS,
            "in S3 mode task nodes run RegionServers too, and Spot interruptions take their caches away",
            classification="",
            line=task.line,
        )


@emr_hbase_rule(
    id="WB714",
    severity=Severity.INFO,
    title="one primary node",
    because="EMR replaces a lost primary node only if there are three",
    fix="use three, with a placement group",
    source="EMR Management Guide, emr-plan-ha",
)
def _one_primary(node: LintedNode) -> Iterator[Violation]:
    primary = node.subject.group("primary")
    if primary is not None and primary.count == 1:
        yield Violation(
            GROUPS,
            "if the only primary node is lost, the cluster ends and every cache is lost",
            classification="",
            line=primary.line,
        )
