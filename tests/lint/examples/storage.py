"""Root, write-ahead log, HDFS and the S3 client."""

from __future__ import annotations

from tests.lint.examples.case import Case
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
        id="WB601",
        faulty=copies("3", 2),
        right=copies("3", 3),
        at="hdfs-site dfs.replication",
        says="3 copies of each block do not fit on 2 core nodes",
    ),
    Case(
        id="WB602",
        faulty=copies(None, 3),
        right=copies(None, 4),
        at="hdfs-site dfs.replication",
        says="has one copy, EMR's default for 3 core nodes",
    ),
    Case(
        id="WB603",
        faulty=File(site={ROOT: "s3://bucket"}),
        right=File(site={ROOT: "s3://bucket/"}),
        at=ROOT,
        says="s3://bucket lacks a slash at its end",
    ),
    Case(
        id="WB604",
        faulty=File(site={ROOT: "hdfs:///hbase"}),
        right=File(site={ROOT: "s3://bucket/prefix"}),
        at=ROOT,
        says="the storage mode is s3, but the root is hdfs:///hbase",
    ),
    Case(
        id="WB605",
        faulty=File(site={POLICY: None}),
        at=POLICY,
        says="S3A can switch to random reads, which slows scans and compactions down",
    ),
    Case(
        id="WB606",
        faulty=File(
            site={TRACKER: "FILE", "hbase.bucketcache.persistent.path": None}, release="emr-7.3.0", others=OLD_JAVA
        ),
        right=File(
            site={TRACKER: "DEFAULT", "hbase.bucketcache.persistent.path": None}, release="emr-7.3.0", others=OLD_JAVA
        ),
        at=TRACKER,
        says="the table hbase:storefile",
    ),
    Case(
        id="WB607",
        faulty=File(site={TRACKER: "DEFAULT"}),
        right=File(site={TRACKER: "FILE"}),
        at=TRACKER,
        says="renames its files",
    ),
    Case(
        id="WB608",
        faulty=File(),
        right=File(site={ROOT: None}, others=IN_HDFS),
        at=ROOT,
        says="if EMR 7.3 or earlier wrote this root",
    ),
    Case(
        id="WB609",
        faulty=File(site={"emr.wal.workspace": "warmbase", "hbase.wal.provider": "filesystem"}, others=EMR_WAL),
        right=File(site={"emr.wal.workspace": "warmbase"}, others=EMR_WAL),
        at="hbase.wal.provider",
        says="EMR WAL has its own provider, which this one conflicts with",
    ),
    Case(
        id="WB610",
        faulty=File(others=EMR_WAL),
        right=File(others=EMR_WAL, site={"emr.wal.workspace": "warmbase"}),
        at="emr.wal.workspace",
        says="the workspace of the logs is not set",
    ),
    Case(
        id="WB611",
        faulty=File(others={"emrfs-site": {"fs.s3.consistent": "true"}}),
        right=File(others={"emrfs-site": {"fs.s3.maxConnections": "500"}}),
        at="emrfs-site fs.s3.consistent",
        says="S3A has no counterpart",
    ),
    Case(
        id="WB612",
        faulty=File(others={"trino-connector-hive": {"hive.cache.enabled": "true"}}),
        right=File(others={"trino-connector-hive": {"fs.cache.enabled": "true"}}),
        at="trino-connector-hive hive.cache.enabled",
        says="RubiX, which EMR removed in 7.3; now it is fs.cache.enabled",
    ),
    Case(
        id="WB613",
        faulty=File(others={"hdfs-site": {"dfs.datanode.data.dir": "/mnt1/hdfs"}}),
        right=File(others={"hdfs-site": {"dfs.datanode.data.dir": "/mnt2/hdfs"}}),
        at="hdfs-site dfs.datanode.data.dir",
        says="/mnt1 is also the volume of the cache",
    ),
    Case(
        id="WB614",
        faulty=File(site={"hbase.hregion.majorcompaction": None}),
        right=File(site={"hbase.hregion.majorcompaction": "0"}),
        at="hbase.hregion.majorcompaction",
        says="once a week HBase rewrites every store",
    ),
    Case(
        id="WB615",
        faulty=File(others={"hdfs-site": {"dfs.client.read.shortcircuit": "true", "dfs.domain.socket.path": "/s"}}),
        right=File(others={"hdfs-site": {"dfs.client.read.shortcircuit": "false"}}),
        at="hdfs-site dfs.client.read.shortcircuit",
        says="store files are in S3",
    ),
)
