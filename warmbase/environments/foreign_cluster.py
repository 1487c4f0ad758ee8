"""The values of a draft that another cluster's configuration states, and remarks on what a draft cannot take over."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from warmbase.emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup, is_placeholder
from warmbase.environments.reader.schema import REGION
from warmbase.facts.ec2 import instance_types
from warmbase.facts.prices import priced_regions
from warmbase.facts.releases import newest_release, releases, unknown_release
from warmbase.sizing import gp3
from warmbase.sizing.cost import EMR_ROOT_VOLUME

PRIMARIES: Final = (1, 3)
LEAST_CORE_NODES: Final = 2
SUBNET: Final = re.compile(r"subnet-[0-9a-f]{8,17}")
ZONE: Final = re.compile(rf"({REGION})[a-z]")
IN_S3: Final = re.compile(r"s3[an]?://")


class Finding(NamedTuple):
    """One value of the file, by path, or a remark on why there is none. A remark may also explain a value."""

    path: str
    value: object = None
    remark: str = ""


class ForeignCluster(Struct, frozen=True, kw_only=True):
    """A cluster as its owner's file describes it."""

    spec: ClusterSpec
    overrides: Mapping[str, Mapping[str, str]]
    """Properties that warmbase leaves alone, by classification."""
    omissions: tuple[str, ...] = ()
    """Properties among them that a draft does not have, because lint finds errors in them."""
    secrets: tuple[str, ...] = ()
    """Properties whose values are secrets, which a draft does not copy."""

    def without(self, refused: AbstractSet[tuple[str, str]]) -> ForeignCluster:
        """Return the cluster without the overrides that are refused; an empty key refuses a whole classification."""
        remaining: dict[str, dict[str, str]] = {}
        omissions = []
        for classification, properties in self.overrides.items():
            for key, value in properties.items():
                if {(classification, key), (classification, "")} & refused:
                    omissions.append(f"{classification} {key}")
                else:
                    remaining.setdefault(classification, {})[key] = value
        return replace(self, overrides=remaining, omissions=(*self.omissions, *omissions))

    @property
    def values(self) -> dict[str, object]:
        """Return the values that the file states, by path."""
        return {finding.path: finding.value for finding in self._findings() if finding.value is not None}

    @property
    def remarks(self) -> dict[str, str]:
        """Return what the draft says about the file's values, by path."""
        return {finding.path: finding.remark for finding in self._findings() if finding.remark}

    def _findings(self) -> Iterator[Finding]:
        spec, file = self.spec, self.spec.source
        taken, label = f"From {file}.", spec.release_label
        if label in releases():
            yield Finding("release", label, taken)
        elif label is not None:
            yield Finding("release", remark=f"{file} has {label}, which {unknown_release(label)[0]}.")

        root = self._setting("hbase-site", "hbase.rootdir") or ""
        mode = self._setting("hbase", "hbase.emr.storageMode")
        engine = self._setting("hbase-site", "hbase.bucketcache.ioengine")
        if IN_S3.match(root) or (mode or "").lower() == "s3":
            if engine is None or engine.startswith("file"):
                why = "" if engine else ", and EMR configures a BucketCache on disk for it by default"
                yield Finding("storage.mode", "s3-cached", f"{file} has its HBase root in S3{why}.")
            else:
                yield Finding("storage.mode", "s3-plain", f"{file} has no cache on disk.")
        elif root or spec.groups:
            yield Finding("storage.mode", "hdfs", f"{file} has its HBase root on HDFS.")
        if IN_S3.match(root):
            fact = f"{file} has {root}. Name it here only when the other cluster has ended: two clusters that"
            yield Finding("storage.root", remark=f"{fact} write to one root corrupt it.")
        if self._setting("hbase", "hbase.emr.wal.enabled") == "true":
            yield Finding("storage.wal", "emr-wal", taken)

        zone = ZONE.fullmatch(spec.availability_zone or "")
        if zone and zone[1] in priced_regions():
            yield Finding("region", zone[1], taken)
            yield Finding("network.availability_zone", zone[0], taken)
        if SUBNET.fullmatch(spec.subnet or ""):
            how = f"`aws ec2 describe-subnets --subnet-ids {spec.subnet}` prints its VPC and its zone"
            remark = f"{file} has {spec.subnet}. To use it, name it as `subnet`, and its VPC here: {how}."
            yield Finding("network.vpc", remark=remark)

        name = spec.security_configuration
        if name and not is_placeholder("", name):
            how = f"`aws emr describe-security-configuration --name {name}` prints what it encrypts"
            yield Finding("security.in_transit", remark=f"{file} has the security configuration {name}: {how}.")
        if spec.has_kerberos:
            yield Finding("security.kerberos", remark=f"{file} launches a cluster with Kerberos.")

        if (group := spec.group("primary")) is not None:
            if group.count in PRIMARIES:
                yield Finding("clusters.blue.primaries", group.count, taken)
            yield self._type(group, "clusters.blue.primary.type")
        if (group := spec.group("core")) is not None:
            kind = self._type(group, "clusters.blue.core.type")
            yield kind
            if group.count is not None and group.count >= LEAST_CORE_NODES:
                yield Finding("clusters.blue.core.count", group.count, self._evaluated("count"))
            elif group.count is not None:
                remark = f"{file} has {group.count}; HDFS needs two to keep the write-ahead log twice."
                yield Finding("clusters.blue.core.count", remark=remark)
            if group.volumes:
                values = volume_values(group.volumes) if kind.value is not None else None
                sizes = ", ".join(f"{volume.count} x {volume.size_gib} GiB {volume.type}" for volume in group.volumes)
                why = "warmbase needs a gp3 volume for the cache alone and a smaller one for everything else"
                remark = f"{file} has {sizes}; {why}." if values is None else self._evaluated("volumes")
                yield Finding("clusters.blue.core.volumes", values, remark)

        omitted = "".join(
            f" Left out, because {why}: {', '.join(names)}."
            for why, names in (("lint finds errors in them", self.omissions), ("they are secrets", self.secrets))
            if names
        )
        if self.overrides:
            remark = f"From {file}: properties that warmbase leaves alone. It sets all others itself.{omitted}"
            yield Finding("overrides", {name: dict(keys) for name, keys in self.overrides.items()}, remark)
        elif omitted:
            yield Finding("overrides", remark=f"From {file}, nothing.{omitted}")

    def _setting(self, classification: str, key: str) -> str | None:
        """Return the value on core nodes; None where it is not set, or to be filled in."""
        setting = self.spec.effective("core").get((classification, key))
        return None if setting is None or setting.is_placeholder else setting.value.strip()

    def _type(self, group: InstanceGroup, path: str) -> Finding:
        name, label = group.instance_type, self.spec.release_label
        if name is None or is_placeholder("", name):
            return Finding(path)
        instance = instance_types().get(name)
        if instance is None:
            return Finding(path, remark=f"{self.spec.source} has {name}, which warmbase has no facts about.")
        # The draft has the release of the file if warmbase has facts about that release.
        release = releases().get(label or "", newest_release())
        if not instance.offered_by(release.emr):
            return Finding(path, remark=f"{self.spec.source} has {name}, which {release.label} does not list.")
        return Finding(path, name, self._evaluated("type"))

    def _evaluated(self, key: str) -> str:
        """Return the remark on a value with which the plan evaluates the file's own nodes."""
        return f"From {self.spec.source}: the plan evaluates these nodes. `{key}: auto` lets warmbase choose."


