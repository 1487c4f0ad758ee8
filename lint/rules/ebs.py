"""EBS volumes that exist, that the instance can drive, and that suit a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emr.cluster_spec import EbsVolume
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import NO_AWS, Violation, rule
from lint.rules.volumes import instance_of
from sizing import gp3
from sizing.units import MIB

VOLUME: Final = "VolumeSpecification"
CFN_VOLUME: Final = "CloudFormation reference, AWS::EMR::Cluster VolumeSpecification"
GP3: Final = "EBS User Guide, general-purpose volumes"
MOST_IOPS: Final = 80_000
MOST_MIB_S: Final = 2_000


def _gp3(node: LintedNode) -> Iterator[EbsVolume]:
    return (volume for volume in node.volumes if volume.type == "gp3")


@rule(
    id="WB702",
    severity=Severity.WARNING,
    title="volumes faster than their instance",
    because="what is beyond the sustained limit works in bursts of half an hour a day, and is paid for always",
    fix="provision what the instance sustains, or take a larger instance",
    source="EC2 instance types",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _beyond_the_instance(node: LintedNode) -> Iterator[Violation]:
    instance = instance_of(node)
    volumes = list(_gp3(node))
    bought = any((volume.throughput_mib_s or 0) > gp3.INCLUDED_MIB_S for volume in volumes)
    if instance is None or not bought:
        return
    asked = sum((volume.throughput_mib_s or gp3.INCLUDED_MIB_S) * volume.count for volume in volumes)
    sustained = instance.ebs_sustained_bytes_per_second // MIB
    if asked > sustained:
        yield Violation(
            classification="",
            property=VOLUME,
            line=volumes[0].line,
            message=f"{asked:,} MiB/s of volumes on {instance.name}, which sustains {sustained:,} in all",
        )


@rule(
    id="WB703",
    severity=Severity.WARNING,
    title="more IOPS than the instance sustains",
    because="the rest is paid for and never used",
    fix="provision what the instance sustains, or take a larger instance",
    source="EC2 instance types",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _iops_beyond_the_instance(node: LintedNode) -> Iterator[Violation]:
    instance = instance_of(node)
    volumes = list(_gp3(node))
    bought = any((volume.iops or 0) > gp3.INCLUDED_IOPS for volume in volumes)
    if instance is None or not bought:
        return
    asked = sum((volume.iops or gp3.INCLUDED_IOPS) * volume.count for volume in volumes)
    if asked > instance.ebs_sustained_iops:
        yield Violation(
            classification="",
            property=VOLUME,
            line=volumes[0].line,
            message=f"{asked:,} IOPS of volumes on {instance.name}, which sustains {instance.ebs_sustained_iops:,}",
        )


@rule(
    id="WB704",
    severity=Severity.WARNING,
    title="a gp3 volume of the cache without a throughput",
    because="that is the ceiling of the published benchmark, and more costs cents",
    fix="state Throughput; warmbase plan says how much the reads need",
    source=GP3,
    proof=NO_AWS,
    of_hbase_1=True,
)
def _throughput_unsaid(node: LintedNode) -> Iterator[Violation]:
    for volume in _gp3(node):
        if node.caches and volume.throughput_mib_s is None:
            yield Violation(
                classification="",
                property=VOLUME,
                line=volume.line,
                message=f"gp3 without a throughput has {gp3.INCLUDED_MIB_S} MiB/s",
            )


@rule(
    id="WB705",
    severity=Severity.ERROR,
    title="a gp3 volume that EBS does not sell",
    because="EC2 refuses it, and the cluster does not start",
    fix="keep 4 IOPS for each MiB/s, 500 for each GiB",
    source=GP3,
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _impossible_gp3(node: LintedNode) -> Iterator[Violation]:
    for volume in _gp3(node):
        iops = volume.iops or gp3.INCLUDED_IOPS
        throughput = volume.throughput_mib_s or gp3.INCLUDED_MIB_S
        why = None
        if iops > MOST_IOPS or throughput > MOST_MIB_S:
            why = f"{iops:,} IOPS and {throughput:,} MiB/s are more than gp3 has"
        elif throughput * gp3.IOPS_PER_MIB_S > iops:
            why = f"{throughput:,} MiB/s need {throughput * gp3.IOPS_PER_MIB_S:,} IOPS, not {iops:,}"
        elif volume.size_gib is not None and iops > gp3.most_iops(volume.size_gib):
            why = f"{volume.size_gib:,} GiB take {volume.size_gib * gp3.IOPS_PER_GIB:,} IOPS at most, not {iops:,}"
        if why:
            yield Violation(classification="", property=VOLUME, line=volume.line, message=why)


@rule(
    id="WB706",
    severity=Severity.WARNING,
    title="a volume beyond what EMR documents",
    because="the limit is probably stale; EMR may refuse the launch",
    fix="use more nodes should it",
    source=CFN_VOLUME,
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _beyond_documents(node: LintedNode) -> Iterator[Violation]:
    for volume in _gp3(node):
        size, throughput = volume.size_gib or 0, volume.throughput_mib_s or 0
        if size > gp3.EMR_DOCUMENTED_GIB or throughput > gp3.EMR_DOCUMENTED_MIB_S:
            yield Violation(
                classification="",
                property=VOLUME,
                line=volume.line,
                message=f"EMR documents volumes up to {gp3.EMR_DOCUMENTED_GIB:,} GiB and {gp3.EMR_DOCUMENTED_MIB_S:,} "
                f"MiB/s; this one has {' and '.join(_stated(volume))}",
            )


def _stated(volume: EbsVolume) -> Iterator[str]:
    if volume.size_gib is not None:
        yield f"{volume.size_gib:,} GiB"
    if volume.throughput_mib_s is not None:
        yield f"{volume.throughput_mib_s:,} MiB/s"


@rule(
    id="WB707",
    severity=Severity.WARNING,
    title="a cache on an old kind of volume",
    because="its throughput depends on its size, or on a spinning disk",
    fix="use gp3",
    source=GP3,
    proof=NO_AWS,
    of_hbase_1=True,
)
def _old_volume(node: LintedNode) -> Iterator[Violation]:
    for volume in node.volumes:
        if node.caches and volume.type in {"gp2", "standard", "st1", "sc1"}:
            yield Violation(
                classification="", property=VOLUME, line=volume.line, message=f"the cache would be on {volume.type}"
            )
