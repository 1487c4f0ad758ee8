"""One kind of node as rules see it: its effective settings, JVM and volumes, and HBase's defaults for the rest.

Three answers differ: a value that the file states, HBase's own default where it states none, and None for a placeholder
that somebody still has to fill in. A rule that gets None stays silent.

The options of a RegionServer's JVM come from the variables that hbase-env.sh combines. Volumes and the cache files on
them are known as far as the file states them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from warmbase.configurations.properties.property import number
from warmbase.emr.cluster_spec import (
    PLACEHOLDER,
    ClassificationPath,
    ClusterSpec,
    EbsVolume,
    InstanceGroup,
    Setting,
    Settings,
)
from warmbase.facts.ec2 import instance_types, older_stores
from warmbase.facts.keys import hadoop_keys, hbase_keys
from warmbase.ground.instance import InstanceType
from warmbase.ground.release import Release
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.cache.bucket_sizes import ACCEPT_FACTOR

SITE: Final = "hbase-site"
HBASE_2: Final = (2, 0, 0)
DEFAULT_BLOCK_BYTES: Final = 65_536
"""HBase's default BLOCKSIZE."""


class LintedNode(Struct, frozen=True, kw_only=True):
    """A node of `role` primary or core.

    `release` is None where the file does not name one; `exact` is true where our table has that very release.
    """

    subject: ClusterSpec
    role: str
    release: Release | None
    exact: bool
    settings: Settings

    @property
    def group(self) -> InstanceGroup | None:
        """The node's instance group, or None where the file has no groups."""
        return self.subject.group(self.role)

    def setting(self, key: str, classification: ClassificationPath = SITE) -> Setting | None:
        """Return the setting as it is written, which may be a placeholder; None where the file has none."""
        return self.settings.get((classification, key))

    def text(self, key: str, classification: ClassificationPath = SITE) -> str | None:
        """Return the value without surrounding blanks; None where the file has none, and for a placeholder."""
        setting = self.setting(key, classification)
        return None if setting is None or setting.is_placeholder else setting.value.strip()

    def unstated(self, key: str, classification: ClassificationPath = SITE) -> bool:
        """Return whether the file could state the setting and does not; a placeholder counts as stated."""
        return self.subject.shows(classification) and self.setting(key, classification) is None

    def default(self, key: str) -> str | None:
        """Return the default of this release's HBase or Hadoop; None where the release, or the default, is unknown."""
        if self.release is None:
            return None
        if key in hbase_keys():
            return hbase_keys()[key].default_in(self.release.hbase)
        hadoop_key = hadoop_keys().get(key)
        return hadoop_key.default_in(self.release.hadoop) if hadoop_key else None

    def number(self, key: str, default: float | None = None, classification: ClassificationPath = SITE) -> float | None:
        """Return the number that the file states, or else the default; None for a placeholder and for other text."""
        setting = self.setting(key, classification)
        if setting is not None:
            return None if setting.is_placeholder else _finite(setting.value)
        if default is not None:
            return default
        text = self.default(key)
        return _finite(text) if text is not None else None

    def switched(self, key: str, *, default: bool) -> bool | None:
        """Return whether a switch is on; None for a placeholder. Hadoop takes any other word for the default."""
        setting = self.setting(key)
        if setting is None:
            return default
        if setting.is_placeholder:
            return None
        word = setting.value.strip().lower()
        return word == "true" if word in {"true", "false"} else default

    @property
    def has_hbase(self) -> bool:
        """Return whether HBase is installed: it is among the applications, or the file has a classification of it.

        Where the file lists no applications, lint assumes HBase. A single file of Hadoop's does not imply HBase.
        """
        names = (*self.subject.applications, *self.subject.classifications, self.subject.only or "")
        assumed = not self.subject.applications and self.subject.only is None
        return assumed or any(name.lower().startswith("hbase") for name in names)

    @property
    def has_hbase_1(self) -> bool:
        """Return whether the release ships an HBase before 2."""
        return self.release is not None and self.release.hbase < HBASE_2

    @property
    def on_emrfs(self) -> bool:
        """Return whether the file makes EMRFS read and write s3://; a placeholder may do so."""
        connector = self.setting("fs.s3.impl", "core-site")
        if (self.text("hbase.rootdir") or "").startswith("s3a:"):
            return False
        return connector is not None and (connector.is_placeholder or connector.value.strip().endswith("EmrFileSystem"))

    @property
    def in_s3(self) -> bool:
        """Return whether the file puts the data in S3."""
        root = self.text("hbase.rootdir") or ""
        mode = self.text("hbase.emr.storageMode", "hbase")
        return mode == "s3" or (mode is None and root.startswith("s3"))

    @property
    def caches(self) -> bool:
        """Return whether the file asks for a BucketCache, by its size, its engine or a path for its index."""
        keys = ("hbase.bucketcache.size", "hbase.bucketcache.ioengine", "hbase.bucketcache.persistent.path")
        return any(self.setting(key) for key in keys)

    @property
    def persists(self) -> bool:
        """Return whether the cache is to survive a restart."""
        return self.setting("hbase.bucketcache.persistent.path") is not None

    @property
    def cache_mib(self) -> float | None:
        """The BucketCache of one RegionServer in MiB; None where it is unknown."""
        return self.number("hbase.bucketcache.size") if self.setting("hbase.bucketcache.size") else None

    @property
    def cache_files(self) -> tuple[str, ...]:
        """The files of a file engine; none for another engine, and where the engine is unknown."""
        engine = self.text("hbase.bucketcache.ioengine") or ""
        kind, _, paths = engine.partition(":")
        return tuple(path.strip() for path in paths.split(",")) if kind in {"file", "files"} else ()

    @property
    def bucket_sizes(self) -> tuple[int, ...] | None:
        """The bucket sizes; None where the file has none, and where they are not numbers."""
        text = self.text("hbase.bucketcache.bucket.sizes")
        if text is None:
            return None
        sizes = [_finite(part) for part in text.split(",")]
        return None if None in sizes else tuple(int(size) for size in sizes if size is not None)

    @property
    def block_bytes(self) -> float | None:
        """The nominal size of a block; None where it is unknown."""
        return self.number("hbase.blockcache.minblocksize", DEFAULT_BLOCK_BYTES)

    @property
    def cached_blocks(self) -> float | None:
        """An estimate of how many blocks fill 95 % of the cache; None where it is unknown.

        Each block takes the smallest slot that holds the nominal block.
        """
        size_mib, block = self.cache_mib, self.block_bytes
        if size_mib is None or block is None or block <= 0:
            return None
        slot = min((size for size in self.bucket_sizes or () if size >= block), default=block)
        return size_mib * MIB * ACCEPT_FACTOR / slot

    @property
    def volumes(self) -> tuple[EbsVolume, ...]:
        """The EBS volumes that the file gives these nodes; none where EMR's defaults apply."""
        return self.group.volumes if self.group else ()


