"""The jars that the lab runs on, as locked: `jars.csv`, which `lab.hbase.software.lock` writes from the poms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from facts.table import rows

LOCK: Final = Path(__file__).with_name("jars.csv")
COLUMNS: Final = ("sets", "group", "artifact", "version", "classifier", "bytes", "sha256")
STORE: Final = "store"
COMPILER: Final = "compiler"
KDC: Final = "kdc"
SHELL: Final = "shell"
"""The name of the set with the Ruby in which HBase's shell is written."""
HBASE: Final = "hbase-"
"""The prefix of the names of HBase's sets; the version follows."""


class Jar(Struct, frozen=True, kw_only=True):
    """One file of a Maven repository, and what it must hold."""

    group: str
    artifact: str
    version: str
    classifier: str
    size_bytes: int
    sha256: str
    extension: str = "jar"

    @property
    def name(self) -> str:
        """Return its file name."""
        ending = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{ending}.{self.extension}"

    @property
    def path(self) -> str:
        """Return its path in a Maven repository."""
        return "/".join((*self.group.split("."), self.artifact, self.version, self.name))


@cache
def jar_sets() -> Mapping[str, tuple[Jar, ...]]:
    """Return the jars of each set by name; a jar of several sets is the same object in each."""
    sets: dict[str, list[Jar]] = {}
    for row in rows(LOCK):
        jar = Jar(
            group=row["group"],
            artifact=row["artifact"],
            version=row["version"],
            classifier=row["classifier"],
            size_bytes=int(row["bytes"]),
            sha256=row["sha256"],
        )
        for name in row["sets"].split():
            sets.setdefault(name, []).append(jar)
    return {name: tuple(jars) for name, jars in sets.items()}


def hbase_sets() -> tuple[str, ...]:
    """Return the names of the sets that hold an HBase."""
    return tuple(name for name in jar_sets() if name.startswith(HBASE))


def version_of(artifact: str, name: str) -> str:
    """Return the version of an artifact in a set. Raises KeyError for an artifact that the set lacks."""
    return {jar.artifact: jar.version for jar in jar_sets()[name]}[artifact]
