"""One kind of node as rules see it: its effective settings, its release, and what HBase takes where nothing is said.

Three answers differ: a value that is stated, HBase's own default where nothing is, and None for a gap that somebody is
still to fill in. A rule that gets None stays silent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from configurations.properties.values import number
from emr.classification import ClassificationPath
from emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup, Setting, Settings
from facts.keys import hadoop_keys, hbase_keys
from sizing.release import Release

__all__ = ["SITE", "LintedNode"]

SITE: Final = "hbase-site"
HBASE_2: Final = (2, 0, 0)
UNKNOWN_BLOCK_BYTES: Final = 65_536
"""BLOCKSIZE where nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedNode:
    """`role` is primary or core. `release` is None where nobody says which; `exact` whether it is in our table."""

    subject: ClusterSpec
    role: str
    release: Release | None
    exact: bool
    settings: Settings

    @property
    def group(self) -> InstanceGroup | None:
        """Its instance group, where the file has groups."""
        return self.subject.group(self.role)

    def setting(self, key: str, classification: ClassificationPath = SITE) -> Setting | None:
        """As stated, a gap too."""
        return self.settings.get((classification, key))

    def text(self, key: str, classification: ClassificationPath = SITE) -> str | None:
        """Return what is stated, without blanks around it; None where nothing is, and for a gap."""
        found = self.setting(key, classification)
        return None if found is None or found.is_placeholder else found.value.strip()

    def unstated(self, key: str, classification: ClassificationPath = SITE) -> bool:
        """Return whether nothing is stated where it would be seen; a gap is stated."""
        return self.subject.shows(classification) and self.setting(key, classification) is None

    def default(self, key: str) -> str | None:
        """Return what this release's HBase, or Hadoop, takes where nothing is said; None where it does not say."""
        if self.release is None:
            versions = None
        elif key in hbase_keys():
            versions = hbase_keys()[key].default_in(self.release.hbase)
        else:
            known = hadoop_keys().get(key)
            versions = known.default_in(self.release.hadoop) if known else None
        return versions

    def number(self, key: str, default: float | None = None, classification: ClassificationPath = SITE) -> float | None:
        """Return what is stated, or the default where nothing is; None for a gap, and for text that is no number."""
        found = self.setting(key, classification)
        if found is not None:
            return None if found.is_placeholder else _finite(found.value)
        if default is not None:
            return default
        stated = self.default(key)
        return _finite(stated) if stated is not None else None

    def switched(self, key: str, *, default: bool) -> bool | None:
        """Return whether it is on; None for a gap. Another word is the default, as Hadoop takes it."""
        found = self.setting(key)
        if found is None:
            return default
        if found.is_placeholder:
            return None
        said = found.value.strip().lower()
        return said == "true" if said in {"true", "false"} else default

    # What follows from several settings together.

    @property
    def has_hbase(self) -> bool:
        """Return whether HBase is here: among the applications, or by a classification that is its own.

        Where no applications are stated it is taken to be: whoever lints a cluster with this has one. A lone file of
        Hadoop's says nothing of it.
        """
        stated = (*self.subject.applications, *self.subject.classifications)
        unsaid = not self.subject.applications and self.subject.only is None
        return unsaid or any(name.lower().startswith("hbase") for name in stated)

    @property
    def has_hbase_1(self) -> bool:
        """Return whether the release ships an HBase before 2."""
        return self.release is not None and self.release.hbase < HBASE_2

    @property
    def on_emrfs(self) -> bool:
        """Return whether EMRFS reads and writes s3://, as far as anything says so: a gap may say so."""
        stated = self.setting("fs.s3.impl", "core-site")
        if (self.text("hbase.rootdir") or "").startswith("s3a:"):
            return False
        return stated is not None and (stated.is_placeholder or stated.value.strip().endswith("EmrFileSystem"))

    @property
    def in_s3(self) -> bool:
        """Return whether the data lies in S3, as far as anything says so."""
        root = self.text("hbase.rootdir") or ""
        mode = self.text("hbase.emr.storageMode", "hbase")
        return mode == "s3" or (mode is None and root.startswith("s3"))

    @property
    def caches(self) -> bool:
        """Whether somebody wants a BucketCache: a size, an engine or a place for its index is stated, gaps too."""
        keys = ("hbase.bucketcache.size", "hbase.bucketcache.ioengine", "hbase.bucketcache.persistent.path")
        return any(self.setting(key) for key in keys)

    @property
    def persists(self) -> bool:
        """Return whether the cache is to survive a restart."""
        return self.setting("hbase.bucketcache.persistent.path") is not None

    @property
    def cache_mib(self) -> float | None:
        """BucketCache of one RegionServer; None where it is not known."""
        return self.number("hbase.bucketcache.size") if self.setting("hbase.bucketcache.size") else None

    @property
    def cache_files(self) -> tuple[str, ...]:
        """Files of a file engine; none for another, and where the engine is not known."""
        engine = self.text("hbase.bucketcache.ioengine") or ""
        kind, _, paths = engine.partition(":")
        return tuple(path.strip() for path in paths.split(",")) if kind in {"file", "files"} else ()

    @property
    def bucket_sizes(self) -> tuple[int, ...] | None:
        """Stated bucket sizes; None where they are not stated, a gap, or no numbers."""
        stated = self.text("hbase.bucketcache.bucket.sizes")
        if stated is None:
            return None
        sizes = [_finite(part) for part in stated.split(",")]
        return None if None in sizes else tuple(int(size) for size in sizes if size is not None)

    @property
    def block_bytes(self) -> float | None:
        """The nominal block."""
        return self.number("hbase.blockcache.minblocksize", UNKNOWN_BLOCK_BYTES)

    @property
    def volumes(self) -> tuple[EbsVolume, ...]:
        """EBS volumes that the file states for these nodes."""
        return self.group.volumes if self.group else ()


def _finite(text: str) -> float | None:
    """The number that stands there; None for one like 1e999, which no property can be."""
    found = number(text)
    return found if found is not None and math.isfinite(found) else None