def _finite(text: str) -> float | None:
    """Return the number that a text is; None for other text, and for one like 1e999."""
    value = number(text)
    return value if value is not None and math.isfinite(value) else None


EXPORT: Final = "hbase-env/export"
VARIABLES: Final = ("HBASE_OPTS", "HBASE_REGIONSERVER_GC_OPTS", "HBASE_REGIONSERVER_OPTS")
"""The variables in the order in which a RegionServer gets them; the last of repeated flags counts."""
COLLECTORS: Final = re.compile(r"-XX:\+(Use(?:Z|G1|Parallel|Serial|Shenandoah|ConcMarkSweep|Epsilon)GC)\b")
MIB_OF: Final = {"": 2**-20, "k": 2**-10, "m": 1, "g": 2**10, "t": 2**20}


class JvmOptions(Struct, frozen=True, kw_only=True):
    """The options that a file states; a size is None where it is absent or a placeholder."""

    settings: tuple[Setting, ...]
    collectors: tuple[tuple[str, Setting], ...]
    xms_mib: float | None
    xmx_mib: float | None
    direct_mib: float | None

    def with_flag(self, flag: str) -> Setting | None:
        """Return the setting that has a flag."""
        return next((setting for setting in self.settings if flag in setting.value), None)


def size_mib(text: str, *, plain_is_mib: bool = False) -> float | None:
    """Return a size such as `16640m` in MiB; a plain number is bytes, or MiB in HBASE_HEAPSIZE. None for other text."""
    size = re.fullmatch(r"(\d+)([kKmMgGtT]?)", text.strip().strip('"').strip())
    if not size:
        return None
    unit = size[2].lower()
    return int(size[1]) * (1 if plain_is_mib and not unit else MIB_OF[unit])


