"""WB6..: root, write-ahead log, HDFS and the S3 client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.lint.finding import Severity
from configurations.lint.node import Node
from configurations.lint.rule import Found, Rule
from configurations.lint.rules.volumes import mount_of
from configurations.lint.subject import Setting
from configurations.properties.property import Span

__all__ = ["STORAGE"]

ROOT: Final = "hbase.rootdir"
TRACKER: Final = "hbase.store.file-tracker.impl"
READ_POLICY: Final = "fs.s3a.experimental.input.fadvise"
CONSISTENT: Final = "fs.s3.consistent"
MAJOR: Final = "hbase.hregion.majorcompaction"
ON_S3: Final = "EMR Release Guide, emr-hbase-s3"
WAL: Final = "EMR Release Guide, emr-hbase-wal"
BOTH: Final = ("primary", "core")


def _core_count(node: Node) -> int | None:
    core = node.subject.group("core")
    return core.count if core else None


def _emr_replication(cores: int) -> int:
    """EMR's default by the number of core nodes (emr-plan-storage)."""
    return 1 if cores < 4 else 2 if cores < 10 else 3  # noqa: PLR2004 - the rule's own figures


def _replication(node: Node) -> float | None:
    """Stated, or EMR's default where the count of nodes is known."""
    cores = _core_count(node)
    default = _emr_replication(cores) if cores else None
    if node.unstated("dfs.replication", "hdfs-site"):
        return default
    return node.number("dfs.replication", None, "hdfs-site")


def _more_copies_than_nodes(node: Node) -> Iterator[Found]:
    copies, cores = _replication(node), _core_count(node)
    if copies is not None and cores is not None and copies > cores:
        yield Found(
            at=node.setting("dfs.replication", "hdfs-site"),
            classification="hdfs-site",
            property="dfs.replication",
            message=f"{copies:g} copies of each block on {cores} core nodes",
            fix=f"use {min(2, cores)} copies, or {copies:g} core nodes",
        )


def _one_copy_of_the_log(node: Node) -> Iterator[Found]:
    elsewhere = [node.setting(key, "hbase") for key in ("hbase.emr.readreplica.enabled", "hbase.emr.wal.enabled")]
    copies = _replication(node)
    if any(each and (each.is_gap or _on(each)) for each in elsewhere) or copies is None or copies > 1:
        return
    stated = node.setting("dfs.replication", "hdfs-site")
    why = "" if stated else f", EMR's default for {_core_count(node)} core nodes"
    yield Found(
        at=stated,
        classification="hdfs-site",
        property="dfs.replication",
        message=f"the write-ahead log of an active cluster has one copy{why}",
    )


def _on(setting: Setting) -> bool:
    return setting.value.strip().lower() == "true"


def _bucket_without_slash(node: Node) -> Iterator[Found]:
    root = node.text(ROOT)
    if root is not None and root.startswith("s3") and "/" not in root.partition("://")[2]:
        yield Found(at=node.setting(ROOT), message=f"{root} has no slash at its end", fix=f"write {root}/")


def _root_and_mode_differ(node: Node) -> Iterator[Found]:
    mode, root = node.text("hbase.emr.storageMode", "hbase"), node.text(ROOT)
    elsewhere = mode == "hdfs" or node.unstated("hbase.emr.storageMode", "hbase")
    if mode == "s3" and root is not None and not root.startswith("s3"):
        yield Found(at=node.setting(ROOT), message=f"storage mode is s3, and the root is {root}")
    elif elsewhere and root is not None and root.startswith("s3"):
        yield Found(at=node.setting(ROOT), message="the root is in S3, and nothing says hbase.emr.storageMode=s3")
    elif mode == "s3" and node.unstated(ROOT):
        yield Found(property=ROOT, message="storage mode is s3, and nothing says where the root is")


def _read_policy(node: Node) -> Iterator[Found]:
    policy = node.text(READ_POLICY)
    gap = node.setting(READ_POLICY) is not None and policy is None
    if node.in_s3 and not node.on_emrfs and not gap and policy != "sequential":
        yield Found(
            at=node.setting(READ_POLICY),
            property=READ_POLICY,
            message="the read policy of S3A can drift to random, which starves scans and compactions",
        )


def _tracker_too_early(node: Node) -> Iterator[Found]:
    tracker = node.text(TRACKER)
    if tracker is not None and "FILE" in tracker.upper() and "DEFAULT" not in tracker.upper():
        yield Found(at=node.setting(TRACKER), message="this release lists store files in the table hbase:storefile")


def _tracker_renames(node: Node) -> Iterator[Found]:
    tracker = node.text(TRACKER)
    if node.in_s3 and tracker is not None and "default" in tracker.lower():
        yield Found(at=node.setting(TRACKER), message="each flush and compaction renames its files, and S3 copies them")


