"""Keys: spelled correctly, in this version, and in the classification that reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from warmbase.configurations.properties import CATALOGUE
from warmbase.configurations.properties.property import Span
from warmbase.emr.cluster_spec import Setting
from warmbase.facts.keys import current_key, emr_keys, hadoop_keys, hbase_keys, key_prefixes
from warmbase.facts.keys.nearest import near_misses
from warmbase.linter.finding import Consequence, Edit, Severity, new_key
from warmbase.linter.node import SITE, LintedNode
from warmbase.linter.rule import BOOTED, Rule, Violation

BOTH: Final = ("primary", "core")
OF_HBASE: Final = ("hbase.", "hfile.")
OF_HADOOP: Final = ("dfs.", "fs.", "hadoop.", "io.", "ipc.", "yarn.")
SCHEME: Final = re.compile(r"fs\.(AbstractFileSystem\.)?[A-Za-z][\w+-]*\.impl(\.disable\.cache)?")
"""Hadoop looks up the class of a file system by its scheme, which may be any word."""
SITES: Final = ("hbase-site", "core-site", "hdfs-site", "yarn-site", "emrfs-site", "hbase")
"""Classifications whose keys the tables list completely; others, such as hbase-env, hold names of any kind."""
# Keys that were renamed, dropped or never merged, with what to use instead; from the sources of HBase and Hadoop.
REPLACED: Final = {
    "hbase.offheapcache.minblocksize": "hbase.blockcache.minblocksize",
    "hbase.bucketcache.percentage.in.combinedcache": "hfile.block.cache.size for L1, and hbase.bucketcache.size",
    "hfile.min.blocksize.size": "BLOCKSIZE of the column family",
    "hbase.blockcache.policy": "hfile.block.cache.policy",
    "dfs.client.retry.window.multiplier": "dfs.client.retry.window.base; HDFS-16155 was never merged",
    "dfs.client.retry.window.max": "dfs.client.retry.window.base; HDFS-16155 was never merged",
    "fs.s3.threadpool.size": "fs.s3a.threads.max with S3A (from emr-7.10), fs.s3.threadpool.maxSize with EMRFS",
    "hbase.rs.prefetchheapusage": "nothing: HBase 2.6 does not limit prefetch by heap",
}
NAMED_ONLY: Final = frozenset({"hbase.offheapcache.minblocksize", "hbase.bucketcache.percentage.in.combinedcache"})
"""Replaced keys that the jars still name but read only to log a warning."""
READ_BY_HBASE: Final = (SITE, "core-site")
NOT_HBASE: Final = ("yarn-site", "hdfs-site", "emrfs-site", "hbase")
NOT_YARN: Final = (SITE, "hdfs-site", "emrfs-site", "hbase")
OF_WAL: Final = "emr.wal."
IGNORED: Final = "HBase and Hadoop silently ignore keys that they do not know"
AS_WB101: Final = "HBase ignores the key, as the boot for WB101 shows"


@cache
def _catalogued() -> frozenset[str]:
    return frozenset({*hbase_keys(), *hadoop_keys(), *emr_keys(), *(key for _, key in CATALOGUE)})


def _site_settings(node: LintedNode) -> Iterator[Setting]:
    return (setting for (path, _), setting in node.settings.items() if path in SITES)


def _read_by(node: LintedNode, key: str) -> bool:
    """Return whether this release reads the key; where the release is unknown, whether any release does."""
    if key in NAMED_ONLY:
        return False
    if not (node.release and node.exact):
        return key in _catalogued()
    hbase, hadoop, emr = hbase_keys().get(key), hadoop_keys().get(key), emr_keys().get(key)
    if hbase and hbase.exists_in(node.release.hbase):
        return True
    if hadoop and hadoop.exists_in(node.release.hadoop):
        return True
    if emr and emr.exists_in(node.release.emr):
        return True
    entries = [entry for (_, name), entry in CATALOGUE.items() if name == key]
    return not (hbase or hadoop or emr) and any(entry.exists_in(node.release) for entry in entries)


def _is_catalogued(key: str) -> bool:
    """Return whether a key is known, or contains a free name, such as that of a user or of a file system."""
    return (
        key in _catalogued()
        or key in REPLACED
        or SCHEME.fullmatch(key) is not None
        or any(key.startswith(prefix) and key != prefix for prefix in key_prefixes())
    )


@Rule(
    id="WB101",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="unknown key, close to a real one",
    because=IGNORED,
    fix="write the key that exists",
    source="keys extracted from the release jars",
    proof=BOOTED,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _near_miss(node: LintedNode) -> Iterator[Violation]:
    """Yield misspelt keys; for HBase 1 only keys of HBase, because the tables have no Hadoop 2."""
    for setting in _site_settings(node):
        if _is_catalogued(setting.key) or (node.has_hbase_1 and not setting.key.startswith(OF_HBASE)):
            continue
        near = near_misses(setting.key, _catalogued())
        if near:
            yield Violation(
                setting,
                f"unknown key; did you mean {near[0]}?",
                fix=f"write {' or '.join(near[:3])}",
                edit=_renamed(node, setting, near[0]) if len(near) == 1 else None,
            )


def _renamed(node: LintedNode, setting: Setting, key: str) -> Edit | None:
    """Return the edit that corrects a key; None where the file also has the right one."""
    return None if (setting.classification, key) in node.settings else new_key(key)


@Rule(
    id="WB102",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="key of another version",
    because=IGNORED,
    fix="remove the key, or use a release that has it",
    source="keys extracted from the release jars",
    proof=AS_WB101,
    roles=BOTH,
    of_hbase=False,
)
def _of_another_version(node: LintedNode) -> Iterator[Violation]:
    for setting in _site_settings(node):
        key = setting.key
        if key in REPLACED and not _read_by(node, key):
            yield Violation(setting, f"this release does not read {key}", fix=f"use {REPLACED[key]}")
        elif key in _catalogued() and not _read_by(node, key):
            yield Violation(
                setting,
                f"{node.release.label if node.release else 'this release'} does not read {key}: it is a key "
                f"{_versions(key)}",
            )


def _versions(key: str) -> str:
    hbase, hadoop, emr = hbase_keys().get(key), hadoop_keys().get(key), emr_keys().get(key)
    if hbase and not key.startswith(OF_HADOOP):
        return f"of HBase {', '.join(hbase.versions)}"
    if hadoop:
        return f"of Hadoop {', '.join(hadoop.versions)}"
    if emr:
        span = Span(since=emr.since, until=None)
        return f"of EMR {span}" if emr.until is None else f"of EMR up to {'.'.join(map(str, emr.until))}"
    return "of an older Hadoop" if key.startswith(OF_HADOOP) else "of another version"


@Rule(
    id="WB103",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="unknown key",
    because="HBase and Hadoop silently ignore keys that they do not know; a coprocessor or Phoenix may read this one",
    fix="check that the software that it is meant for reads it",
    source="keys extracted from the release jars",
    proof=AS_WB101,
    roles=BOTH,
    of_hbase=False,
)
def _unknown(node: LintedNode) -> Iterator[Violation]:
    for setting in _site_settings(node):
        key = setting.key
        if _is_catalogued(key) or near_misses(key, _catalogued()):
            continue
        yield Violation(setting, f"unknown key: HBase, Hadoop and EMR do not read {key}")


@Rule(
    id="WB105",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="key in a classification from which nothing reads it",
    because="HBase reads hbase-site and core-site, EMR reads its own keys from hbase, and YARN reads yarn-site",
    fix="move the key to the classification that is read",
    source="HBase 2.6.2 HBaseConfiguration, Hadoop 3.4.1 YarnConfiguration; EMR Release Guide, emr-hbase-s3",
    proof=AS_WB101,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _nobody_reads_it_there(node: LintedNode) -> Iterator[Violation]:
    """Yield misplaced keys, except those that EMR itself writes into the site file of a node."""
    for setting in node.settings.values():
        path, key = setting.classification, setting.key
        if (path, key) in CATALOGUE or ((emr := emr_keys().get(key)) and path in emr.classifications):
            continue
        if _is_for_emr(key) and path != "hbase" and node.subject.only is None:
            yield Violation(setting, f"EMR reads {key} from hbase, not from {path}", fix="set it in hbase")
        elif key.startswith(OF_WAL) and path not in READ_BY_HBASE:
            yield Violation(setting, f"HBase does not read {key} from {path}", fix=f"set it in {SITE}")
        elif key.startswith(OF_HBASE) and path in NOT_HBASE and not _is_for_emr(key):
            right = next((path for path, name in CATALOGUE if name == key), SITE)
            yield Violation(setting, f"HBase does not read {key} from {path}", fix=f"set it in {right}")
        elif key.startswith("yarn.") and path in NOT_YARN:
            yield Violation(setting, f"YARN does not read {key} from {path}", fix="set it in yarn-site")


def _is_for_emr(key: str) -> bool:
    """Return whether EMR itself reads the key and derives settings of HBase from it."""
    return key.startswith("hbase.emr.") or key == "hbase.regionserver.fixed.heap.enabled"


@Rule(
    id="WB111",
    severity=Severity.INFO,
    title="deprecated name of a key",
    because="the old name still works, but where both names are set it is not obvious which one wins",
    fix="write the new name",
    source="Hadoop 3.4.2 Configuration.dumpDeprecatedKeys, HBase 2.6.4 MemorySizeUtil and CompactionConfiguration",
    proof="the old key still works",
    roles=BOTH,
    of_hbase=False,
)
def _old_name(node: LintedNode) -> Iterator[Violation]:
    for setting in _site_settings(node):
        current = current_key(setting.key)
        if current != setting.key and setting.key not in REPLACED:
            yield Violation(
                setting,
                f"{setting.key} is the old name of {current}",
                fix=f"write {current}",
                edit=_renamed(node, setting, current),
            )
