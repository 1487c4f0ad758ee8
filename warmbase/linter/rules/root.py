"""Storage: the root in S3 and its client, HDFS, and the write-ahead log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from warmbase.configurations.properties.property import Span
from warmbase.emr.cluster_spec import Setting
from warmbase.facts import rows
from warmbase.linter.finding import REMOVED, Consequence, Severity, new_value
from warmbase.linter.node import LintedNode, mount_of
from warmbase.linter.rule import NO_AWS, Rule, Violation, emr_hbase_rule, emr_rule

ROOT: Final = "hbase.rootdir"
TRACKER: Final = "hbase.store.file-tracker.impl"
READ_POLICY: Final = "fs.s3a.experimental.input.fadvise"
MAJOR: Final = "hbase.hregion.majorcompaction"
ON_S3: Final = "EMR Release Guide, emr-hbase-s3"
BOTH: Final = ("primary", "core")
FILE_SYSTEM_CACHE: Final = {
    "hive.cache.enabled": "fs.cache.enabled",
    "hive.cache.location": "fs.cache.directories",
    "hive.cache.disk-usage-percentage": "fs.cache.max-disk-usage-percentages",
    "hive.cache.ttl": "fs.cache.ttl",
}
"""The key of Trino's file-system cache for each key of RubiX that has one (Trino 476 AlluxioFileSystemCacheConfig)."""


@emr_hbase_rule(
    id="WB603",
    severity=Severity.WARNING,
    consequence=Consequence.WILL_NOT_START,
    title="hbase.rootdir that is a bucket without a slash at its end",
    because="a root that is a whole bucket works only with the slash",
    fix="add a slash",
    source=ON_S3,
)
def _bucket_without_slash(node: LintedNode) -> Iterator[Violation]:
    root = node.text(ROOT)
    if root is not None and root.startswith("s3") and "/" not in root.partition("://")[2]:
        yield Violation(ROOT, f"{root} lacks a slash at its end", fix=f"write {root}/", edit=new_value(f"{root}/"))


@emr_hbase_rule(
    id="WB604",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="hbase.rootdir and storage mode that contradict each other",
    because="EMR sets up the file system, the cache and the shutdown according to the storage mode",
    fix="set hbase.emr.storageMode=s3 with a root in S3, or neither",
    source=ON_S3,
)
def _root_and_mode_differ(node: LintedNode) -> Iterator[Violation]:
    mode, root = node.text("hbase.emr.storageMode", "hbase"), node.text(ROOT)
    elsewhere = mode == "hdfs" or node.unstated("hbase.emr.storageMode", "hbase")
    if mode == "s3" and root is not None and not root.startswith("s3"):
        yield Violation(ROOT, f"the storage mode is s3, but the root is {root}")
    elif elsewhere and root is not None and root.startswith("s3"):
        yield Violation(ROOT, "the root is in S3, but hbase.emr.storageMode is not s3")
    elif mode == "s3" and node.unstated(ROOT):
        yield Violation(ROOT, "the storage mode is s3, but hbase.rootdir is not set")


@Rule(
    id="WB605",
    severity=Severity.WARNING,
    title="S3A read policy left at its default (fs.s3a.experimental.input.fadvise)",
    because="flushes then block and regions become too busy; EMR asks for this setting on all nodes",
    fix=f"set {READ_POLICY}=sequential in hbase-site, for the whole cluster",
    source=ON_S3,
    proof=NO_AWS,
    roles=BOTH,
    emr=Span(since=(7, 10, 0), until=(7, 14, 0)),
)
def _read_policy(node: LintedNode) -> Iterator[Violation]:
    policy = node.text(READ_POLICY)
    gap = node.setting(READ_POLICY) is not None and policy is None
    if node.in_s3 and not node.on_emrfs and not gap and policy != "sequential":
        yield Violation(READ_POLICY, "S3A can switch to random reads, which slows scans and compactions down")


@emr_hbase_rule(
    id="WB606",
    severity=Severity.ERROR,
    title="store file tracker that the release does not have",
    because="EMR offers the tracker FILE from 7.4 on",
    fix="remove it, or use emr-7.4.0 or later",
    source=ON_S3,
    emr=Span(until=(7, 4, 0)),
)
def _tracker_too_early(node: LintedNode) -> Iterator[Violation]:
    tracker = node.text(TRACKER)
    if tracker is not None and "FILE" in tracker.upper() and "DEFAULT" not in tracker.upper():
        yield Violation(TRACKER, "this release does not have FILE: it lists store files in the table hbase:storefile")


