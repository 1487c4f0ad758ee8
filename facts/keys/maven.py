"""Jars from Maven Central, fetched by Maven itself, which verifies checksums and honours mirrors and proxies."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from msgspec import Struct

from sizing.problem import OperationFailed, Problem

__all__ = ["Artifact", "fetch"]

TIMEOUT_SECONDS: Final = 1800  # judgement: some 250 jars, 300 MB, on a slow line
AGAIN: Final = "run it again with the same --cache, which keeps what has arrived"
THREADS: Final = 6
PLUGIN_VERSION: Final = "3.8.1"

MODULE: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>warmbase.keys</groupId>
  <artifactId>{name}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-dependency-plugin</artifactId>
        <version>{plugin}</version>
        <executions>
          <execution>
            <id>jar</id>
            <phase>validate</phase>
            <goals><goal>copy</goal></goals>
            <configuration>
              <artifactItems>
                <artifactItem>
                  <groupId>{group}</groupId>
                  <artifactId>{module}</artifactId>
                  <version>{version}</version>
                </artifactItem>
              </artifactItems>
              <outputDirectory>{directory}</outputDirectory>
            </configuration>
          </execution>
        </executions>
      </plugin>
    </plugins>
  </build>
</project>
"""
PARENT: Final = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>warmbase.keys</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <modules>{modules}</modules>
</project>
"""


class Artifact(Struct, frozen=True, kw_only=True):
    """A jar by its coordinates."""

    group: str
    module: str
    version: str

    @property
    def name(self) -> str:
        """The file name without its ending, which is `hbase-server-2.6.2` or the like."""
        return f"{self.module}-{self.version}"

    def jar(self, cache: Path) -> Path:
        """Return the path of the jar in the cache."""
        return cache / "jars" / f"{self.name}.jar"


def fetch(artifacts: Iterable[Artifact], cache: Path) -> frozenset[Artifact]:
    """Return the artifacts that the cache then has; the others are not on Maven Central.

    One run of Maven fetches all of them, each as a module, because the plugin's copy fails as a whole when one jar is
    missing. Raises OperationFailed when Maven cannot be run, or a jar arrives damaged or not at all.
    """
    wanted = frozenset(artifacts)
    missing = [artifact for artifact in wanted if not artifact.jar(cache).exists()]
    if missing:
        _run_maven(_project(missing, cache))
    return frozenset(artifact for artifact in wanted if artifact.jar(cache).exists())


def _project(artifacts: Iterable[Artifact], cache: Path) -> Path:
    """Return a directory with a Maven project that copies the jars."""
    project = cache / "project"
    shutil.rmtree(project, ignore_errors=True)
    names = sorted(_write_module(artifact, project, cache) for artifact in artifacts)
    modules = "".join(f"<module>{name}</module>" for name in names)
    (project / "pom.xml").write_text(PARENT.format(modules=modules), encoding="utf-8")
    return project


def _write_module(artifact: Artifact, project: Path, cache: Path) -> str:
    text = MODULE.format(
        name=artifact.name,
        plugin=PLUGIN_VERSION,
        group=artifact.group,
        module=artifact.module,
        version=artifact.version,
        directory=escape(str((cache / "jars").absolute())),
    )
    (project / artifact.name).mkdir(parents=True)
    (project / artifact.name / "pom.xml").write_text(text, encoding="utf-8")
    return artifact.name


def _run_maven(project: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise OperationFailed(
            Problem(where="mvn", what="is not on the PATH", why="Maven fetches the jars", fix="install Apache Maven 3")
        )
    # Strict checksums; a module that fails does not stop the others.
    command = [maven, "-B", "-C", "-fae", f"-T{THREADS}", "-f", str(project / "pom.xml"), "validate"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise OperationFailed(
            Problem(where="mvn", what=f"Maven did not end within {TIMEOUT_SECONDS} s", why="", fix=AGAIN)
        ) from error
    failed = [line for line in ran.stdout.splitlines() if "Could not transfer artifact" in line]
    if failed or (ran.returncode and "Reactor Summary" not in ran.stdout):
        lines = "\n".join(failed[:3] or ran.stdout.splitlines()[-10:])
        raise OperationFailed(Problem(where="mvn", what="Maven could not fetch every jar", why=lines, fix=AGAIN))
