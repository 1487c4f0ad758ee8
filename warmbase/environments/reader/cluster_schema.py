"""The sections of an environment file about its clusters, and about their encryption and authentication.

The calculator chooses each value of a cluster that the file does not state.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from warmbase.engines.engine import ENGINES
from warmbase.environments.environment import Kerberos
from warmbase.environments.reader.key import Bounds, size_text, yaml_key
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import Auto, Rate, Refusal, Section, Size, known_values, refuse
from warmbase.environments.reader.workload_schema import (
    ReadsSection,
    TablesSection,
    TargetsSection,
    WorkloadSection,
)
from warmbase.facts.ec2 import instance_types
from warmbase.facts.releases import releases
from warmbase.ground.release import Release
from warmbase.ground.units import GIB, MIB, TIB
from warmbase.sizing import gp3
from warmbase.sizing.cost import EMR_ROOT_VOLUME
from warmbase.sizing.gp3 import nvme_volume
from warmbase.sizing.modes import MODES
from warmbase.sizing.requirements import ClusterChoice, CoreChoice, Volume

if TYPE_CHECKING:
    from warmbase.environments.reader.schema import EnvironmentFile


PEM_FORM: Final = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[A-Za-z0-9._=/-]+\.zip$"
CLUSTER_KDC: Final = "cluster"
SERVER_FORM: Final = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?"
SERVER: Final = "HOST or HOST:PORT"
REALM_FORM: Final = r"^[A-Za-z0-9][A-Za-z0-9.-]{0,250}$"
REFERENCE_FORM: Final = r"^\{\{resolve:secretsmanager:[A-Za-z0-9/_+=.@:-]{1,500}\}\}$"
REFERENCE: Final = "{{resolve:secretsmanager:hbase/kdc:SecretString:password}}"
KERBEROS: Final = {"kdc": CLUSTER_KDC, "realm": "EC2.INTERNAL", "admin_password": REFERENCE}


def _reference(value: object) -> str:
    """Return a reference to a secret. The refusal never repeats the value, because it may be the password itself."""
    text = str(value)
    if re.fullmatch(REFERENCE_FORM, text):
        return text
    fix = f'store it in AWS Secrets Manager, and write "{REFERENCE}"'
    if text.startswith("{{resolve:ssm-secure:"):
        raise refuse("CloudFormation resolves ssm-secure in no property of an EMR cluster", fix)
    if text.startswith("{{resolve:ssm:"):
        raise refuse("CloudFormation resolves ssm only for parameters that are stored as plain text", fix)
    raise refuse("the password must not be in the file or in a template", fix)


class InTransit(Section):
    """The certificates with which nodes encrypt the traffic between them."""

    pem: str = yaml_key(
        "The zip file in S3 with privateKey.pem, certificateChain.pem and trustedCertificates.pem.",
        form="s3://BUCKET/KEY.zip, of privateKey.pem, certificateChain.pem and trustedCertificates.pem",
        examples=["s3://our-keys/hbase.zip"],
        pattern=PEM_FORM,
    )


class KerberosSection(Section):
    """How clients and servers of HBase prove who they are."""

    kdc: str = yaml_key(
        "`cluster` for a KDC on the primary node of each cluster, or the address of an external KDC.",
        form=f"`cluster`, or {SERVER}",
        examples=[CLUSTER_KDC],
        pattern=f"^{SERVER_FORM}$",
    )
    admin_server: str | None = yaml_key(
        "The address of the external KDC's admin server, on which EMR creates principals.",
        None,
        form=SERVER,
        examples=["kdc.example.com:749"],
        pattern=f"^{SERVER_FORM}$",
    )
    realm: str = yaml_key(
        "The Kerberos realm, such as EC2.INTERNAL.",
        form="a realm such as EC2.INTERNAL",
        examples=["EC2.INTERNAL"],
        pattern=REALM_FORM,
    )
    admin_password: Annotated[
        str, BeforeValidator(_reference), WithJsonSchema({"type": "string", "pattern": REFERENCE_FORM})
    ] = yaml_key("A reference to the password of the KDC's administrator in AWS Secrets Manager.", examples=[REFERENCE])

    def build(self, where: str) -> Kerberos:
        """Return the section as the type that the stacks use."""
        kdc, server = (None, None) if self.kdc == CLUSTER_KDC else (self.kdc, self.admin_server)
        return Kerberos(realm=self.realm, admin_password=self.admin_password, kdc=kdc, admin_server=server, where=where)


class Security(Section):
    """Encryption besides that of S3, which is always on, and authentication."""

    in_transit: InTransit | None = yaml_key(
        "The certificates for encrypting the traffic between nodes. By default, it is not encrypted.",
        None,
        examples=[{"pem": "s3://our-keys/hbase.zip"}],
    )
    local_disks: bool = yaml_key("Whether EMR encrypts the volumes of the nodes.", default=True)
    kerberos: KerberosSection | None = yaml_key(
        "The Kerberos realm in which new clusters are launched. By default, HBase authenticates nobody.",
        None,
        examples=[KERBEROS],
    )


GRAVITON_MEMORY_FAMILIES = ("r8g", "r8gd", "i8g")


class VolumeSection(Section):
    """One kind of data volume on each core node. The defaults are gp3's own: 3,000 IOPS and 125 MiB/s."""

    purpose: Literal["cache", "system"] = yaml_key(
        "cache: a volume for the BucketCache, or Trino's file-system cache, alone. system: a volume for HDFS, YARN and"
        " logs."
    )
    type: Literal["gp3", "nvme"] = yaml_key("gp3: an EBS volume. nvme: the instance's own NVMe drive.", "gp3")
    count: int = yaml_key(
        "The number of volumes of this kind on each core node.",
        1,
        bounds=Bounds(least=1, most=gp3.EMR_MOST_VOLUMES, reason="a core node has at most 12 volumes for one purpose"),
        examples=[1],
    )
    size: Size = yaml_key(
        "The size of each volume, in whole GiB.",
        bounds=Bounds(
            least=5 * GIB,
            most=64 * TIB,
            text=size_text,
            reason="EMR offers no smaller volume for core nodes, and EBS no larger one",
        ),
        examples=["500 GiB"],
    )
    iops: int = yaml_key(
        "The IOPS of a gp3 volume; 3,000 are included in its price.",
        gp3.INCLUDED_IOPS,
        bounds=Bounds(
            least=gp3.INCLUDED_IOPS, most=80_000, reason="gp3 includes 3,000 IOPS and takes no more than 80,000"
        ),
    )
    throughput: Rate = yaml_key(
        "The throughput of a gp3 volume; 125 MiB/s are included in its price.",
        gp3.INCLUDED_MIB_S * MIB,
        bounds=Bounds(
            least=gp3.INCLUDED_MIB_S * MIB,
            most=2_000 * MIB,
            text=lambda rate: f"{size_text(rate)}/s",
            reason="gp3 includes 125 MiB/s and takes no more than 2,000",
        ),
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse what EBS does not sell, and what the node could not tell from its root disk."""
        with known_values:
            if self.size % GIB:
                # The node, too, identifies its disks by whole GiB.
                yield Refusal(at=("size",), why="EBS sells whole GiB", fix=f"write {math.ceil(self.size / GIB)} GiB")
        with known_values:
            if self.throughput % MIB:
                fix = f"write {math.ceil(self.throughput / MIB)} MiB/s"
                yield Refusal(at=("throughput",), why="EBS sells whole MiB/s", fix=fix)
        with known_values:
            # EMR gives every node a root disk beside its volumes.
            if self.type == "gp3" and self.size == EMR_ROOT_VOLUME.size_bytes:
                yield Refusal(
                    at=("size",),
                    why=f"the node identifies its disks by size, and the root disk has {EMR_ROOT_VOLUME.size_gib} GiB",
                    fix=f"write {EMR_ROOT_VOLUME.size_gib + 1} GiB",
                )
        with known_values:
            most = max(gp3.INCLUDED_IOPS, gp3.IOPS_PER_GIB * (self.size // GIB))
            if self.type == "gp3" and self.iops > most:
                yield Refusal(
                    at=("iops",),
                    why=f"gp3 takes at most {gp3.IOPS_PER_GIB} IOPS per GiB, {most:,} for this size, not {self.iops:,}",
                    fix=f"use at most {most}, or a volume of {-(-self.iops // gp3.IOPS_PER_GIB)} GiB",
                )
        with known_values:
            mib_s, most = self.throughput // MIB, self.iops // gp3.IOPS_PER_MIB_S
            if self.type == "gp3" and mib_s > most:
                yield Refusal(
                    at=("throughput",),
                    why=f"gp3 takes at most 0.25 MiB/s per IOPS, {most} MiB/s with {self.iops:,} IOPS, not {mib_s}"
                    " MiB/s",
                    fix=f"provision {gp3.IOPS_PER_MIB_S * mib_s} IOPS, or {most} MiB/s",
                )
        with known_values:
            if self.count > 1 and self.type != "gp3":
                why = "an NVMe cache lies on a single instance drive"
                yield Refusal(at=("count",), why=why, fix="write 1, or use gp3")
            elif self.count > 1 and self.purpose == "system":
                why = "a node has one system volume"
                yield Refusal(at=("count",), why=why, fix="write 1, and state a larger size")

    def build(self) -> Volume:
        """Return the section as the type that the calculator uses."""
        return Volume(
            purpose=self.purpose,
            type=self.type,
            count=self.count,
            size_gib=self.size // GIB,
            iops=self.iops,
            throughput_mib_s=self.throughput // MIB,
        )


def _primaries(count: object) -> object:
    """Return the count. Raises a refusal for two primary nodes, which EMR does not launch, and for a switch."""
    if isinstance(count, bool):
        raise refuse(f"{quoted(count)} is not a number", "write the number")
    if count == 2:  # noqa: PLR2004 - the one number between
        raise refuse("EMR launches one primary node or three, because two cannot outvote a lost one", "use 1 or 3")
    return count


def _check_instance_type(name: str) -> str:
    if name not in instance_types():
        raise refuse(
            f"no instance type {quoted(name)} in the table", "see warmbase/facts/instance-types.csv, or use auto"
        )
    return name


def _two_at_least(count: int) -> int:
    """HDFS keeps the write-ahead log twice."""
    if count < 2:  # noqa: PLR2004 - two copies
        raise refuse(f"{quoted(count)} core node cannot keep the write-ahead log twice", "use 2 or more, or auto")
    return count


def _check_families(families: list[str]) -> list[str]:
    catalogued = sorted({instance_type.family for instance_type in instance_types().values()})
    unknown = [family for family in families if family not in catalogued]
    if not families:
        raise refuse("an empty list leaves nothing to choose from", f"known: {', '.join(catalogued)}")
    if unknown:
        raise refuse(f"no family {', '.join(map(quoted, unknown))} in the table", f"known: {', '.join(catalogued)}")
    return families


InstanceType = Annotated[str, AfterValidator(_check_instance_type)]
"""An instance type that the price list and the table have."""
Families = Annotated[list[str], AfterValidator(_check_families)]
"""Families of instance types that the price list and the table have."""


class PrimarySection(Section):
    """The primary nodes of a cluster, as the file states them."""

    type: Annotated[InstanceType | None, Auto] = yaml_key(
        "The instance type of the primary nodes. By default, the calculator chooses it.", None, examples=["r8g.2xlarge"]
    )


class Core(Section):
    """The core nodes: what is not stated, the calculator chooses."""

    type: Annotated[InstanceType | None, Auto] = yaml_key(
        "The instance type of the core nodes. By default, the calculator chooses it.",
        None,
        examples=["r8g.2xlarge"],
        effect="Everything about the core nodes.",
    )
    count: Annotated[
        Annotated[
            int,
            AfterValidator(_two_at_least),
            Bounds(least=2, most=10_000, reason="no EMR cluster has more core nodes"),  # judgement
        ]
        | None,
        Auto,
    ] = yaml_key(
        "How many core nodes the cluster has. By default, the calculator chooses it.",
        None,
        examples=[6],
        effect="Everything about the core nodes.",
    )
    families: Families = yaml_key(
        "The instance families from which the calculator chooses.",
        default_factory=lambda: list(GRAVITON_MEMORY_FAMILIES),
        examples=[list(GRAVITON_MEMORY_FAMILIES)],
        effect="Which instance types may be chosen.",
    )
    volumes: Annotated[list[VolumeSection] | None, Auto] = yaml_key(
        "The volumes of each core node. By default, the calculator chooses them.",
        None,
        examples=[[{"purpose": "cache", "size": "1420 GiB"}, {"purpose": "system", "size": "64 GiB"}]],
        effect="The size of the cache, throughput, warm-up and price.",
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse anything but one cache volume and one system volume that the node can tell apart."""
        with known_values:
            volumes = self.volumes or []
            purposes, sizes = sorted(volume.purpose for volume in volumes), [volume.size for volume in volumes]
            if self.volumes is not None and purposes != ["cache", "system"]:
                why = "a node needs one cache volume and one system volume"
                yield Refusal(at=("volumes",), why=why, fix="state both, or auto")
            elif self.volumes is not None and sizes[0] == sizes[1]:
                why = "the node identifies its volumes by size, and two volumes have the same size"
                yield Refusal(at=("volumes",), why=why, fix="make the system volume 1 GiB larger")
        with known_values:
            # An nvme volume is the only drive of its instance type, and the node identifies it by its whole size.
            drives = [(number, volume) for number, volume in enumerate(self.volumes or ()) if volume.type == "nvme"]
            instance = None if not drives or self.type is None else instance_types()[self.type]
            if drives and (instance is None or instance.nvme_disks != 1):
                has = f"{instance.name} has {instance.nvme_disks}" if instance else "the calculator chooses the type"
                yield Refusal(
                    at=("volumes",),
                    why=f"an nvme volume is the one drive of its instance, and {has}",
                    fix="pin a type with one drive, such as r8gd.4xlarge, or use gp3",
                )
            elif instance and len(drives) > 1:
                why = f"{instance.name} has one drive, and two volumes are nvme"
                yield Refusal(at=("volumes",), why=why, fix="make one gp3")
            elif instance and drives[0][1].size != instance.nvme_disk_bytes // GIB * GIB:
                drive_gib = instance.nvme_disk_bytes // GIB
                yield Refusal(
                    at=("volumes", drives[0][0], "size"),
                    why=f"the drive of {instance.name} has {drive_gib} GiB, and the node identifies it by that size",
                    fix=f"write {drive_gib} GiB",
                )

    def build(self) -> CoreChoice:
        """Return the section as the type that the calculator uses.

        A drive of the instance has its own IOPS and throughput, which can be chosen for EBS volumes only.
        """
        drive = None if self.type is None else nvme_volume(instance_types()[self.type])
        return CoreChoice(
            type=self.type,
            count=self.count,
            families=tuple(self.families),
            volumes=None
            if self.volumes is None
            else tuple(drive if drive and volume.type == "nvme" else volume.build() for volume in self.volumes),
        )


class ClusterWorkload(Section):
    """The part of the workload that one cluster has of its own; all clusters over the root share the rest."""

    reads: ReadsSection | None = yaml_key("The reads of this cluster.", None, examples=[{"per_second": 50}])


class EngineSection(Section):
    """A cluster of one engine, as the file states it."""

    ENGINE: ClassVar[str]

    def rules_in(self, file: EnvironmentFile, name: str) -> Iterator[Refusal]:
        """Yield the refusals of rules about this cluster and other parts of the file; here, those about its nodes."""
        for group, nodes in vars(self).items():
            at = "clusters", name, group
            if isinstance(nodes, (PrimarySection, Core)):
                with known_values:
                    release, instance = releases()[file.release], instance_types().get(nodes.type or "")
                    if instance and not instance.offered_by(release.emr):
                        family, label = instance.family, release.label
                        why = f"{label} does not list {instance.name} among its instance types"
                        remark, hint = _unlisted(family, release)
                        fix = f"choose a type that it lists, or auto{hint}"
                        yield Refusal(at=(*at, "type"), why=f"{why}{remark}", fix=fix)
            if isinstance(nodes, Core):
                with known_values:
                    # The calculator chooses only listed types.
                    release = releases()[file.release]
                    listed = _listed_families(release)
                    absent = [family for family in nodes.families if family not in listed]
                    unheard = [family for family in absent if _unlisted(family, release)[0]]
                    if nodes.type is None and (unheard or absent == nodes.families):
                        names = unheard or absent
                        remark, hint = _unlisted(names[0], release)
                        yield Refusal(
                            at=(*at, "families"),
                            why=f"{release.label} lists no type of {', '.join(names)}{remark}",
                            fix=f"name one that it lists: {', '.join(sorted(listed))}{hint}",
                        )

    def build(self, cluster_name: str, directory: Path) -> Any:  # noqa: ANN401 - the choice has the type of its engine
        """Return the section as the type that the engine's calculator uses; file names are relative to `directory`."""
        raise NotImplementedError


@cache
def _listed_families(release: Release) -> frozenset[str]:
    return frozenset(instance.family for instance in instance_types().values() if instance.offered_by(release.emr))


def _unlisted(family: str, release: Release) -> tuple[str, str]:
    """Return a remark and its remedy if no known EMR release lists the family; otherwise return empty texts."""
    if any(instance.emr_since for instance in instance_types().values() if instance.family == family):
        return "", ""
    command = f"aws emr list-supported-instance-types --release-label {release.label}"
    hint = f"; if `{command}` lists it, write the release into emr_min_7x of warmbase/facts/instance-types.csv"
    return ": EC2 has it, but EMR is not known to support it", hint


def _known_engine(engine: object) -> object:
    if engine != "hbase":
        raise refuse(f"{quoted(engine)} is not an engine that warmbase knows", f"use {' or '.join(ENGINES)}")
    return engine


class ClusterSection(EngineSection):
    """One named cluster over the environment's root. If it has its own reads or targets, they replace the file's."""

    ENGINE = "hbase"

    engine: Annotated[Literal["hbase"], BeforeValidator(_known_engine)] = yaml_key(
        "hbase: an HBase cluster over the root. trino: an analytics cluster, which has its own keys.", "hbase"
    )
    role: Literal["active", "replica"] = yaml_key(
        "active: the cluster that writes to the root. replica: a cluster that only reads it.",
        "active",
        effect="A replica writes nothing and is planned for its own reads and targets.",
    )
    primaries: Annotated[Literal[1, 3], BeforeValidator(_primaries)] = yaml_key(
        "The number of primary nodes: 1 or 3. With three, HBase stays available if one fails.",
        1,
        effect="The price of the primary nodes.",
        decides="With one primary node, its loss ends the cluster; with three, EMR replaces it.",
    )
    primary: PrimarySection = yaml_key(
        "The primary nodes.",
        PrimarySection.model_construct(),
        examples=[{"type": "r8g.2xlarge"}],
        effect="The price of the primary nodes.",
    )
    core: Core = yaml_key(
        "The core nodes, on which the RegionServers run.",
        Core.model_construct(),
        examples=[{"type": "r8g.2xlarge", "count": 6}],
    )
    workload: ClusterWorkload = yaml_key(
        "The replica's own load, where it differs from that of the environment.",
        ClusterWorkload.model_construct(),
        examples=[{"reads": {"per_second": 50}}],
    )
    targets: TargetsSection | None = yaml_key(
        "The replica's own targets, where they differ from those of the environment.",
        None,
        examples=[{"hit_ratio": 0.5, "lost_nodes": 0}],
        effect="The plan of this cluster alone.",
    )

    def rules_in(self, file: EnvironmentFile, name: str) -> Iterator[Refusal]:
        """Yield also the refusals of rules about the workload, the root and the realm."""
        at = "clusters", name
        with known_values:
            if isinstance(file.workload, TablesSection) and self.workload.gives("reads"):
                yield Refusal(
                    at=(*at, "workload", "reads"),
                    why="the workload states its reads for each table, and those of a cluster do not name a table",
                    fix="remove them, or plan this cluster with an environment file of its own",
                )
        with known_values:
            if self.role == "replica" and not MODES[file.storage.mode].keeps_data_in_s3:
                yield Refusal(
                    at=(*at, "role"),
                    why="a replica reads the same root in S3, but the mode is hdfs",
                    fix="leave this cluster out, or keep the data in S3",
                )
        with known_values:
            # Targets must hold with some nodes lost, so at least one node must remain.
            count, targets = self.core.count, self.targets or file.targets
            if count is not None and count <= targets.lost_nodes:
                target = (*at, "targets", "lost_nodes") if self.targets else ("targets", "lost_nodes")
                yield Refusal(
                    at=target if targets.gives("lost_nodes") else (*at, "core", "count"),
                    why=f"{targets.lost_nodes} lost of {count} core nodes (clusters.{name}.core.count) leave none to"
                    " serve",
                    fix=f"set lost_nodes to {count - 1} or less, or the count to {targets.lost_nodes + 1} or more",
                )
        with known_values:
            count = self.core.count
            regions = file.workload.regions if isinstance(file.workload, WorkloadSection) else None
            if regions is not None and count is not None and count > regions:
                yield Refusal(
                    at=(*at, "core", "count"),
                    why=f"{count:,} RegionServers share {regions:,} regions: one without a region serves nothing",
                    fix=f"use {regions} or less, or split the regions",
                )
        with known_values:
            # Only one node could run the KDC.
            if file.security.kerberos and file.security.kerberos.kdc == CLUSTER_KDC and self.primaries != 1:
                yield Refusal(
                    at=("security", "kerberos", "kdc"),
                    why=f"clusters.{name} has several primary nodes, and EMR supports a KDC on the cluster only with"
                    " one",
                    fix="name an external KDC and its admin server in your VPC: kdc: HOST:88, admin_server: HOST:749;"
                    f" or set clusters.{name}.primaries to 1",
                )
        yield from super().rules_in(file, name)

    def build(self, cluster_name: str, directory: Path) -> ClusterChoice:
        """Return the section as the type that the calculator uses."""
        del directory
        return ClusterChoice(
            name=cluster_name,
            role=self.role,
            primaries=self.primaries,
            primary_type=self.primary.type,
            core=self.core.build(),
            reads=self.workload.reads.build() if self.workload.reads else None,
            targets=self.targets.build() if self.targets else None,
        )
