"""The lock file of the lab's jars, written from the poms by `python -m lab.hbase.software.lock`. Needs Maven."""

from __future__ import annotations

import csv
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lab.hbase.software.jars import COLUMNS, COMPILER, HBASE, KDC, LOCK, SHELL, STORE, Jar
from warmbase.ground.errors import OperationFailed

HERE: Final = Path(__file__).parent
# The pom of each set, and the profile in it.
SOURCES: Final = {
    f"{HBASE}2.6.2": ("hbase-pom.xml", "hbase-2.6.2"),
    f"{HBASE}2.6.4": ("hbase-pom.xml", "hbase-2.6.4"),
    STORE: ("store-pom.xml", None),
    COMPILER: ("compiler-pom.xml", None),
    SHELL: ("shell-pom.xml", None),
    KDC: ("kdc-pom.xml", None),
}
PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies"
PROVENANCE: Final = """\
# Jars of the lab, on Maven Central: the poms beside this file as Maven resolves them.
# Written by `python -m lab.hbase.software.lock`; do not edit.
"""
MAVEN_SECONDS: Final = 1200  # judgement: a fresh local repository took 74 s


def main() -> None:
    """Resolves every set, and replaces the lock file when all of them resolve."""
    sets: dict[Jar, list[str]] = {}
    for name, (pom, profile) in SOURCES.items():
        with tempfile.TemporaryDirectory(prefix="warmbase-lock-") as scratch:
            _copy(pom, profile, Path(scratch))
            jars = tuple(_jars(Path(scratch)))
        sys.stderr.write(f"{name}: {len(jars)} jars, {sum(jar.size_bytes for jar in jars) / 1e6:.0f} MB\n")
        for jar in jars:
            sets.setdefault(jar, []).append(name)
    _write(sets)


def _copy(pom: str, profile: str | None, target: Path) -> None:
    command = ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", str(HERE / pom), PLUGIN]
    command += ["-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true", f"-DoutputDirectory={target}"]
    if profile:
        command += ["--activate-profiles", profile]
    try:
        subprocess.run(command, check=True, timeout=MAVEN_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise OperationFailed.of(
            where=str(pom), what="Maven failed", why=str(error), fix="read what Maven printed above"
        ) from None


def _jars(repository: Path) -> Iterator[Jar]:
    for file in sorted(repository.rglob("*.jar")):
        *group, artifact, version = file.relative_to(repository).parent.parts
        content = file.read_bytes()
        yield Jar(
            group=".".join(group),
            artifact=artifact,
            version=version,
            classifier=file.stem.removeprefix(f"{artifact}-{version}").removeprefix("-"),
            size_bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )


def _write(sets: dict[Jar, list[str]]) -> None:
    with LOCK.open("w", encoding="utf-8", newline="") as file:
        file.write(PROVENANCE)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for jar in sorted(sets, key=lambda jar: (jar.group, jar.artifact, jar.version, jar.classifier)):
            coordinates = (jar.group, jar.artifact, jar.version, jar.classifier)
            table.writerow((" ".join(sets[jar]), *coordinates, jar.size_bytes, jar.sha256))


if __name__ == "__main__":
    main()
