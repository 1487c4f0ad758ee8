"""The values of a draft that another cluster's configuration states, and remarks on what a draft cannot take over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        parts: tuple[Callable[[], Iterator[Finding]], ...] = (
            self._release, self._storage, self._network, self._security, self._primary, self._core, self._overrides,
        )  # fmt: skip
        for part in parts:
            yield from part()

    @property
    def _file(self) -> str:
        return self.spec.source

    def _setting(self, classification: str, key: str) -> str | None:
        """Return the value on core nodes; None where it is not set, or to be filled in."""
        setting = self.spec.effective("core").get((classification, key))
        return None if setting is None or setting.is_placeholder else setting.value.strip()

    @property
    def _known_release(self) -> str:
        """Return the release of the file if warmbase has facts about it, else the one that the draft assumes."""
        label = self.spec.release_label
        return label if label is not None and label in releases() else newest_release().label

    def _release(self) -> Iterator[Finding]:
        label = self.spec.release_label
        if label in releases():
            yield Finding("release", label, f"From {self._file}.")
        elif label is not None:
            yield Finding("release", remark=f"{self._file} has {label}, which {unknown_release(label).why}.")

    def _storage(self) -> Iterator[Finding]:
        root = self._setting("hbase-site", "hbase.rootdir") or ""
        mode = self._setting("hbase", "hbase.emr.storageMode")
        engine = self._setting("hbase-site", "hbase.bucketcache.ioengine")
        if IN_S3.match(root) or (mode or "").lower() == "s3":
            has_cache = engine is None or engine.startswith("file")
            why = "" if engine else ", and EMR configures a BucketCache on disk for it by default"
            yield Finding(
                "storage.mode",
                "s3-cached" if has_cache else "s3-plain",
                f"{self._file} has its HBase root in S3{why}." if has_cache else f"{self._file} has no cache on disk.",
            )
        elif root or self.spec.groups:
            yield Finding("storage.mode", "hdfs", f"{self._file} has its HBase root on HDFS.")
        if IN_S3.match(root):
            fact = f"{self._file} has {root}. Name it here only when the other cluster has ended: two clusters that"
            yield Finding("storage.root", remark=f"{fact} write to one root corrupt it.")
        if self._setting("hbase", "hbase.emr.wal.enabled") == "true":
            yield Finding("storage.wal", "emr-wal", f"From {self._file}.")

    def _network(self) -> Iterator[Finding]:
        zone = ZONE.fullmatch(self.spec.availability_zone or "")
        if zone and zone[1] in priced_regions():
            yield Finding("region", zone[1], f"From {self._file}.")
            yield Finding("network.availability_zone", zone[0], f"From {self._file}.")
        subnet = self.spec.subnet or ""
        if SUBNET.fullmatch(subnet):
            how = f"`aws ec2 describe-subnets --subnet-ids {subnet}` prints its VPC and its zone"
            remark = f"{self._file} has {subnet}. To use it, name it as `subnet`, and its VPC here: {how}."
            yield Finding("network.vpc", remark=remark)

    def _security(self) -> Iterator[Finding]:
        name = self.spec.security_configuration
        if name and not is_placeholder("", name):
            how = f"`aws emr describe-security-configuration --name {name}` prints what it encrypts"
            yield Finding("security.in_transit", remark=f"{self._file} has the security configuration {name}: {how}.")
        if self.spec.has_kerberos:
            yield Finding("security.kerberos", remark=f"{self._file} launches a cluster with Kerberos.")

    def _primary(self) -> Iterator[Finding]:
        group = self.spec.group("primary")
        if group is None:
            return
        if group.count in PRIMARIES:
            yield Finding("clusters.blue.primaries", group.count, f"From {self._file}.")
        yield self._type(group, "clusters.blue.primary.type")

    def _core(self) -> Iterator[Finding]:
        group = self.spec.group("core")
        if group is None:
            return
        kind = self._type(group, "clusters.blue.core.type")
        yield kind
        if group.count is not None and group.count >= LEAST_CORE_NODES:
            yield Finding("clusters.blue.core.count", group.count, self._evaluated("count"))
        elif group.count is not None:
            remark = f"{self._file} has {group.count}; HDFS needs two to keep the write-ahead log twice."
            yield Finding("clusters.blue.core.count", remark=remark)
        if group.volumes:
            yield self._volumes(group.volumes, pinned=kind.value is not None)

    def _type(self, group: InstanceGroup, path: str) -> Finding:
        name = group.instance_type
        if name is None or is_placeholder("", name):
            return Finding(path)
        instance = instance_types().get(name)
        if instance is None:
            return Finding(path, remark=f"{self._file} has {name}, which warmbase has no facts about.")
        if not instance.offered_by(releases()[self._known_release].emr):
            return Finding(path, remark=f"{self._file} has {name}, which {self._known_release} does not list.")
        return Finding(path, name, self._evaluated("type"))

    def _volumes(self, volumes: tuple[EbsVolume, ...], *, pinned: bool) -> Finding:
        path = "clusters.blue.core.volumes"
        values = volume_values(volumes) if pinned else None
        if values is not None:
            return Finding(path, values, self._evaluated("volumes"))
        sizes = ", ".join(f"{volume.count} x {volume.size_gib} GiB {volume.type}" for volume in volumes)
        why = "warmbase needs a gp3 volume for the cache alone and a smaller one for everything else"
        return Finding(path, remark=f"{self._file} has {sizes}; {why}.")

    def _evaluated(self, key: str) -> str:
        """Return the remark on a value with which the plan evaluates the file's own nodes."""
        return f"From {self._file}: the plan evaluates these nodes. `{key}: auto` lets warmbase choose."

    def _overrides(self) -> Iterator[Finding]:
        omitted = "".join(
            f" Left out, because {why}: {', '.join(names)}."
            for why, names in (("lint finds errors in them", self.omissions), ("they are secrets", self.secrets))
            if names
        )
        if self.overrides:
            remark = f"From {self._file}: properties that warmbase leaves alone. It sets all others itself.{omitted}"
            yield Finding("overrides", {name: dict(keys) for name, keys in self.overrides.items()}, remark)
        elif omitted:
            yield Finding("overrides", remark=f"From {self._file}, nothing.{omitted}")


