"""Where the data and the write-ahead log lie, and how HBase reads and writes S3."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import BOTH, CLUSTER, CORE, Applied, Property, Span
from configurations.properties.sources import (
    BEST_PRACTICES,
    EMR_HBASE_CONFIGURE,
    EMR_HBASE_S3,
    EMR_S3A,
    EMR_WAL,
    HADOOP_341,
    HBASE_262,
    HBASE_CONFIGURATION,
)
from configurations.properties.values import LONG, AnyText, Decimal, Matching, OneOf, Switch, Whole

__all__ = ["STORAGE"]

_identity = partial(Property, groups=CLUSTER, applied=Applied.NEW_CLUSTER)
_site = partial(Property, classification="hbase-site", groups=BOTH, applied=Applied.ROLLING_RESTART)
_core = partial(Property, classification="hbase-site", groups=CORE, applied=Applied.ROLLING_RESTART)

STORAGE: Final = (
    _identity(
        classification="hbase",
        key="hbase.emr.storageMode",
        values=OneOf(names=("s3", "hdfs")),
        reason="s3: the data outlives every cluster; hdfs: it ends with this one",
        source=EMR_HBASE_S3,
    ),
    _identity(
        classification="hbase-site",
        key="hbase.rootdir",
        values=Matching(form=r"(s3[an]?|hdfs|file)://.+", described="an address such as s3://bucket/prefix/"),
        reason="where the data lives; one active cluster at most may use it, and the slash at its end matters",
        source=EMR_HBASE_S3,
    ),
    _identity(
        classification="hbase-site",
        key="hbase.store.file-tracker.impl",
        values=OneOf(names=("FILE", "DEFAULT", "MIGRATION"), others=True),
        reason="store files are listed in a file, so that nothing is renamed in S3; part of what the root is. A root "
        "from release 7.3 or older keeps its list in hbase:storefile: migrate that first",
        source=f"{EMR_HBASE_S3}; emr-hbase-migrate",
        hbase=Span(since=(2, 5, 0)),
    ),
    _identity(
        classification="hbase",
        key="hbase.emr.wal.enabled",
        values=Switch(),
        reason="the write-ahead log outlives the cluster; it can be chosen at launch only, and never switched off",
        source=EMR_WAL,
    ),
    _identity(
        classification="hbase-site",
        key="emr.wal.workspace",
        values=Matching(form=r"[a-zA-Z0-9]{1,32}", described="1 to 32 letters and digits"),
        reason="whose write-ahead logs these are; the name is the environment's, so that the next cluster finds them",
        source=EMR_WAL,
    ),
    _identity(
        classification="hbase-site",
        key="emr.wal.client.endpoint",
        values=AnyText(described="the name of an endpoint"),
        reason="another endpoint for EMR WAL than the region's own",
        source=EMR_WAL,
    ),
    Property(
        classification="hbase",
        key="hbase.emr.readreplica.enabled",
        groups=BOTH,
        values=Switch(),
        applied=Applied.ROLLING_RESTART,
        reason="this cluster reads another's root and never writes; stated by group, so that promotion can undo it",
        source=EMR_HBASE_S3,
    ),
    Property(
        classification="hbase",
        key="hbase.regionserver.fixed.heap.enabled",
        groups=CORE,
        values=Switch(),
        applied=Applied.ROLLING_RESTART,
        reason="the heap neither grows nor shrinks: ZGC gives no memory back that the cache index will want again",
        source=EMR_HBASE_CONFIGURE,
        emr=Span(since=(7, 10, 0)),
    ),
    _site(
        key="emr.wal.max.payload.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the largest record that EMR WAL takes",
        source=EMR_WAL,
    ),
    _site(
        key="hbase.wal.regiongrouping.numgroups",
        values=Whole(unit="logs", least=1),
        reason="write-ahead logs of one RegionServer side by side",
        source=EMR_WAL,
    ),
    _site(
        key="fs.s3a.experimental.input.fadvise",
        values=OneOf(names=("sequential", "normal", "random", "default", "adaptive", "whole-file", "vector")),
        reason="releases 7.10 to 7.13 let the read policy drift to random, which starves scans and compactions",
        source=EMR_HBASE_S3,
    ),
    _core(
        key="fs.s3a.connection.maximum",
        values=Whole(unit="connections", least=1),
        figure="s3_connections",
        reason="a prefetch thread, a handler and a compaction each hold a connection; one that finds none waits",
        source=f"{HADOOP_341}; {EMR_S3A}",
    ),
    _core(
        key="fs.s3a.buffer.dir",
        values=Matching(form=r"/.+", described="a whole path"),
        reason="parts of store files wait there for their upload, off the cache volume",
        source=HADOOP_341,
    ),
    _core(
        key="fs.s3a.threads.max",
        values=Whole(unit="threads", least=1),
        reason="parts that are uploaded and ranges that are read at once",
        source=HADOOP_341,
    ),
    _core(
        key="hbase.hregion.majorcompaction",
        values=Whole(unit="ms", least=0, most=LONG),
        reason="a major compaction replaces every cached block, so it runs when told to, not by the calendar",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _core(
        key="hbase.hregion.majorcompaction.jitter",
        values=Decimal(unit="fractions of the interval", least=0, most=1),
        reason="spreads the calendar's major compactions; without a calendar it does nothing",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _core(
        key="hbase.offpeak.start.hour",
        values=Whole(unit="o'clock UTC", least=-1, most=23),
        reason="large compactions wait for these hours: what one replaces drops out of the cache",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _core(
        key="hbase.offpeak.end.hour",
        values=Whole(unit="o'clock UTC", least=-1, most=23),
        reason="when they end",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _core(
        key="hbase.hstore.compaction.ratio.offpeak",
        values=Decimal(unit="ratio", above=0),
        reason="how eagerly files are compacted in those hours",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _core(
        key="hbase.hstore.compaction.max.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        applied=Applied.LIVE,
        reason="by day a minor compaction takes in no more in all; a store that has too many files is compacted anyhow",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
    ),
    _core(
        key="hbase.hstore.compaction.max.size.offpeak",
        values=Whole(unit="bytes", least=1, most=LONG),
        applied=Applied.LIVE,
        reason="at night one compaction at a time on a RegionServer takes in whatever it chooses",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
    ),
    _core(
        key="hbase.hstore.compaction.throughput.offpeak",
        values=Whole(unit="bytes/s", least=1, most=LONG),
        applied=Applied.LIVE,
        reason="as on a quiet day: without a limit compactions at night would take the cache's whole volume",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
    ),
    _core(
        key="hbase.hstore.compaction.throughput.higher.bound",
        values=Whole(unit="bytes/s", least=1, most=LONG),
        applied=Applied.LIVE,
        reason="the most that compactions write by day, where stores have many files",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
    ),
    _core(
        key="hbase.hstore.blockingStoreFiles",
        values=Whole(unit="store files", least=1),
        reason="from so many files on a store's flushes wait for compaction, which is slower on S3",
        source=EMR_HBASE_S3,
    ),
    _core(
        key="hbase.hregion.memstore.flush.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="what a region gathers before it flushes",
        source=EMR_HBASE_S3,
    ),
    _core(
        key="hbase.hregion.memstore.block.multiplier",
        values=Whole(unit="flush sizes", least=1),
        reason="a region that holds so many flushes refuses writes",
        source=EMR_HBASE_S3,
    ),
    _site(
        key="hbase.hregion.max.filesize",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="a region that grows beyond it splits; a parent's cached blocks are lost",
        source=EMR_HBASE_S3,
    ),
    _core(
        key="hbase.hstore.compactionThreshold",
        values=Whole(unit="store files", least=2),
        applied=Applied.LIVE,
        reason="so many files start a compaction; hbase.hstore.compaction.min by its older name",
        source=HBASE_262,
    ),
    _core(
        key="hbase.regionserver.thread.compaction.large",
        values=Whole(unit="threads", least=1),
        reason="large compactions at once; each reads S3 and fills the cache beside the reads",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _core(
        key="hbase.regionserver.thread.compaction.small",
        values=Whole(unit="threads", least=1),
        reason="small compactions at once",
        source=f"{HBASE_262}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    Property(
        classification="hbase-site",
        key="hbase.regionserver.hfilecleaner.large.thread.count",
        groups=BOTH,
        values=Whole(unit="threads", least=1),
        reason="deleting from S3 is a request for each file, and a file that waits is paid for",
        source=f"{f'{EMR_HBASE_S3}; {BEST_PRACTICES}'}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _site(
        key="hbase.regionserver.hfilecleaner.small.thread.count",
        values=Whole(unit="threads", least=1),
        reason="the same for files below 64 MiB",
        source=f"{EMR_HBASE_S3}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _site(
        key="hbase.oldwals.cleaner.thread.size",
        values=Whole(unit="threads", least=1),
        reason="old write-ahead logs deleted at once",
        source=f"{EMR_HBASE_S3}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
    _site(
        key="hbase.cleaner.scan.dir.concurrent.size",
        values=AnyText(described="threads, or a share of the cores"),
        reason="directories that the cleaner lists at once",
        source=f"{EMR_HBASE_S3}; {HBASE_CONFIGURATION}",
        applied=Applied.LIVE,
    ),
)