def jvm_options(node: LintedNode) -> JvmOptions:
    """Return the JVM options that the file states for a RegionServer."""
    settings = tuple(setting for name in VARIABLES if (setting := node.setting(name, EXPORT)))
    text = " ".join(setting.value for setting in settings)
    return JvmOptions(
        settings=settings,
        collectors=tuple(_collectors(settings)),
        xms_mib=_last(r"-Xms(\d+[kKmMgGtT]?)\b", text),
        xmx_mib=_last(r"-Xmx(\d+[kKmMgGtT]?)\b", text),
        direct_mib=_last(r"-XX:MaxDirectMemorySize=(\d+[kKmMgGtT]?)\b", text),
    )


def is_all_placeholder(setting: Setting) -> bool:
    """Return whether the whole value is a placeholder, which could hold any option."""
    return PLACEHOLDER.fullmatch(setting.value.strip().strip('"')) is not None


def java_version(node: LintedNode) -> int | None:
    """Return the JDK of HBase's daemons, from JAVA_HOME or else the release's default; None where neither is known."""
    if node.unstated("JAVA_HOME", EXPORT):
        return node.release.java_default if node.release else None
    home = node.text("JAVA_HOME", EXPORT)
    version = re.search(r"(?:jre|jdk|java)-?(?:1\.)?(\d+)", home or "")
    return int(version[1]) if version else None


def _collectors(settings: tuple[Setting, ...]) -> Iterator[tuple[str, Setting]]:
    names = set()
    for setting in settings:
        for name in COLLECTORS.findall(setting.value):
            if name not in names:
                names.add(name)
                yield name, setting


def _last(pattern: str, text: str) -> float | None:
    sizes = re.findall(pattern, text)
    return size_mib(sizes[-1]) if sizes else None


ON_DISK: Final = ("file", "files", "mmap")
"""Engines that keep the BucketCache on a volume."""


def instance_of(node: LintedNode) -> InstanceType | None:
    """Return the instance type of a node; None where it is missing or not in our table."""
    name = node.group.instance_type if node.group else None
    return instance_types().get(name) if name else None


def _volume_gib(node: LintedNode) -> list[int] | None:
    """Return the sizes of all data volumes of a node; None where one is unknown, and where EMR's defaults apply."""
    sizes: list[int] = []
    for volume in node.volumes:
        if volume.size_gib is None:
            return None
        sizes += [volume.size_gib] * volume.count
    disks, disk_bytes = instance_store(node)
    return [*sizes, *[disk_bytes // GIB] * disks] or None


def instance_store(node: LintedNode) -> tuple[int, int]:
    """Return how many disks the instance type itself has, and the bytes of each; none where the type is unknown."""
    instance = instance_of(node)
    if instance is not None:
        return instance.nvme_disks, instance.nvme_disk_bytes
    return older_stores().get((node.group.instance_type if node.group else None) or "", (0, 0))


def largest_volume_gib(node: LintedNode) -> int | None:
    """Return the size of the largest data volume of a node; None where it is unknown."""
    sizes = _volume_gib(node)
    return max(sizes) if sizes else None


def room_gib(node: LintedNode) -> int | None:
    """Return the size of all data volumes of a node together; None where one is unknown."""
    sizes = _volume_gib(node)
    return sum(sizes) if sizes else None


def files_of(node: LintedNode) -> int | None:
    """Return the number of cache files; 0 for a cache in memory, None where it is unknown.

    EMR's default is a file on every volume but one.
    """
    if node.unstated("hbase.bucketcache.ioengine"):
        return max(1, len(_volume_gib(node) or ()) - 1)
    engine = node.text("hbase.bucketcache.ioengine")
    if engine is None:
        return None
    return max(1, len(node.cache_files)) if engine.partition(":")[0] in ON_DISK else 0


def mount_of(path: str) -> str:
    """Return the mount point of a path: `/mnt1` for EMR's volumes, or the first two names of another path."""
    parts = path.removeprefix("file://").strip("/").split("/")
    depth = 1 if parts[0].startswith("mnt") else 2
    return "/" + "/".join(parts[:depth])