@Rule(
    id="WB607",
    severity=Severity.WARNING,
    consequence=Consequence.NOT_SAFE,
    title="store file tracker that renames files in S3",
    because="a rename in S3 is a copy and a delete, and is not atomic",
    fix="use FILE",
    source=ON_S3,
    proof=NO_AWS,
    emr=Span(since=(7, 4, 0)),
)
def _tracker_renames(node: LintedNode) -> Iterator[Violation]:
    tracker = node.text(TRACKER)
    if node.in_s3 and tracker is not None and "default" in tracker.lower():
        yield Violation(TRACKER, "each flush and compaction renames its files, which makes S3 copy them")


@Rule(
    id="WB608",
    severity=Severity.INFO,
    title="root that may need a migration",
    because="with the tracker FILE, HBase would not see the files of such a root",
    fix="if the root is new, do nothing; otherwise, before this release uses it, disable and drop hbase:storefile, "
    "flush hbase:meta, start with DEFAULT, then run change_sft to FILE",
    source="EMR Release Guide, emr-hbase-migrate",
    proof=NO_AWS,
    emr=Span(since=(7, 4, 0)),
)
def _migration(node: LintedNode) -> Iterator[Violation]:
    if node.in_s3 and node.text(ROOT) is not None:
        yield Violation(ROOT, "if EMR 7.3 or earlier wrote this root, its store files are listed in hbase:storefile")


@Rule(
    id="WB612",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="RubiX key",
    because="EMR no longer ships RubiX; Trino has its own file-system cache",
    fix="use fs.cache.enabled in the Trino catalog",
    source="EMR Release Guide, Trino release notes for 7.3.0",
    proof=NO_AWS,
    roles=BOTH,
    emr=Span(since=(7, 3, 0)),
    of_hbase=False,
)
def _rubix(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        in_catalog = path.startswith(("presto", "trino")) and key.startswith("hive.cache.")
        if in_catalog or key.startswith(("rubix.", "fs.rubix.")) or setting.value.startswith("rubix://"):
            successor = FILE_SYSTEM_CACHE.get(key)
            message = f"{key} in {path} configures RubiX, which EMR removed in 7.3"
            yield Violation(setting, f"{message}; now it is {successor}" if successor else message)


@Rule(
    id="WB614",
    severity=Severity.INFO,
    title="weekly major compactions (hbase.hregion.majorcompaction)",
    because="a compaction writes new blocks, and HBase drops those that they replace",
    fix="set hbase.hregion.majorcompaction=0 and run major compactions at a quiet hour",
    source="HBase 2.6.2 default of 7 days",
    proof=NO_AWS,
)
def _weekly_loss(node: LintedNode) -> Iterator[Violation]:
    if node.caches and node.unstated(MAJOR):
        yield Violation(MAJOR, "once a week HBase rewrites every store, and so drops every cached block")


CONSISTENT: Final = "fs.s3.consistent"
MAPPING: Final = "fs.s3a.emrfs.compatibility.enable"
OF_EMRFS: Final = ("fs.s3.", "fs.s3n.")
IMPLEMENTATION: Final = ("fs.s3.impl", "fs.s3n.impl")
READERS: Final = ("emrfs-site", "core-site", "hbase-site")


@cache
def _emrfs_only() -> Mapping[str, str]:
    """Return the keys that only EMRFS reads, each with what to do instead."""
    return {row["key"]: row["instead"] for row in rows("emrfs-only.csv")}


@Rule(
    id="WB611",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="EMRFS key that S3A does not read",
    because="from EMR 7.10 on, S3A reads s3://, and EMR maps only some keys of EMRFS to keys of S3A",
    fix="remove it",
    source="EMR Release Guide, emr-s3a-migrate",
    proof=NO_AWS,
    emr=Span(since=(7, 10, 0)),
    of_hbase=False,
)
def _without_counterpart(node: LintedNode) -> Iterator[Violation]:
    if node.on_emrfs:
        return
    view = node.text(CONSISTENT, "emrfs-site")
    has_no_view = view is not None and view.lower() == "false"
    maps = (node.text(MAPPING, "core-site") or "true").lower() != "false"
    for (path, key), setting in node.settings.items():
        if path not in READERS or (
            key.startswith(CONSISTENT) and (has_no_view or setting.value.strip().lower() == "false")
        ):
            continue
        instead = _emrfs_only().get(CONSISTENT if key.startswith(CONSISTENT) else key)
        if instead is not None:
            yield Violation(
                setting,
                f"{key} configures EMRFS; S3A has no counterpart",
                fix=instead,
                edit=REMOVED if instead.startswith("remove it") else None,
            )
        elif not maps and key.startswith(OF_EMRFS) and key not in IMPLEMENTATION:
            yield Violation(
                setting,
                f"{key} configures EMRFS, and {MAPPING}=false keeps EMR from mapping it to S3A",
                fix=f"write the key of S3A, or remove {MAPPING}",
            )


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
