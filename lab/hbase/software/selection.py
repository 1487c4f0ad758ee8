"""Which software stands for a release, and what that replaces."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec import Struct

from lab.hbase.software.compiling import Compilation
from lab.hbase.software.jars import HBASE, STORE, hbase_sets, jar_sets, version_of
from lab.hbase.software.runtime import runtime
from lab.hbase.software.setup import classes_directory, jars_directory, problems
from sizing.problem import InvalidInput, Problem
from sizing.release import Release, Version, parse_version


class Software(Struct, frozen=True, kw_only=True):
    """The lab's programs as they are installed on this machine."""

    hbase: str
    hadoop: str
    java: Path
    java_version: str
    class_path: tuple[str, ...]
    """The lab's own classes, then HBase's jars; a configuration directory goes before them."""
    store_class_path: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    """Names and versions for reports."""
    substitution: str
    """How the software differs from the release's own, for reports."""


def software(release: Release) -> Software:
    """The software that is nearest to the release's, ready to run.

    Compiles the lab's Java where it has changed since the set-up. Raises InvalidInput where the lab is not set up.
    """
    installed = runtime()
    if installed is None or problems():
        raise _not_set_up()
    name, jars = nearest_set(release.hbase), jars_directory()
    classes = Compilation(java=installed.java, jars=jars, classes=classes_directory(), name=name).compile()
    return Software(
        hbase=name.removeprefix(HBASE),
        hadoop=version_of("hadoop-common", name),
        java=installed.java,
        java_version=installed.version,
        class_path=(str(classes), *(str(jars / jar.path) for jar in jar_sets()[name])),
        store_class_path=tuple(str(jars / jar.path) for jar in jar_sets()[STORE]),
        versions=(*_versions(name), ("Java", f"{installed.version} (Eclipse Temurin)")),
        substitution=_substitution(release, name),
    )


def nearest_set(hbase: Version) -> str:
    """The name of the set whose HBase is the nearest; of two as near, the newer."""

    def distance(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        candidate = parse_version(name.removeprefix(HBASE))
        return tuple(abs(ours - theirs) for ours, theirs in zip(candidate, hbase, strict=True)), tuple(
            -n for n in candidate
        )

    return min(hbase_sets(), key=distance)


def _versions(name: str) -> tuple[tuple[str, str], ...]:
    return (
        ("HBase", version_of("hbase-server", name)),
        ("Hadoop and S3A", version_of("hadoop-aws", name)),
        ("AWS SDK", version_of("s3-transfer-manager", name)),
        ("ZooKeeper", version_of("zookeeper", name)),
        ("YCSB", version_of("core", name)),
        ("S3Proxy", version_of("s3proxy", STORE)),
    )


def _substitution(release: Release, name: str) -> str:
    hbase, hadoop = version_of("hbase-server", name), version_of("hadoop-aws", name)
    built = "" if hbase.endswith("-hadoop3") else " (built for Hadoop 2)"
    codecs = version_of("hbase-compression-zstd", name)
    odd = "" if codecs == hbase else f", its codecs {codecs}"
    connector = {"s3a": "Amazon's S3A", "emrfs": "EMRFS"}[release.s3_connector]
    return (
        f"{release.label} runs Amazon's own builds of HBase {_dotted(release.hbase)}, Hadoop {_dotted(release.hadoop)} "
        f"and ZooKeeper {_dotted(release.zookeeper)}, and reaches S3 with {connector}; the lab runs Apache HBase "
        f"{hbase}{built}{odd}, on Hadoop {hadoop} with its S3A and ZooKeeper {version_of('zookeeper', name)}, all "
        "from Maven Central and without Amazon's changes"
    )


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _not_set_up() -> InvalidInput:
    return InvalidInput(
        Problem(
            where=str(jars_directory().parent),
            what="the lab is not set up",
            why=f"{reason} ({sys.executable})",
            fix="run `warmbase lab setup`",
        )
        for reason in problems()
    )
