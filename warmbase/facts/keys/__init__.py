"""Every configuration key that releases of HBase, Hadoop and EMR know.

With them lint tells a misspelt key, or one of another version, from a key that warmbase merely does not set.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from warmbase.facts import rows
from warmbase.ground.release import Version, parse_version

__all__ = [
    "CatalogueKey",
    "EmrKey",
    "current_key",
    "deprecated_keys",
    "emr_keys",
    "hadoop_keys",
    "hbase_keys",
    "key_prefixes",
]

# Cells of the tables that are not a default.
IN_CODE: Final = "(in code)"
EMPTY: Final = "(empty)"


class CatalogueKey(Struct, frozen=True, kw_only=True):
    """A key of HBase or Hadoop, with its default in each version that has it; None where the jars state none.

    Versions are texts, oldest first, because one may have more than three numbers, as `3.0.0-beta-1`. Only versions of
    the table are known. A default is the text of a site file, and may refer to another key: `${hbase.tmp.dir}/local/`.
    """

    key: str
    defaults: Mapping[str, str | None]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that have the key, oldest first."""
        return tuple(self.defaults)

    def exists_in(self, version: Version) -> bool:
        """Return whether a version of the table has the key."""
        return _text(version) in self.defaults

    def default_in(self, version: Version) -> str | None:
        """Return the default in a version; None where the jars state none, and where the version lacks the key."""
        return self.defaults.get(_text(version))


class EmrKey(Struct, frozen=True, kw_only=True):
    """A key that only EMR has, or the name of a nested classification, with the page that documents it.

    `since` and `until` are the first and the last EMR release that has it, where the page says so.
    """

    key: str
    classifications: tuple[str, ...]
    since: Version | None
    until: Version | None
    page: str

    def exists_in(self, emr: Version) -> bool:
        """Return whether a release may have the key: no page says that it does not."""
        return (self.since is None or self.since <= emr) and (self.until is None or emr <= self.until)


@cache
def hbase_keys() -> Mapping[str, CatalogueKey]:
    """Return the keys of HBase, from warmbase/facts/keys/hbase.csv."""
    return _catalogue_keys("hbase.csv")


@cache
def hadoop_keys() -> Mapping[str, CatalogueKey]:
    """Return the keys of Hadoop's common part, HDFS, YARN and S3A, from warmbase/facts/keys/hadoop.csv."""
    return _catalogue_keys("hadoop.csv")


@cache
def emr_keys() -> Mapping[str, EmrKey]:
    """Return the keys that only EMR has, from warmbase/facts/keys/emr.csv."""
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
def key_prefixes() -> tuple[str, ...]:
    """Return the beginnings of keys that end in a free name, such as `hadoop.proxyuser.` and a user."""
    return tuple(row["prefix"] for row in rows("keys/prefixes.csv"))


@cache
def deprecated_keys() -> Mapping[str, str]:
    """Return the names that Hadoop and HBase have deprecated but still read, each with the name that replaces it."""
    return {row["deprecated"]: row["key"] for row in rows("keys/deprecated.csv")}


def current_key(key: str) -> str:
    """Return the name under which Hadoop and HBase know a key today."""
    return deprecated_keys().get(key, key)


def _catalogue_keys(name: str) -> Mapping[str, CatalogueKey]:
    meaning: Mapping[str, str | None] = {IN_CODE: None, EMPTY: ""}
    keys = {}
    for row in rows(f"keys/{name}"):
        key = row.pop("key")
        defaults = {version: meaning.get(cell, cell) for version, cell in row.items() if cell}
        keys[key] = CatalogueKey(key=key, defaults=defaults)
    return keys


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _label(text: str) -> Version | None:
    return parse_version(text.removeprefix("emr-")) if text else None
