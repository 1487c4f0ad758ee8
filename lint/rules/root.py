"""The root in S3, its store file tracker and its client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.properties.property import Span
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import NO_AWS, Violation, rule

ROOT: Final = "hbase.rootdir"
TRACKER: Final = "hbase.store.file-tracker.impl"
READ_POLICY: Final = "fs.s3a.experimental.input.fadvise"
CONSISTENT: Final = "fs.s3.consistent"
MAJOR: Final = "hbase.hregion.majorcompaction"
ON_S3: Final = "EMR Release Guide, emr-hbase-s3"
BOTH: Final = ("primary", "core")


@rule(
    id="WB603",
    severity=Severity.WARNING,
    title="a bucket without a slash at its end",
    because="a root that is a whole bucket does not work without it",
    fix="end it with a slash",
    source=ON_S3,
    proof=NO_AWS,
    of_hbase_1=True,
)
def _bucket_without_slash(node: LintedNode) -> Iterator[Violation]:
    root = node.text(ROOT)
    if root is not None and root.startswith("s3") and "/" not in root.partition("://")[2]:
        yield Violation(at=node.setting(ROOT), message=f"{root} has no slash at its end", fix=f"write {root}/")


@rule(
    id="WB604",
    severity=Severity.ERROR,
    title="a root and a storage mode that differ",
    because="EMR sets up the file system, the cache and the shutdown by the storage mode",
    fix="state hbase.emr.storageMode=s3 with a root in S3, or neither",
    source=ON_S3,
    proof=NO_AWS,
    of_hbase_1=True,
)
def _root_and_mode_differ(node: LintedNode) -> Iterator[Violation]:
    mode, root = node.text("hbase.emr.storageMode", "hbase"), node.text(ROOT)
    elsewhere = mode == "hdfs" or node.unstated("hbase.emr.storageMode", "hbase")
    if mode == "s3" and root is not None and not root.startswith("s3"):
        yield Violation(at=node.setting(ROOT), message=f"storage mode is s3, and the root is {root}")
    elif elsewhere and root is not None and root.startswith("s3"):
        yield Violation(at=node.setting(ROOT), message="the root is in S3, and nothing says hbase.emr.storageMode=s3")
    elif mode == "s3" and node.unstated(ROOT):
        yield Violation(property=ROOT, message="storage mode is s3, and nothing says where the root is")


@rule(
    id="WB605",
    severity=Severity.WARNING,
    title="S3A's read policy left alone (fs.s3a.experimental.input.fadvise)",
    because="flushes then block and regions grow too busy; EMR asks for it on all nodes",
    fix=f"state {READ_POLICY}=sequential in hbase-site, for the whole cluster",
    source=ON_S3,
    proof=NO_AWS,
    roles=BOTH,
    emr=Span(since=(7, 10, 0), until=(7, 14, 0)),
)
def _read_policy(node: LintedNode) -> Iterator[Violation]:
    policy = node.text(READ_POLICY)
    gap = node.setting(READ_POLICY) is not None and policy is None
    if node.in_s3 and not node.on_emrfs and not gap and policy != "sequential":
        yield Violation(
            at=node.setting(READ_POLICY),
            property=READ_POLICY,
            message="the read policy of S3A can drift to random, which starves scans and compactions",
        )


@rule(
    id="WB606",
    severity=Severity.ERROR,
    title="a file tracker that the release does not have",
    because="FILE is EMR's from 7.4 on",
    fix="remove it, or use emr-7.4.0 or later",
    source=ON_S3,
    proof=NO_AWS,
    emr=Span(until=(7, 4, 0)),
    of_hbase_1=True,
)
def _tracker_too_early(node: LintedNode) -> Iterator[Violation]:
    tracker = node.text(TRACKER)
    if tracker is not None and "FILE" in tracker.upper() and "DEFAULT" not in tracker.upper():
        yield Violation(at=node.setting(TRACKER), message="this release lists store files in the table hbase:storefile")


@rule(
    id="WB607",
    severity=Severity.WARNING,
    title="store files that are renamed in S3",
    because="a rename in S3 is a copy and a delete, and is not atomic",
    fix="use FILE",
    source=ON_S3,
    proof=NO_AWS,
    emr=Span(since=(7, 4, 0)),
)
def _tracker_renames(node: LintedNode) -> Iterator[Violation]:
    tracker = node.text(TRACKER)
    if node.in_s3 and tracker is not None and "default" in tracker.lower():
        yield Violation(
            at=node.setting(TRACKER), message="each flush and compaction renames its files, and S3 copies them"
        )


@rule(
    id="WB608",
    severity=Severity.INFO,
    title="a root that may need migration",
    because="FILE would not see those files",
    fix="before this release meets such a root: disable and drop hbase:storefile, flush hbase:meta, start with "
    "DEFAULT, then change_sft to FILE; a new root needs nothing",
    source="EMR Release Guide, emr-hbase-migrate",
    proof=NO_AWS,
    emr=Span(since=(7, 4, 0)),
)
def _migration(node: LintedNode) -> Iterator[Violation]:
    if node.in_s3 and node.text(ROOT) is not None:
        yield Violation(
            at=node.setting(ROOT),
            message="a root that a release up to 7.3 wrote has its list of store files in hbase:storefile",
        )


@rule(
    id="WB611",
    severity=Severity.WARNING,
    title="EMRFS's consistent view on S3A",
    because="S3 itself is consistent",
    fix="remove it",
    source="EMR Release Guide, emr-s3a-migrate",
    proof=NO_AWS,
    emr=Span(since=(7, 10, 0)),
    of_hbase=False,
)
def _without_counterpart(node: LintedNode) -> Iterator[Violation]:
    view = node.setting(CONSISTENT, "emrfs-site")
    if node.on_emrfs or (view and view.value.strip().lower() == "false"):
        return
    for (_, key), setting in node.settings.items():
        if key.startswith(CONSISTENT) and setting.value.strip().lower() != "false":
            yield Violation(at=setting, message=f"{key} is EMRFS's, and S3A has no counterpart")


@rule(
    id="WB612",
    severity=Severity.ERROR,
    title="keys of RubiX",
    because="the module is gone; Trino has a file-system cache of its own",
    fix="use fs.cache.enabled of the Trino catalog",
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
            yield Violation(at=setting, message=f"{key} in {path} is RubiX's, which EMR removed with 7.3")


@rule(
    id="WB614",
    severity=Severity.INFO,
    title="hbase.hregion.majorcompaction by the calendar",
    because="a compaction's output is new blocks; what it replaces is dropped",
    fix="state hbase.hregion.majorcompaction=0 and compact at night",
    source="HBase 2.6.2 default of 7 days",
    proof=NO_AWS,
)
def _weekly_loss(node: LintedNode) -> Iterator[Violation]:
    if node.caches and node.unstated(MAJOR):
        yield Violation(property=MAJOR, message="every store is rewritten once a week, and every cached block with it")
