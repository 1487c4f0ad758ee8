"""Properties of the root, the write-ahead log and the S3 client, and of flushes and splits."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
from warmbase.configurations.properties.context import HBaseProperty, RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    BEST_PRACTICES,
    BOTH,
    BYTES,
    CORE,
    EMR_HBASE_CONFIGURE,
    EMR_HBASE_S3,
    EMR_S3A,
    EMR_WAL,
    EVERYWHERE,
    HADOOP_341,
    HBASE_262,
    HBASE_264,
    HBASE_CONFIGURATION,
    PERIOD_MS,
    PRIMARY,
    SWITCH,
    THREADS,
    WAIT_MS,
    WHOLE_PATH,
    AnyText,
    Applied,
    Decimal,
    Matching,
    OneOf,
    Span,
    Whole,
)
from warmbase.sizing.cost import PUT_BYTES
from warmbase.sizing.server.system_volume import CLEANER_MS
from warmbase.sizing.server.write_path import UPLOAD_STREAMS
from warmbase.sizing.workload.workload import JITTER_FRACTION

_identity = partial(HBaseProperty, groups=EVERYWHERE, applied=Applied.NEW_CLUSTER)
_site = partial(hbase_site, groups=BOTH)
_cleaner = partial(_site, applied=Applied.LIVE, source=f"{EMR_HBASE_S3}; {HBASE_CONFIGURATION}")
_s3a = partial(hbase_site, when=RenderingContext.has_root_on_s3a, source=HADOOP_341)

STORAGE: Final = (
    _identity(
        "hbase.emr.storageMode",
        OneOf(names=("s3", "hdfs")),
        "s3: the data outlives every cluster; hdfs: the data ends with this cluster",
        classification="hbase",
        value=lambda context: context.plan.mode.emr_storage_mode,
        needed_by="where the data is",
        source=EMR_HBASE_S3,
    ),
    _identity(
        "hbase.rootdir",
        Matching(form=r"(s3[an]?|hdfs|file)://.+", described="an address such as s3://bucket/prefix/"),
        "the location of the data; at most one active cluster may use it, and the slash at its end matters",
        classification="hbase-site",
        value=lambda context: context.plan.root,
        when=RenderingContext.has_root_in_s3,
        needed_by="where the data is",
        source=EMR_HBASE_S3,
    ),
    _identity(
        "hbase.store.file-tracker.impl",
        OneOf(names=("FILE", "DEFAULT", "MIGRATION"), others=True),
        "HBase lists its store files in a file, so that it renames nothing in S3; it is part of what the root "
        "is. A root from release 7.3 or older has its list in hbase:storefile: migrate that first",
        classification="hbase-site",
        value="FILE",
        when=RenderingContext.has_root_in_s3,
        needed_by="where the data is",
        source=f"{EMR_HBASE_S3}; emr-hbase-migrate",
        hbase=Span(since=(2, 5, 0)),
    ),
    _identity(
        "hbase.emr.wal.enabled",
        SWITCH,
        "the write-ahead log outlives the cluster; you can choose it only at launch, and never switch it off",
        classification="hbase",
        value="true",
        when=RenderingContext.has_emr_wal,
        source=EMR_WAL,
    ),
    _identity(
        "emr.wal.workspace",
        Matching(form=r"[a-zA-Z0-9]{1,32}", described="1 to 32 letters and digits"),
        "the workspace of the write-ahead logs; it has the environment's name, so that the next cluster finds them",
        classification="hbase-site",
        value=lambda context: context.wal_workspace,
        when=RenderingContext.has_emr_wal,
        source=EMR_WAL,
    ),
    _identity(
        "emr.wal.client.endpoint",
        AnyText(described="the name of an endpoint"),
        "the private DNS name of the VPC endpoint; the guide asks for it in a network without a route to the internet",
        classification="hbase-site",
        value=lambda context: f"https://prod.emrwal.{context.region}.amazonaws.com",
        when=RenderingContext.has_emr_wal,
        source=f"{EMR_WAL}; emr-hbase-wal-privatelink",
    ),
    HBaseProperty(
        "hbase.emr.readreplica.enabled",
        SWITCH,
        "this cluster reads the root of another cluster and never writes; set for each group, so that "
        "EMR can change it on a running cluster",
        classification="hbase",
        value="true",
        when=lambda context: not context.is_active(),
        groups=BOTH,
        source=EMR_HBASE_S3,
    ),
    HBaseProperty(
        "hbase.regionserver.fixed.heap.enabled",
        SWITCH,
        "the heap neither grows nor shrinks: ZGC returns no memory that the cache index will need again",
        classification="hbase",
        value="true",
        groups=CORE,
        source=EMR_HBASE_CONFIGURE,
        emr=Span(since=(7, 10, 0)),
    ),
    _site("emr.wal.max.payload.size", BYTES, "the largest record that EMR WAL accepts", source=EMR_WAL),
    _site(
        "hbase.wal.regiongrouping.numgroups",
        Whole(unit="logs", least=1),
        "the number of write-ahead logs of one RegionServer",
        source=EMR_WAL,
    ),
    _site(
        "fs.s3a.experimental.input.fadvise",
        OneOf(names=("sequential", "normal", "random", "default", "adaptive", "whole-file", "vector")),
        "in releases 7.10 to 7.13, the read policy drifts to random, which slows down scans and compactions. "
        "For a get, the plan counts one GET for each block that is not cached, and the lab measured that with either "
        "policy; an export by a scan reads neighbouring blocks with one GET only under sequential. With sequential, a "
        "read from S3 closes its connection and took a fifth longer. Override it with random if nothing scans",
        value="sequential",
        when=lambda context: context.has_root_in_s3() and context.release.read_policy_defect,
        needed_by="GETs to S3 and their price",
        source=EMR_HBASE_S3,
    ),
    hbase_site(
        "fs.s3a.connection.maximum",
        Whole(unit="connections", least=1),
        "each prefetch thread, handler and compaction needs a connection, and waits when none is free",
        when=RenderingContext.has_root_on_s3a,
        figure="s3_connections",
        source=f"{HADOOP_341}; {EMR_S3A}",
    ),
    _s3a(
        "fs.s3a.buffer.dir",
        WHOLE_PATH,
        "parts of store files wait here for their upload, off the cache volume",
        value=node_files.S3A_BUFFER,
        needed_by="the size of the system volume",
    ),
    _s3a(
        "fs.s3a.multipart.size",
        Matching(form=r"\d+[KMG]?", described="bytes, or with a suffix such as 64M"),
        "the size of the parts in which S3A uploads a store file; Hadoop's default",
        value=str(PUT_BYTES),
        needed_by="PUTs to S3 and their price, and the time of a flush",
    ),
    _s3a(
        "fs.s3a.fast.upload.active.blocks",
        Whole(unit="parts", least=1),
        "the number of parts of one file that S3A uploads at the same time; Hadoop's default",
        value=str(UPLOAD_STREAMS),
        needed_by="the time of a flush or compaction",
    ),
    hbase_site(
        "fs.s3a.threads.max",
        THREADS,
        "the number of parts uploaded, and of ranges read, at the same time",
        source=HADOOP_341,
    ),
    _site(
        "hbase.hregion.max.filesize",
        BYTES,
        "a larger region splits, and before HBase 2.6.3 its cached blocks are lost; each region draws its own "
        "limit, up to an eighth above or below this one",
        figure="regions.split_bytes",
        source=f"{EMR_HBASE_S3}; {HBASE_262}",
    ),
    hbase_site(
        "hbase.hregion.max.filesize.jitter",
        Decimal(unit="fraction of the limit", most=1.0),
        "each region draws its own limit, up to half of this fraction above or below it; HBase's default",
        value=str(2 * JITTER_FRACTION),
        needed_by="the number of regions that split",
    ),
    hbase_site(
        "hbase.wal.hsync",
        SWITCH,
        "false: a put waits until the DataNodes have its log entry in memory, and does not wait for their disks",
        value="false",
        hbase=Span(since=(2, 4, 17)),
        needed_by="the time of a put",
    ),
    _site(
        "hbase.master.logcleaner.ttl",
        WAIT_MS,
        "the master deletes an old write-ahead log after this time; HBase's default",
        value=str(CLEANER_MS),
        groups=PRIMARY,
        needed_by="the size of the system volume",
    ),
    _site(
        "hbase.master.cleaner.interval",
        PERIOD_MS,
        "the interval at which the master looks for files to delete; HBase's default",
        value=str(CLEANER_MS),
        groups=PRIMARY,
        needed_by="the size of the system volume",
    ),
    hbase_site(
        "hbase.snapshot.before.destructive.action.enabled",
        SWITCH,
        "before a table or a column family is deleted or truncated, HBase takes a snapshot and keeps it for a "
        "day, so that you can undo a mistake; for that day, its store files stay in S3 and you pay for them",
        value="true",
        when=RenderingContext.is_active,
        groups=PRIMARY,
        hbase=Span(since=(2, 6, 4)),
        source=HBASE_264,
    ),
    _cleaner(
        "hbase.regionserver.hfilecleaner.large.thread.count",
        THREADS,
        "deleting from S3 takes a request for each file, and a file that waits for deletion costs money",
        source=f"{EMR_HBASE_S3}; {BEST_PRACTICES}; {HBASE_CONFIGURATION}",
    ),
    _cleaner("hbase.regionserver.hfilecleaner.small.thread.count", THREADS, "the same for files below 64 MiB"),
    _cleaner(
        "hbase.oldwals.cleaner.thread.size", THREADS, "the number of old write-ahead logs deleted at the same time"
    ),
    _cleaner(
        "hbase.cleaner.scan.dir.concurrent.size",
        AnyText(described="threads, or a share of the cores"),
        "the number of directories that the cleaner lists at the same time",
    ),
)
