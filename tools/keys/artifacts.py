"""The releases that the tables of keys cover, and the jars that are searched for keys.

Maven itself fetches the jars from Maven Central: it verifies checksums and honours mirrors and proxies.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from msgspec import Struct

from warmbase.ground.errors import OperationFailed

HBASE_GROUP: Final = "org.apache.hbase"
HADOOP_GROUP: Final = "org.apache.hadoop"

HBASE_1: Final = (
    "hbase-client",
    "hbase-common",
    "hbase-external-blockcache",
    "hbase-hadoop-compat",
    "hbase-hadoop2-compat",
    "hbase-metrics",
    "hbase-metrics-api",
    "hbase-prefix-tree",
    "hbase-procedure",
    "hbase-rest",
    "hbase-rsgroup",
    "hbase-server",
    "hbase-thrift",
)
HBASE_2_4: Final = (
    "hbase-asyncfs",
    "hbase-client",
    "hbase-common",
    "hbase-endpoint",
    "hbase-external-blockcache",
    "hbase-hadoop-compat",
    "hbase-hadoop2-compat",
    "hbase-http",
    "hbase-logging",
    "hbase-mapreduce",
    "hbase-metrics",
    "hbase-metrics-api",
    "hbase-procedure",
    "hbase-replication",
    "hbase-rest",
    "hbase-rsgroup",
    "hbase-server",
    "hbase-thrift",
    "hbase-zookeeper",
)
HBASE_2_5: Final = (
    *HBASE_2_4,
    "hbase-compression-aircompressor",
    "hbase-compression-brotli",
    "hbase-compression-lz4",
    "hbase-compression-snappy",
    "hbase-compression-xz",
    "hbase-compression-zstd",
)
HBASE_2_6: Final = (*HBASE_2_5, "hbase-backup")
HBASE_3: Final = tuple(
    # hadoop2-compat and rsgroup were merged into hadoop-compat and server; the balancer was split from server.
    module
    for module in (*HBASE_2_6, "hbase-balancer")
    if module not in {"hbase-hadoop2-compat", "hbase-rsgroup"}
)
HADOOP_3: Final = (
    "hadoop-auth",
    "hadoop-aws",
    "hadoop-common",
    "hadoop-hdfs",
    "hadoop-hdfs-client",
    "hadoop-yarn-api",
    "hadoop-yarn-common",
    "hadoop-yarn-server-common",
    "hadoop-yarn-server-nodemanager",
    "hadoop-yarn-server-resourcemanager",
)


class CatalogueColumn(Struct, frozen=True, kw_only=True):
    """A column of a table: a release, its modules, and the versions whose jars replace a missing module."""

    version: str
    group: str
    modules: tuple[str, ...]
    nearest: tuple[str, ...] = ()

    def artifacts(self, version: str) -> tuple[Artifact, ...]:
        """Return the modules in that version."""
        return tuple(Artifact(group=self.group, module=module, version=version) for module in self.modules)


HBASE: Final = tuple(
    CatalogueColumn(version=version, group=HBASE_GROUP, modules=modules, nearest=nearest)
    for version, modules, nearest in (
        ("1.4.14", HBASE_1, ("1.4.13",)),
        ("2.4.17", HBASE_2_4, ("2.4.18", "2.6.1")),
        ("2.5.13", HBASE_2_5, ("2.5.13-hadoop3", "2.6.1", "3.0.0-alpha-3")),
        ("2.6.1", HBASE_2_6, ("3.0.0-alpha-3",)),
        ("2.6.2", HBASE_2_6, ("2.6.2-hadoop3", "2.6.1", "3.0.0-alpha-3")),
        ("2.6.4", HBASE_2_6, ("2.6.3", "2.6.1", "3.0.0-alpha-3")),
        ("2.6.5", HBASE_2_6, ("2.6.6", "2.6.4", "2.6.1", "3.0.0-alpha-3")),
        ("2.6.6", HBASE_2_6, ("2.6.7", "2.6.5", "2.6.4", "2.6.1", "3.0.0-alpha-3")),
        ("3.0.0", HBASE_3, ("3.0.0-beta-1", "3.0.0-alpha-4", "3.0.0-alpha-3")),
    )
)
HADOOP: Final = tuple(
    CatalogueColumn(version=version, group=HADOOP_GROUP, modules=HADOOP_3) for version in ("3.4.0", "3.4.1", "3.4.2")
)


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
    if not missing:
        return wanted
    project = cache / "project"
    shutil.rmtree(project, ignore_errors=True)
    for artifact in missing:
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
    modules = "".join(f"<module>{name}</module>" for name in sorted(artifact.name for artifact in missing))
    (project / "pom.xml").write_text(PARENT.format(modules=modules), encoding="utf-8")
    maven = shutil.which("mvn")
    if maven is None:
        raise OperationFailed.of(
            where="mvn", what="is not on the PATH", why="Maven fetches the jars", fix="install Apache Maven 3"
        )
    # Strict checksums; a module that fails does not stop the others.
    command = [maven, "-B", "-C", "-fae", f"-T{THREADS}", "-f", str(project / "pom.xml"), "validate"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise OperationFailed.of(
            where="mvn", what=f"Maven did not end within {TIMEOUT_SECONDS} s", why="", fix=AGAIN
        ) from error
    failed = [line for line in ran.stdout.splitlines() if "Could not transfer artifact" in line]
    if failed or (ran.returncode and "Reactor Summary" not in ran.stdout):
        lines = "\n".join(failed[:3] or ran.stdout.splitlines()[-10:])
        raise OperationFailed.of(where="mvn", what="Maven could not fetch every jar", why=lines, fix=AGAIN)
    return frozenset(artifact for artifact in wanted if artifact.jar(cache).exists())
