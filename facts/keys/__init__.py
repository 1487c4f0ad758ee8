"""Every configuration key that releases of HBase, Hadoop and EMR know.

They tell a slip, or a key of another version, from a key that we merely do not set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from facts.table import rows
from sizing.release import Version, parse_version

__all__ = ["CatalogueKey", "EmrKey", "KeyPrefix", "emr_keys", "hadoop_keys", "hbase_keys", "key_prefixes"]

# What cells of the tables say besides a default.
IN_CODE: Final = "(in code)"
EMPTY: Final = "(empty)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueKey:
    """A key of HBase or Hadoop, with its default by each version that knows it; None where none is stated.

    Versions are texts, oldest first, because some are no three numbers: `3.0.0-beta-1`. Only those of the table can
    be asked for. A default is text as a site file has it, and may refer to another key: `${hbase.tmp.dir}/local/`.
    """

    key: str
    defaults: Mapping[str, str | None]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that know the key, oldest first."""
        return tuple(self.defaults)

    def exists_in(self, version: Version) -> bool:
        """Return whether that version of the table knows the key."""
        return _text(version) in self.defaults

    def default_in(self, version: Version) -> str | None:
        """Its default there; None when none is stated, and when the version does not know the key."""
        return self.defaults.get(_text(version))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmrKey:
    """A key that only EMR knows, or the name of a nested classification, and the page that documents it.

    `since` and `until` are the numbers of EMR labels, the first and the last that know it, where a page says so.
    """

    key: str
    classifications: tuple[str, ...]
    since: Version | None
    until: Version | None
    page: str

    def exists_in(self, emr: Version) -> bool:
        """Return whether nothing says that this release does not know the key."""
        return (self.since is None or self.since <= emr) and (self.until is None or emr <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPrefix:
    """How keys begin that end in a name of somebody's own: `hadoop.proxyuser.` and a user."""

    prefix: str
    application: str
    then: str


@cache
def hbase_keys() -> Mapping[str, CatalogueKey]:
    """Keys of HBase, from facts/keys/hbase.csv."""
    return _catalogue_keys("hbase.csv")


@cache
def hadoop_keys() -> Mapping[str, CatalogueKey]:
    """Keys of Hadoop's common part, HDFS, YARN and S3A, from facts/keys/hadoop.csv."""
    return _catalogue_keys("hadoop.csv")


@cache
def emr_keys() -> Mapping[str, EmrKey]:
    """Keys of EMR alone, from facts/keys/emr.csv."""
    return {
        row["key"]: EmrKey(
            key=row["key"],
            classifications=tuple(row["classification"].split()),
            since=_label(row["since"]),
            until=_label(row["until"]),
            page=row["page"],
        )
        for row in rows("keys/emr.csv")
    }


@cache
def key_prefixes() -> tuple[KeyPrefix, ...]:
    """Beginnings of keys of HBase, Hadoop and EMR, from facts/keys/prefixes.csv."""
    return tuple(
        KeyPrefix(prefix=row["prefix"], application=row["application"], then=row["then"])
        for row in rows("keys/prefixes.csv")
    )


def _catalogue_keys(name: str) -> Mapping[str, CatalogueKey]:
    meaning: Mapping[str, str | None] = {IN_CODE: None, EMPTY: ""}
    known = {}
    for row in rows(f"keys/{name}"):
        key = row.pop("key")
        defaults = {version: meaning.get(cell, cell) for version, cell in row.items() if cell}
        known[key] = CatalogueKey(key=key, defaults=defaults)
    return known


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _label(text: str) -> Version | None:
    return parse_version(text.removeprefix("emr-")) if text else None
