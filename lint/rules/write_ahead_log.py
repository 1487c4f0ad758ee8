"""HDFS and the write-ahead log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emr.cluster_spec import Setting
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import NO_AWS, Violation, rule
from lint.rules.volumes import mount_of

WAL: Final = "EMR Release Guide, emr-hbase-wal"
DIRECTORIES: Final = (("hdfs-site", "dfs.datanode.data.dir"), ("yarn-site", "yarn.nodemanager.local-dirs"))


def _core_count(node: LintedNode) -> int | None:
    core = node.subject.group("core")
    return core.count if core else None


def _emr_replication(cores: int) -> int:
    """EMR's default by the number of core nodes (emr-plan-storage)."""
    return 1 if cores < 4 else 2 if cores < 10 else 3  # noqa: PLR2004 - the rule's own figures


def _replication(node: LintedNode) -> float | None:
    """Stated, or EMR's default where the count of nodes is known."""
    cores = _core_count(node)
    default = _emr_replication(cores) if cores else None
    if node.unstated("dfs.replication", "hdfs-site"):
        return default
    return node.number("dfs.replication", None, "hdfs-site")


@rule(
    id="WB601",
    severity=Severity.ERROR,
    title="dfs.replication above the number of core nodes",
    because="no block ever reaches its replication, and the loss of one node cannot be made good",
    fix="lower dfs.replication",
    source="EMR Management Guide, emr-plan-storage",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _more_copies_than_nodes(node: LintedNode) -> Iterator[Violation]:
    copies, cores = _replication(node), _core_count(node)
    if copies is not None and cores is not None and copies > cores:
        yield Violation(
            at=node.setting("dfs.replication", "hdfs-site"),
            classification="hdfs-site",
            property="dfs.replication",
            message=f"{copies:g} copies of each block on {cores} core nodes",
            fix=f"use {min(2, cores)} copies, or {copies:g} core nodes",
        )


@rule(
    id="WB602",
    severity=Severity.ERROR,
    title="one copy of the write-ahead log (dfs.replication)",
    because="what was written since the last flush is gone with one node",
    fix="state dfs.replication=2 in hdfs-site, or use EMR WAL",
    source="EMR Management Guide, emr-plan-storage",
    proof=NO_AWS,
    of_hbase_1=True,
)
def _one_copy_of_the_log(node: LintedNode) -> Iterator[Violation]:
    elsewhere = [node.setting(key, "hbase") for key in ("hbase.emr.readreplica.enabled", "hbase.emr.wal.enabled")]
    copies = _replication(node)
    if any(each and (each.is_placeholder or _on(each)) for each in elsewhere) or copies is None or copies > 1:
        return
    stated = node.setting("dfs.replication", "hdfs-site")
    why = "" if stated else f", EMR's default for {_core_count(node)} core nodes"
    yield Violation(
        at=stated,
        classification="hdfs-site",
        property="dfs.replication",
        message=f"the write-ahead log of an active cluster has one copy{why}",
    )


def _on(setting: Setting) -> bool:
    return setting.value.strip().lower() == "true"


@rule(
    id="WB609",
    severity=Severity.ERROR,
    title="a WAL provider beside EMR WAL",
    because="reconfiguration fails",
    fix="remove hbase.wal.provider",
    source=WAL,
    proof=NO_AWS,
    of_hbase_1=True,
)
def _wal_provider(node: LintedNode) -> Iterator[Violation]:
    if node.text("hbase.emr.wal.enabled", "hbase") == "true" and node.setting("hbase.wal.provider"):
        yield Violation(at=node.setting("hbase.wal.provider"), message="EMR WAL brings a provider of its own")


@rule(
    id="WB610",
    severity=Severity.ERROR,
    title="EMR WAL where it does not work",
    because="it is for active clusters with data in S3 and instance groups, and has a workspace",
    fix="remove it, or complete it",
    source=WAL,
    proof=NO_AWS,
    of_hbase_1=True,
)
def _wal_elsewhere(node: LintedNode) -> Iterator[Violation]:
    enabled = node.setting("hbase.emr.wal.enabled", "hbase")
    if enabled is None or not _on(enabled):
        return
    if node.text("hbase.emr.storageMode", "hbase") == "hdfs":
        yield Violation(at=enabled, message="EMR WAL is for data in S3, and the storage mode is hdfs")
    if node.text("hbase.emr.readreplica.enabled", "hbase") == "true":
        yield Violation(at=enabled, message="a read replica writes no log")
    if node.unstated("emr.wal.workspace"):
        yield Violation(property="emr.wal.workspace", message="nothing says which workspace the logs belong to")
    if node.subject.fleets is not None:
        yield Violation(at=enabled, message="EMR WAL does not work with instance fleets", line=node.subject.fleets)


@rule(
    id="WB613",
    severity=Severity.WARNING,
    title="HDFS or YARN on the cache's volume",
    because="they compete for it, and at 90 % YARN calls the disk unhealthy and EMR replaces the node",
    fix="give both a directory on another volume",
    source="EMR Management Guide, emr-plan-node-replacement",
    proof=NO_AWS,
)
def _on_the_cache_volume(node: LintedNode) -> Iterator[Violation]:
    caches = {mount_of(path) for path in node.cache_files}
    for path, key in DIRECTORIES:
        stated = node.text(key, path)
        shared = sorted(caches & {mount_of(part) for part in (stated or "").split(",") if part})
        if shared:
            yield Violation(at=node.setting(key, path), message=f"{shared[0]} is the cache's volume too")
        elif stated is None and caches and node.unstated(key, path) and any(cache[:4] == "/mnt" for cache in caches):
            yield Violation(
                classification=path, property=key, message=f"by default it is on every volume, {min(caches)} too"
            )


@rule(
    id="WB615",
    severity=Severity.WARNING,
    title="short-circuit reads that do not come to pass",
    because="they are for blocks on the DataNode of the same host, through a socket that both know by its path",
    fix="remove the switch",
    source="Hadoop 3.4.1 DomainSocketFactory",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _short_circuit(node: LintedNode) -> Iterator[Violation]:
    """EMR's own hdfs-site may set the path; where it cannot be seen, nothing is said of it."""
    sites = ("hdfs-site", "hbase-site", "core-site")
    stated = any(node.setting("dfs.domain.socket.path", site) for site in sites)
    for path in sites[:2]:
        on = node.setting("dfs.client.read.shortcircuit", path)
        if on is None or not _on(on):
            continue
        if node.in_s3:
            yield Violation(at=on, message="store files are in S3: no block of them is local")
        if not stated and node.subject.shows("hdfs-site"):
            yield Violation(
                at=on,
                message="without dfs.domain.socket.path the HDFS client throws HadoopIllegalArgumentException, unless "
                "EMR's own hdfs-site sets the path, which is not documented",
                fix="state dfs.domain.socket.path on both sides, or remove the switch",
            )