KINDS: Final = 2
"""A core node has volumes of two sizes: for the cache, and for everything else."""

LEAST_GIB: Final = 5
MOST_MIB_S: Final = 2_000


def volume_values(volumes: Sequence[EbsVolume]) -> list[dict[str, object]] | None:
    """Return the volumes as the file states them; None where no environment file can state them.

    The larger volumes hold the cache: HDFS has only the write-ahead log there.
    """
    usable = all(volume.type == "gp3" and _whole(volume) for volume in volumes)
    if len(volumes) != KINDS or not usable:
        return None
    system, cache = sorted(volumes, key=lambda volume: (volume.size_gib or 0) * volume.count)
    if system.count != 1 or system.size_gib == cache.size_gib:
        return None
    return [_value("cache", cache), _value("system", system)]


def _whole(volume: EbsVolume) -> bool:
    """Return whether EBS and an environment file can have such a volume."""
    size = volume.size_gib or 0
    iops, throughput = volume.iops or gp3.INCLUDED_IOPS, volume.throughput_mib_s or gp3.INCLUDED_MIB_S
    return (
        size >= LEAST_GIB
        and size != EMR_ROOT_VOLUME.size_gib
        and volume.count <= gp3.EMR_MOST_VOLUMES
        and gp3.INCLUDED_IOPS <= iops <= max(gp3.INCLUDED_IOPS, gp3.IOPS_PER_GIB * size)
        and gp3.INCLUDED_MIB_S <= throughput <= min(MOST_MIB_S, iops // gp3.IOPS_PER_MIB_S)
    )


def _value(purpose: str, volume: EbsVolume) -> dict[str, object]:
    return {
        "purpose": purpose,
        "type": "gp3",
        "count": volume.count,
        "size": f"{volume.size_gib} GiB",
        "iops": volume.iops or gp3.INCLUDED_IOPS,
        "throughput": f"{volume.throughput_mib_s or gp3.INCLUDED_MIB_S} MiB/s",
    }
