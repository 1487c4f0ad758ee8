"""Root, write-ahead log, HDFS and the S3 client."""

from __future__ import annotations

from tests.lint.examples.case import Case, value_case
from tests.lint.examples.file import IN_HDFS, File

ROOT = "hbase.rootdir"
POLICY = "fs.s3a.experimental.input.fadvise"
TRACKER = "hbase.store.file-tracker.impl"
EMR_WAL = {"hbase": {"hbase.emr.wal.enabled": "true"}}
OLD_JAVA = {"hbase-env/export": {"JAVA_HOME": None, "HBASE_REGIONSERVER_GC_OPTS": None}}


def copies(number: str | None, nodes: int) -> File:
    """Return a file with so many copies in HDFS on so many nodes."""
    return File(others={"hdfs-site": {"dfs.replication": number}}, core={"InstanceCount": nodes})


STORAGE = (
    Case(
        "WB601",
        "hdfs-site dfs.replication",
        "3 copies of each block do not fit on 2 core nodes",
        copies("3", 2),
        copies("3", 3),
    ),
    Case(
        "WB602",
        "hdfs-site dfs.replication",
        "has one copy, EMR's default for 3 core nodes",
        copies(None, 3),
        copies(None, 4),
    ),
    value_case("WB603", ROOT, "s3://bucket", "s3://bucket/", "s3://bucket lacks a slash at its end"),
    value_case(
        "WB604", ROOT, "hdfs:///hbase", "s3://bucket/prefix", "the storage mode is s3, but the root is hdfs:///hbase"
    ),
    value_case("WB605", POLICY, None, None, "S3A can switch to random reads, which slows scans and compactions down"),
    Case(
        "WB606",
        TRACKER,
        "the table hbase:storefile",
        File({TRACKER: "FILE", "hbase.bucketcache.persistent.path": None}, release="emr-7.3.0", others=OLD_JAVA),
        File({TRACKER: "DEFAULT", "hbase.bucketcache.persistent.path": None}, release="emr-7.3.0", others=OLD_JAVA),
    ),
    value_case("WB607", TRACKER, "DEFAULT", "FILE", "renames its files"),
    Case("WB608", ROOT, "if EMR 7.3 or earlier wrote this root", File(), File({ROOT: None}, others=IN_HDFS)),
    Case(
        "WB609",
        "hbase.wal.provider",
        "EMR WAL has its own provider, which this one conflicts with",
        File({"emr.wal.workspace": "warmbase", "hbase.wal.provider": "filesystem"}, others=EMR_WAL),
        File({"emr.wal.workspace": "warmbase"}, others=EMR_WAL),
    ),
    Case(
        "WB610",
        "emr.wal.workspace",
        "the workspace of the logs is not set",
        File(others=EMR_WAL),
        File({"emr.wal.workspace": "warmbase"}, others=EMR_WAL),
    ),
    Case(
        "WB611",
        "emrfs-site fs.s3.consistent",
        "S3A has no counterpart",
        File(others={"emrfs-site": {"fs.s3.consistent": "true"}}),
        File(others={"emrfs-site": {"fs.s3.maxConnections": "500"}}),
    ),
    Case(
        "WB612",
        "trino-connector-hive hive.cache.enabled",
        "RubiX, which EMR removed in 7.3; now it is fs.cache.enabled",
        File(others={"trino-connector-hive": {"hive.cache.enabled": "true"}}),
        File(others={"trino-connector-hive": {"fs.cache.enabled": "true"}}),
    ),
    Case(
        "WB613",
        "hdfs-site dfs.datanode.data.dir",
        "/mnt1 is also the volume of the cache",
        File(others={"hdfs-site": {"dfs.datanode.data.dir": "/mnt1/hdfs"}}),
        File(others={"hdfs-site": {"dfs.datanode.data.dir": "/mnt2/hdfs"}}),
    ),
    value_case("WB614", "hbase.hregion.majorcompaction", None, "0", "once a week HBase rewrites every store"),
    Case(
        "WB615",
        "hdfs-site dfs.client.read.shortcircuit",
        "store files are in S3",
        File(others={"hdfs-site": {"dfs.client.read.shortcircuit": "true", "dfs.domain.socket.path": "/s"}}),
        File(others={"hdfs-site": {"dfs.client.read.shortcircuit": "false"}}),
    ),
)