KINDS: Final = 2
"""A core node has volumes of two sizes: for the cache, and for everything else."""

LEAST_GIB: Final = 5
MOST_MIB_S: Final = 2_000


def volume_values(volumes: Sequence[EbsVolume]) -> list[dict[str, object]] | None:
    """Return the volumes as the file states them; None where no environment file can state them.

    The larger volumes hold the cache: HDFS has only the write-ahead log there.
    """
    values = []
    for volume in volumes:
        size = volume.size_gib or 0
        iops, throughput = volume.iops or gp3.INCLUDED_IOPS, volume.throughput_mib_s or gp3.INCLUDED_MIB_S
        usable = (
            volume.type == "gp3"
            and size >= LEAST_GIB
            and size != EMR_ROOT_VOLUME.size_gib
            and volume.count <= gp3.EMR_MOST_VOLUMES
            and gp3.INCLUDED_IOPS <= iops <= max(gp3.INCLUDED_IOPS, gp3.IOPS_PER_GIB * size)
            and gp3.INCLUDED_MIB_S <= throughput <= min(MOST_MIB_S, iops // gp3.IOPS_PER_MIB_S)
        )
        if not usable:
            return None
        value: dict[str, object] = {
            "type": "gp3",
            "count": volume.count,
            "size": f"{size} GiB",
            "iops": iops,
            "throughput": f"{throughput} MiB/s",
        }
        values.append((size * volume.count, volume, value))
    values.sort(key=operator.itemgetter(0))
    if len(values) != KINDS or values[0][1].count != 1 or values[0][1].size_gib == values[1][1].size_gib:
        return None
    return [{"purpose": "cache", **values[1][2]}, {"purpose": "system", **values[0][2]}]
