"""Properties of the root, the write-ahead log, the S3 client, flushes, splits and compactions.

Large compactions wait for the night, because the blocks that they replace leave the cache. The night is that of the AWS
region. HBase's off-peak hours alone make no compaction wait: they raise the ratio by which files are selected, and lift
the limit on throughput. So by day the size of a minor compaction is limited, and at night its throughput. HBase runs
one off-peak compaction at a time on a RegionServer.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
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
    LONG,
    PERIOD_MS,
    PRIMARY,
    SWITCH,
    THREADS,
    WAIT_MS,
    WHOLE_PATH,
    AnyText,
    Applied,
    Decimal,
    HBaseProperty,
    Matching,
    OneOf,
    RenderingContext,
    Span,
    Whole,
    hbase_site,
)
from warmbase.facts.ec2 import utc_offset_hours
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.server.system_volume import CLEANER_MS
from warmbase.sizing.server.writes import (
    DAY_LIMIT_BYTES,
    FEWEST_FILES,
    LARGE_COMPACTION_BYTES,
    LOWER_BOUND_BYTES,
    MOST_FILES,
    RATIO,
    UPLOAD_STREAMS,
)
from warmbase.sizing.service.resource import PUT_BYTES
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


# judgement: most services have the fewest reads in these four hours; override them if your users are elsewhere.
NIGHT_BEGINS: Final = 1
NIGHT_ENDS: Final = 5
# The ratio by day. In a simulation of HBase's selection, HBase's default at night, 5, writes up to twice as much,
# because HBase then rewrites a region as soon as it has received a fifth of its size.
NIGHT_RATIO: Final = RATIO
HOURS: Final = 24

_compaction = partial(
    hbase_site, applied=Applied.LIVE, when=RenderingContext.is_active, source=f"{HBASE_262}; {HBASE_CONFIGURATION}"
)


def hour_utc(hour: int, region: str) -> int:
    """Return an hour of the region's winter time in UTC, as nodes count them; half hours of an offset are cut off."""
    return (hour - int(utc_offset_hours(region))) % HOURS


