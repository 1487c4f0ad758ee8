"""One kind of node as rules see it: its effective settings, its release, and HBase's defaults for everything else.

Three answers differ: a value that the file states, HBase's own default where it states none, and None for a placeholder
that somebody still has to fill in. A rule that gets None stays silent.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

from configurations.properties.values import number
from emr.classification import ClassificationPath
from emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup, Setting, Settings
from facts.keys import hadoop_keys, hbase_keys
from sizing.allocator import ACCEPT_FACTOR
from sizing.release import Release
from sizing.units import MIB

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
