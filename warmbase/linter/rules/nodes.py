"""Instances and their EBS volumes, applications, and changes that EMR makes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from warmbase.emr.cluster_spec import EbsVolume
from warmbase.ground.units import MIB
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode, instance_of, instance_store, jvm_options
from warmbase.linter.rule import Violation, emr_hbase_rule, emr_rule
from warmbase.sizing import gp3

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


_volume_violation = partial(Violation, "VolumeSpecification", classification="")
CFN_VOLUME: Final = "CloudFormation reference, AWS::EMR::Cluster VolumeSpecification"
GP3: Final = "EBS User Guide, general-purpose volumes"
MOST_IOPS: Final = 80_000
MOST_MIB_S: Final = 2_000


def _gp3(node: LintedNode) -> Iterator[EbsVolume]:
    return (volume for volume in node.volumes if volume.type == "gp3")


@emr_rule(
    id="WB702",
    severity=Severity.WARNING,
    title="volumes faster than their instance",
    because="above its sustained limit the instance bursts for only half an hour a day, but you pay for "
    "the volumes all the time",
    fix="provision what the instance sustains, or use a larger instance",
    source="EC2 instance types",
)
def _beyond_the_instance(node: LintedNode) -> Iterator[Violation]:
    instance = instance_of(node)
    volumes = list(_gp3(node))
    bought = any((volume.throughput_mib_s or 0) > gp3.INCLUDED_MIB_S for volume in volumes)
    if instance is None or not bought:
        return
    provisioned = sum(
        (volume.throughput_mib_s or gp3.INCLUDED_MIB_S) * _busy_at_once(node, volume) for volume in volumes
    )
    sustained = instance.ebs_sustained_bytes_per_second // MIB
    if provisioned > sustained:
        yield _volume_violation(
            line=volumes[0].line,
            message=f"{provisioned:,} MiB/s of volumes on {instance.name}, which sustains only {sustained:,}",
        )


def _busy_at_once(node: LintedNode, volume: EbsVolume) -> int:
    """Return how many of these volumes may be at their limit at once: only one if each of them holds a cache file."""
    return 1 if volume.count == len(node.cache_files) else volume.count


@emr_rule(
    id="WB703",
    severity=Severity.WARNING,
    title="more IOPS than the instance sustains",
    because="you pay for the rest and can never use it",
    fix="provision what the instance sustains, or use a larger instance",
    source="EC2 instance types",
)
def _iops_beyond_the_instance(node: LintedNode) -> Iterator[Violation]:
    instance = instance_of(node)
    volumes = list(_gp3(node))
    bought = any((volume.iops or 0) > gp3.INCLUDED_IOPS for volume in volumes)
    if instance is None or not bought:
        return
    provisioned = sum((volume.iops or gp3.INCLUDED_IOPS) * _busy_at_once(node, volume) for volume in volumes)
    if provisioned > instance.ebs_sustained_iops:
        yield _volume_violation(
            line=volumes[0].line,
            message=f"{provisioned:,} IOPS of volumes on {instance.name}, which "
            f"sustains only {instance.ebs_sustained_iops:,}",
        )


@emr_hbase_rule(
    id="WB704",
    severity=Severity.WARNING,
    title="gp3 volume of the cache without a throughput",
    because="the default is the bottleneck of the published benchmark, and more costs cents",
    fix="set Throughput; warmbase plan computes how much the reads need",
    source=GP3,
)
def _throughput_unsaid(node: LintedNode) -> Iterator[Violation]:
    for volume in _gp3(node):
        if node.caches and volume.throughput_mib_s is None:
            yield _volume_violation(
                line=volume.line, message=f"the volume is limited to gp3's default of {gp3.INCLUDED_MIB_S} MiB/s"
            )


@emr_rule(
    id="WB705",
    severity=Severity.ERROR,
    title="gp3 volume that EBS does not offer",
    because="EC2 rejects it, and the cluster does not start",
    fix="keep to at least 4 IOPS for each MiB/s and at most 500 for each GiB",
    source=GP3,
)
def _impossible_gp3(node: LintedNode) -> Iterator[Violation]:
    for volume in _gp3(node):
        iops = volume.iops or gp3.INCLUDED_IOPS
        throughput = volume.throughput_mib_s or gp3.INCLUDED_MIB_S
        why = None
        if iops > MOST_IOPS or throughput > MOST_MIB_S:
            why = f"{iops:,} IOPS and {throughput:,} MiB/s exceed what gp3 offers"
        elif throughput * gp3.IOPS_PER_MIB_S > iops:
            why = f"{throughput:,} MiB/s requires {throughput * gp3.IOPS_PER_MIB_S:,} IOPS, not {iops:,}"
        elif volume.size_gib is not None and iops > gp3.most_iops(volume.size_gib):
            why = f"{volume.size_gib:,} GiB allows {volume.size_gib * gp3.IOPS_PER_GIB:,} IOPS at most, not {iops:,}"
        if why:
            yield _volume_violation(line=volume.line, message=why)


@emr_rule(
    id="WB706",
    severity=Severity.WARNING,
    title="volume beyond the limits that EMR documents",
    because="the documented limit is probably outdated, but EMR may reject the launch",
    fix="use more nodes if EMR rejects it",
    source=CFN_VOLUME,
)
def _beyond_documents(node: LintedNode) -> Iterator[Violation]:
    for volume in _gp3(node):
        size, throughput = volume.size_gib or 0, volume.throughput_mib_s or 0
        if size > gp3.EMR_DOCUMENTED_GIB or throughput > gp3.EMR_DOCUMENTED_MIB_S:
            yield _volume_violation(
                line=volume.line,
                message=f"EMR documents volumes up to {gp3.EMR_DOCUMENTED_GIB:,} GiB and {gp3.EMR_DOCUMENTED_MIB_S:,} "
                f"MiB/s; this one has {' and '.join(_limits(volume))}",
            )


def _limits(volume: EbsVolume) -> Iterator[str]:
    if volume.size_gib is not None:
        yield f"{volume.size_gib:,} GiB"
    if volume.throughput_mib_s is not None:
        yield f"{volume.throughput_mib_s:,} MiB/s"


@emr_hbase_rule(
    id="WB707",
    severity=Severity.WARNING,
    title="cache on an old volume type",
    because="the throughput of such a volume depends on its size, or on a spinning disk",
    fix="use gp3",
    source=GP3,
)
def _old_volume(node: LintedNode) -> Iterator[Violation]:
    disks, _ = instance_store(node)
    if disks and node.unstated("hbase.bucketcache.ioengine"):
        return  # EMR may put the cache on the instance store
    for volume in node.volumes:
        if node.caches and volume.type in {"gp2", "standard", "st1", "sc1"}:
            yield _volume_violation(line=volume.line, message=f"the cache would be on a {volume.type} volume")