def _migration(node: Node) -> Iterator[Found]:
    if node.in_s3 and node.text(ROOT) is not None:
        yield Found(
            at=node.setting(ROOT),
            message="a root that a release up to 7.3 wrote has its list of store files in hbase:storefile",
        )


def _wal_provider(node: Node) -> Iterator[Found]:
    if node.text("hbase.emr.wal.enabled", "hbase") == "true" and node.setting("hbase.wal.provider"):
        yield Found(at=node.setting("hbase.wal.provider"), message="EMR WAL brings a provider of its own")


def _wal_elsewhere(node: Node) -> Iterator[Found]:
    enabled = node.setting("hbase.emr.wal.enabled", "hbase")
    if enabled is None or not _on(enabled):
        return
    if node.text("hbase.emr.storageMode", "hbase") == "hdfs":
        yield Found(at=enabled, message="EMR WAL is for data in S3, and the storage mode is hdfs")
    if node.text("hbase.emr.readreplica.enabled", "hbase") == "true":
        yield Found(at=enabled, message="a read replica writes no log")
    if node.unstated("emr.wal.workspace"):
        yield Found(property="emr.wal.workspace", message="nothing says which workspace the logs belong to")
    if node.subject.fleets is not None:
        yield Found(at=enabled, message="EMR WAL does not work with instance fleets", line=node.subject.fleets)


def _without_counterpart(node: Node) -> Iterator[Found]:
    view = node.setting(CONSISTENT, "emrfs-site")
    if node.on_emrfs or (view and view.value.strip().lower() == "false"):
        return
    for (_, key), setting in node.settings.items():
        if key.startswith(CONSISTENT) and setting.value.strip().lower() != "false":
            yield Found(at=setting, message=f"{key} is EMRFS's, and S3A has no counterpart")


def _rubix(node: Node) -> Iterator[Found]:
    for (path, key), setting in node.settings.items():
        in_catalog = path.startswith(("presto", "trino")) and key.startswith("hive.cache.")
        if in_catalog or key.startswith(("rubix.", "fs.rubix.")) or setting.value.startswith("rubix://"):
            yield Found(at=setting, message=f"{key} in {path} is RubiX's, which EMR removed with 7.3")


def _on_the_cache_volume(node: Node) -> Iterator[Found]:
    caches = {mount_of(path) for path in node.cache_files}
    for path, key in DIRECTORIES:
        stated = node.text(key, path)
        shared = sorted(caches & {mount_of(each) for each in (stated or "").split(",") if each})
        if shared:
            yield Found(at=node.setting(key, path), message=f"{shared[0]} is the cache's volume too")
        elif stated is None and caches and node.unstated(key, path) and any(each[:4] == "/mnt" for each in caches):
            yield Found(
                classification=path, property=key, message=f"by default it is on every volume, {min(caches)} too"
            )


DIRECTORIES: Final = (("hdfs-site", "dfs.datanode.data.dir"), ("yarn-site", "yarn.nodemanager.local-dirs"))


def _weekly_loss(node: Node) -> Iterator[Found]:
    if node.caches and node.unstated(MAJOR):
        yield Found(property=MAJOR, message="every store is rewritten once a week, and every cached block with it")


def _short_circuit(node: Node) -> Iterator[Found]:
    """EMR's own hdfs-site may set the path; where it cannot be seen, nothing is said of it."""
    sites = ("hdfs-site", "hbase-site", "core-site")
    stated = any(node.setting("dfs.domain.socket.path", each) for each in sites)
    for path in sites[:2]:
        on = node.setting("dfs.client.read.shortcircuit", path)
        if on is None or not _on(on):
            continue
        if node.in_s3:
            yield Found(at=on, message="store files are in S3: no block of them is local")
        if not stated and node.subject.shows("hdfs-site"):
            yield Found(
                at=on,
                message="without dfs.domain.socket.path the HDFS client throws HadoopIllegalArgumentException, unless "
                "EMR's own hdfs-site sets the path, which is not documented",
                fix="state dfs.domain.socket.path on both sides, or remove the switch",
            )


