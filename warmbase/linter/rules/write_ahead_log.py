"""HDFS and the write-ahead log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.emr.cluster_spec import Setting
from warmbase.linter.finding import REMOVED, Consequence, Severity
from warmbase.linter.node import LintedNode, mount_of
from warmbase.linter.rule import NO_AWS, Rule, Violation, emr_hbase_rule, emr_rule

WAL: Final = "EMR Release Guide, emr-hbase-wal"
DIRECTORIES: Final = (("hdfs-site", "dfs.datanode.data.dir"), ("yarn-site", "yarn.nodemanager.local-dirs"))


def _core_count(node: LintedNode) -> int | None:
    core = node.subject.group("core")
    return core.count if core else None


def _replication(node: LintedNode) -> float | None:
    """Return dfs.replication, or EMR's default where the number of nodes is known."""
    cores = _core_count(node)
    if node.unstated("dfs.replication", "hdfs-site"):
        if not cores:
            return None
        return 1 if cores < 4 else 2 if cores < 10 else 3  # noqa: PLR2004 - the default by nodes (emr-plan-storage)
    return node.number("dfs.replication", None, "hdfs-site")


@emr_rule(
    id="WB601",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="dfs.replication above the number of core nodes",
    because="no block ever reaches its replication, and HDFS cannot restore copies after a node is lost",
    fix="lower dfs.replication",
    source="EMR Management Guide, emr-plan-storage",
)
def _more_copies_than_nodes(node: LintedNode) -> Iterator[Violation]:
    copies, cores = _replication(node), _core_count(node)
    if copies is not None and cores is not None and copies > cores:
        yield Violation(
            "dfs.replication",
            f"{copies:g} copies of each block do not fit on {cores} core nodes",
            classification="hdfs-site",
            fix=f"use {min(2, cores)} copies, or {copies:g} core nodes",
        )


@emr_hbase_rule(
    id="WB602",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="single copy of the write-ahead log (dfs.replication)",
    because="if that node is lost, so are all writes since the last flush",
    fix="set dfs.replication=2 in hdfs-site, or use EMR WAL",
    source="EMR Management Guide, emr-plan-storage",
)
def _one_copy_of_the_log(node: LintedNode) -> Iterator[Violation]:
    elsewhere = [node.setting(key, "hbase") for key in ("hbase.emr.readreplica.enabled", "hbase.emr.wal.enabled")]
    copies = _replication(node)
    has_other_log = any(setting and (setting.is_placeholder or _on(setting)) for setting in elsewhere)
    if has_other_log or copies is None or copies > 1:
        return
    setting = node.setting("dfs.replication", "hdfs-site")
    why = "" if setting else f", EMR's default for {_core_count(node)} core nodes"
    yield Violation(
        setting or "dfs.replication",
        f"the write-ahead log of an active cluster has one copy{why}",
        classification="hdfs-site",
    )


def _on(setting: Setting) -> bool:
    return setting.value.strip().lower() == "true"


@emr_hbase_rule(
    id="WB609",
    severity=Severity.ERROR,
    title="hbase.wal.provider together with EMR WAL",
    because="EMR fails to reconfigure the cluster",
    fix="remove hbase.wal.provider",
    source=WAL,
)
def _wal_provider(node: LintedNode) -> Iterator[Violation]:
    if node.text("hbase.emr.wal.enabled", "hbase") == "true" and node.setting("hbase.wal.provider"):
        yield Violation(
            "hbase.wal.provider", "EMR WAL has its own provider, which this one conflicts with", edit=REMOVED
        )


@emr_hbase_rule(
    id="WB610",
    severity=Severity.ERROR,
    title="EMR WAL where it does not work",
    because="EMR WAL supports only active clusters with data in S3 and instance groups, and needs a workspace",
    fix="remove it, or add what is missing",
    source=WAL,
)
def _wal_elsewhere(node: LintedNode) -> Iterator[Violation]:
    enabled = node.setting("hbase.emr.wal.enabled", "hbase")
    if enabled is None or not _on(enabled):
        return
    if node.text("hbase.emr.storageMode", "hbase") == "hdfs":
        yield Violation(enabled, "EMR WAL requires data in S3, but the storage mode is hdfs")
    if node.text("hbase.emr.readreplica.enabled", "hbase") == "true":
        yield Violation(enabled, "a read replica does not write a log")
    if node.unstated("emr.wal.workspace"):
        yield Violation("emr.wal.workspace", "the workspace of the logs is not set")
    if node.subject.fleets is not None:
        yield Violation(enabled, "EMR WAL does not work with instance fleets", line=node.subject.fleets)


@Rule(
    id="WB613",
    severity=Severity.WARNING,
    title="HDFS or YARN on the volume of the cache",
    because="they compete with the cache for the volume, and at 90 % full YARN marks the disk as "
    "unhealthy and EMR replaces the node",
    fix="give both a directory on another volume",
    source="EMR Management Guide, emr-plan-node-replacement",
    proof=NO_AWS,
)
def _on_the_cache_volume(node: LintedNode) -> Iterator[Violation]:
    caches = {mount_of(path) for path in node.cache_files}
    for path, key in DIRECTORIES:
        directories = node.text(key, path)
        shared = sorted(caches & {mount_of(part) for part in (directories or "").split(",") if part})
        if shared:
            yield Violation(key, f"{shared[0]} is also the volume of the cache", classification=path)
        elif (
            directories is None and caches and node.unstated(key, path) and any(cache[:4] == "/mnt" for cache in caches)
        ):
            yield Violation(
                key,
                f"the default is every volume, which includes that of the cache, {min(caches)}",
                classification=path,
            )


@emr_rule(
    id="WB615",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="short-circuit reads that cannot work",
    because="they read blocks of the DataNode on the same host, through a socket whose path both must know",
    fix="remove the switch",
    source="Hadoop 3.4.1 DomainSocketFactory",
)
def _short_circuit(node: LintedNode) -> Iterator[Violation]:
    """Yield nothing about the socket where the file cannot show hdfs-site, in which EMR may set the path."""
    sites = ("hdfs-site", "hbase-site", "core-site")
    has_path = any(node.setting("dfs.domain.socket.path", site) for site in sites)
    for path in sites[:2]:
        on = node.setting("dfs.client.read.shortcircuit", path)
        if on is None or not _on(on):
            continue
        if node.in_s3:
            yield Violation(on, "store files are in S3, so no block is local")
        if not has_path and node.subject.shows("hdfs-site"):
            yield Violation(
                on,
                "without dfs.domain.socket.path the HDFS client throws HadoopIllegalArgumentException, unless "
                "EMR's own hdfs-site sets the path, which is not documented",
                fix="set dfs.domain.socket.path on both sides, or remove the switch",
            )