COMPACTION: Final = (
    _compaction(
        "hbase.hregion.majorcompaction",
        Whole(unit="ms", least=0, most=LONG),
        "a major compaction replaces every cached block, so it runs when you start it, and not by the calendar",
        value="0",
        when=RenderingContext.has_bucket_cache,
        needed_by="hit ratio under writes, and compactions in waves",
    ),
    _compaction(
        "hbase.hregion.majorcompaction.jitter",
        Decimal(unit="fractions of the interval", least=0, most=1),
        "spreads the calendar's major compactions; without a calendar it has no effect",
    ),
    _compaction(
        "hbase.offpeak.start.hour",
        Whole(unit="o'clock UTC", least=-1, most=23),
        f"large compactions wait until {NIGHT_BEGINS} o'clock by the region's winter time, because the blocks "
        "that one replaces drop out of the cache, and most services have the fewest reads then",
        value=lambda context: str(hour_utc(NIGHT_BEGINS, context.region)),
        needed_by="compactions by day and at night",
    ),
    _compaction(
        "hbase.offpeak.end.hour",
        Whole(unit="o'clock UTC", least=-1, most=23),
        f"large compactions start until {NIGHT_ENDS} o'clock by the region's winter time",
        value=lambda context: str(hour_utc(NIGHT_ENDS, context.region)),
        needed_by="compactions by day and at night",
    ),
    _compaction(
        "hbase.hstore.compaction.ratio.offpeak",
        Decimal(unit="ratio", above=0),
        "the ratio by which HBase selects files for compaction in the off-peak hours; this is HBase's default "
        "by day. With its off-peak default of 5, HBase rewrites a whole region, and replaces its cached blocks, as "
        "soon as the region has received a fifth of its size",
        value=str(NIGHT_RATIO),
        needed_by="bytes that compactions write",
    ),
    _compaction(
        "hbase.hstore.compaction.max.size",
        BYTES,
        f"by day, a minor compaction reads at most {DAY_LIMIT_BYTES / GIB:.0f} GiB, enough for flushes and a "
        "few rounds of merging them, or a quarter of what a region receives in a day if that is more. Where one "
        "compaction at a time cannot merge a day's writes in a night, no compaction waits for the night",
        figure="writes.settings.day_limit_bytes",
    ),
    _compaction(
        "hbase.hstore.compaction.max.size.offpeak",
        BYTES,
        "at night one compaction at a time on a RegionServer reads files of any size",
        value=str(LONG),
        needed_by="bytes that compactions write",
    ),
    _compaction(
        "hbase.hstore.compaction.min.size",
        BYTES,
        "files that together are smaller than this are merged whatever their ratio. The default of 128 MiB does "
        "not follow the flush size, and with it each flush of a few MiB is written dozens of times. HBase writes least "
        "if this is the size of one flush's store file; a store then has about two files more",
        figure="writes.settings.min_size_bytes",
        source=f"{HBASE_262}; hbase-default.xml",
    ),
    _compaction(
        "hbase.hstore.compaction.throughput.offpeak",
        Whole(unit="bytes/s", least=1, most=LONG),
        "the rate of a quiet day; without a limit, compactions at night would use the whole throughput of the "
        "cache volume",
        figure="writes.settings.night_bytes",
    ),
    _compaction(
        "hbase.hstore.compaction.throughput.lower.bound",
        Whole(unit="bytes/s", least=1, most=LONG),
        "the rate at which compactions write by day while stores have few files: HBase's default of "
        f"{LOWER_BOUND_BYTES / MIB:.0f} MiB/s, or what the planned writes need",
        figure="writes.settings.compaction_lower_bytes",
    ),
    _compaction(
        "hbase.hstore.compaction.throughput.higher.bound",
        Whole(unit="bytes/s", least=1, most=LONG),
        "the highest rate at which compactions write by day, when stores have many files: twice the lower one, "
        "as in HBase's defaults",
        figure="writes.settings.compaction_higher_bytes",
    ),
    _compaction(
        "hbase.hstore.blockingStoreFiles",
        Whole(unit="store files", least=1),
        "a store with more files than this is not flushed until a compaction has merged some, or until"
        " hbase.hstore.blockingWaitTime has passed. A store whose compactions keep up has at most 14. EMR documents a"
        " default of 10",
        applied=Applied.ROLLING_RESTART,
        figure="writes.settings.blocking_store_files",
        source=f"{HBASE_262}; {EMR_HBASE_S3}",
    ),
    _compaction(
        "hbase.hstore.flusher.count",
        THREADS,
        "the number of regions that are flushed at the same time, enough to keep up with the planned writes",
        applied=Applied.ROLLING_RESTART,
        figure="writes.settings.flushers",
        source=HBASE_262,
    ),
    _compaction(
        "hbase.hstore.compaction.min",
        Whole(unit="store files", least=2),
        "the number of files that starts a compaction. EMR is said to set its old name, "
        "hbase.hstore.compactionThreshold, to 8; HBase reads the old name only where this one is missing",
        value=str(FEWEST_FILES),
        needed_by="bytes that compactions write, files of a store, reads from S3",
        source=HBASE_262,
    ),
    _compaction(
        "hbase.hstore.compaction.max",
        Whole(unit="store files", least=2),
        "a compaction merges no more files than this",
        value=str(MOST_FILES),
        needed_by="bytes that compactions write, and the initial load",
        source=HBASE_262,
    ),
    _compaction(
        "hbase.hstore.compaction.ratio",
        Decimal(unit="ratio", above=0),
        "by day, HBase merges a file only if it is at most this many times as large as the newer files together",
        value=str(RATIO),
        needed_by="bytes that compactions write",
    ),
    _compaction(
        "hbase.regionserver.thread.compaction.throttle",
        BYTES,
        "the size from which a compaction counts as large; HBase's default",
        value=str(LARGE_COMPACTION_BYTES),
        applied=Applied.ROLLING_RESTART,
        needed_by="the numbers of threads for small and for large compactions",
        source=HBASE_262,
    ),
    _compaction(
        "hbase.regionserver.thread.compaction.large",
        THREADS,
        "the number of large compactions at the same time; each reads S3 and writes the cache while reads are served",
        figure="writes.settings.large_compactions",
    ),
    _compaction(
        "hbase.regionserver.thread.compaction.small",
        THREADS,
        "the number of small compactions at the same time, enough to keep up with the planned writes",
        figure="writes.settings.small_compactions",
    ),
)