STORAGE: Final = (
    Rule(
        id="WB601",
        severity=Severity.ERROR,
        what="dfs.replication above the number of core nodes",
        check=_more_copies_than_nodes,
        because="no block ever reaches its replication, and the loss of one node cannot be made good",
        fix="lower dfs.replication",
        source="EMR Management Guide, emr-plan-storage",
        of_hbase=False,
        of_hbase_1=True,
    ),
    Rule(
        id="WB602",
        severity=Severity.ERROR,
        what="one copy of the write-ahead log (dfs.replication)",
        check=_one_copy_of_the_log,
        because="what was written since the last flush is gone with one node",
        source="EMR Management Guide, emr-plan-storage",
        fix="state dfs.replication=2 in hdfs-site, or use EMR WAL",
        of_hbase_1=True,
    ),
    Rule(
        id="WB603",
        severity=Severity.WARNING,
        what="a bucket without a slash at its end",
        check=_bucket_without_slash,
        because="a root that is a whole bucket does not work without it",
        fix="end it with a slash",
        source=ON_S3,
        of_hbase_1=True,
    ),
    Rule(
        id="WB604",
        severity=Severity.ERROR,
        what="a root and a storage mode that differ",
        check=_root_and_mode_differ,
        because="EMR sets up the file system, the cache and the shutdown by the storage mode",
        fix="state hbase.emr.storageMode=s3 with a root in S3, or neither",
        source=ON_S3,
        of_hbase_1=True,
    ),
    Rule(
        id="WB605",
        severity=Severity.WARNING,
        what="S3A's read policy left alone (fs.s3a.experimental.input.fadvise)",
        check=_read_policy,
        roles=BOTH,
        because="flushes then block and regions grow too busy; EMR asks for it on all nodes",
        fix=f"state {READ_POLICY}=sequential in hbase-site, for the whole cluster",
        source=ON_S3,
        emr=Span(since=(7, 10, 0), until=(7, 14, 0)),
    ),
    Rule(
        id="WB606",
        severity=Severity.ERROR,
        what="a file tracker that the release does not have",
        check=_tracker_too_early,
        because="FILE is EMR's from 7.4 on",
        fix="remove it, or use emr-7.4.0 or later",
        source=ON_S3,
        emr=Span(until=(7, 4, 0)),
        of_hbase_1=True,
    ),
    Rule(
        id="WB607",
        severity=Severity.WARNING,
        what="store files that are renamed in S3",
        check=_tracker_renames,
        because="a rename in S3 is a copy and a delete, and is not atomic",
        fix="use FILE",
        source=ON_S3,
        emr=Span(since=(7, 4, 0)),
    ),
    Rule(
        id="WB608",
        severity=Severity.INFO,
        what="a root that may need migration",
        check=_migration,
        because="FILE would not see those files",
        source="EMR Release Guide, emr-hbase-migrate",
        fix="before this release meets such a root: disable and drop hbase:storefile, flush hbase:meta, start with "
        "DEFAULT, then change_sft to FILE; a new root needs nothing",
        emr=Span(since=(7, 4, 0)),
    ),
    Rule(
        id="WB609",
        severity=Severity.ERROR,
        what="a WAL provider beside EMR WAL",
        check=_wal_provider,
        because="reconfiguration fails",
        fix="remove hbase.wal.provider",
        source=WAL,
        of_hbase_1=True,
    ),
    Rule(
        id="WB610",
        severity=Severity.ERROR,
        what="EMR WAL where it does not work",
        check=_wal_elsewhere,
        because="it is for active clusters with data in S3 and instance groups, and has a workspace",
        fix="remove it, or complete it",
        source=WAL,
        of_hbase_1=True,
    ),
    Rule(
        id="WB611",
        severity=Severity.WARNING,
        what="EMRFS's consistent view on S3A",
        check=_without_counterpart,
        because="S3 itself is consistent",
        fix="remove it",
        source="EMR Release Guide, emr-s3a-migrate",
        emr=Span(since=(7, 10, 0)),
        of_hbase=False,
    ),
    Rule(
        id="WB612",
        severity=Severity.ERROR,
        what="keys of RubiX",
        check=_rubix,
        roles=BOTH,
        because="the module is gone; Trino has a file-system cache of its own",
        fix="use fs.cache.enabled of the Trino catalog",
        source="EMR Release Guide, Trino release notes for 7.3.0",
        emr=Span(since=(7, 3, 0)),
        of_hbase=False,
    ),
    Rule(
        id="WB613",
        severity=Severity.WARNING,
        what="HDFS or YARN on the cache's volume",
        check=_on_the_cache_volume,
        because="they compete for it, and at 90 % YARN calls the disk unhealthy and EMR replaces the node",
        fix="give both a directory on another volume",
        source="EMR Management Guide, emr-plan-node-replacement",
    ),
    Rule(
        id="WB614",
        severity=Severity.INFO,
        what="hbase.hregion.majorcompaction by the calendar",
        check=_weekly_loss,
        because="a compaction's output is new blocks; what it replaces is dropped",
        fix="state hbase.hregion.majorcompaction=0 and compact at night",
        source="HBase 2.6.2 default of 7 days",
    ),
    Rule(
        id="WB615",
        severity=Severity.WARNING,
        what="short-circuit reads that do not come to pass",
        check=_short_circuit,
        because="they are for blocks on the DataNode of the same host, through a socket that both know by its path",
        fix="remove the switch",
        source="Hadoop 3.4.1 DomainSocketFactory",
        of_hbase=False,
        of_hbase_1=True,
    ),
)
