"""Properties that keep HDFS and YARN off the cache volume and out of the RegionServer's memory."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
from warmbase.configurations.properties.property import (
    BEST_PRACTICES,
    BOTH,
    BYTES,
    CORE,
    EMR_REPLACEMENT,
    EMR_S3A,
    EMR_STORAGE,
    EMR_TASKS,
    HADOOP_341,
    HBASE_262,
    HUBSPOT,
    INTEL,
    PERIOD_MS,
    PRIMARY,
    SWITCH,
    THREADS,
    TIME,
    WAIT_MS,
    WHOLE_PATH,
    Decimal,
    HBaseProperty,
    ListOf,
    Matching,
    RenderingContext,
    Span,
    Whole,
)
from warmbase.sizing.server.system_volume import LOCATION_REFRESH_MS
from warmbase.sizing.server.writes import CHECKSUM_CHUNK_BYTES

DIRECTORIES: Final = ListOf(member=Matching(form=r"(file://|\[\w+\])?/.+", described="a whole path"))
# judgement: these waits add up to the time in which S3 splits a prefix; see the property's reason.
THROTTLE_INTERVAL_MS: Final = 500
THROTTLE_TRIES: Final = 9
THROTTLE_MINUTES: Final = THROTTLE_INTERVAL_MS * (2**THROTTLE_TRIES - 1) / 60_000
UNHEALTHY_DISK_PERCENT: Final = 99
"""EMR's own advice for a node that is to survive a full disk (Management Guide, emr-plan-node-replacement)."""
_hdfs = partial(HBaseProperty, classification="hdfs-site", groups=BOTH, source=HADOOP_341)
_client = partial(_hdfs, classification="hbase-site", groups=CORE, when=RenderingContext.has_data_in_hdfs)
_yarn = partial(HBaseProperty, classification="yarn-site", groups=CORE)
_core_site = partial(HBaseProperty, classification="core-site", groups=BOTH, when=RenderingContext.has_root_on_s3a)

HADOOP: Final = (
    _hdfs(
        "dfs.replication",
        Whole(unit="copies", least=1, most=512),
        "HDFS has the write-ahead log and, in mode hdfs, the data; a single copy would be lost with its node",
        figure="hdfs_replication",
        source=EMR_STORAGE,
    ),
    _hdfs(
        "dfs.datanode.data.dir",
        DIRECTORIES,
        "HDFS stays off the cache volume",
        value=lambda context: node_files.hdfs_directories(context.plan.core),
        needed_by="the size of the system volume, or of the data volumes in mode hdfs",
        groups=CORE,
        source=BEST_PRACTICES,
    ),
    _hdfs(
        "dfs.bytes-per-checksum",
        Whole(unit="bytes", least=1),
        "the number of bytes that share one checksum of 4 bytes; Hadoop's default",
        value=str(CHECKSUM_CHUNK_BYTES),
        groups=CORE,
        needed_by="bytes of the write-ahead log",
    ),
    _hdfs(
        "dfs.namenode.handler.count",
        THREADS,
        "threads that answer DataNodes and clients; with the default of 10, many nodes and regions wait for each other",
        when=RenderingContext.has_data_in_hdfs,
        groups=PRIMARY,
        figure="hdfs.namenode_handlers",
    ),
    _hdfs(
        "dfs.datanode.handler.count",
        THREADS,
        "threads that answer clients and other DataNodes",
        when=RenderingContext.has_data_in_hdfs,
        groups=CORE,
        figure="hdfs.datanode_handlers",
    ),
    _hdfs(
        "dfs.datanode.max.transfer.threads",
        THREADS,
        "the number of blocks that a DataNode serves at the same time; its older name is dfs.datanode.max.xcievers",
        when=RenderingContext.has_data_in_hdfs,
        groups=CORE,
        figure="hdfs.transfer_threads",
        source=f"{HADOOP_341}; {INTEL}",
    ),
    _hdfs(
        "dfs.client.read.shortcircuit",
        SWITCH,
        "a RegionServer reads local blocks from the disk, without the DataNode",
        value="true",
        when=RenderingContext.has_data_in_hdfs,
        needed_by="reads in mode hdfs",
        source=HUBSPOT,
    ),
    _hdfs(
        "dfs.domain.socket.path",
        WHOLE_PATH,
        "the socket over which the DataNode passes open files to the RegionServer; both need it",
        value=node_files.DOMAIN_SOCKET,
        when=RenderingContext.has_data_in_hdfs,
        needed_by="reads in mode hdfs",
    ),
    _client(
        "dfs.client.read.shortcircuit.streams.cache.size",
        Whole(unit="files"),
        "the number of open files that the client caches",
    ),
    _client(
        "dfs.client.read.shortcircuit.streams.cache.expiry.ms", WAIT_MS, "the time for which an open file stays cached"
    ),
    _client(
        "dfs.client.read.shortcircuit.buffer.size",
        BYTES,
        "the buffer of a short-circuit read; HBase lowers it to hbase.dfs.client.read.shortcircuit.buffer.size",
    ),
    _client("hbase.dfs.client.read.shortcircuit.buffer.size", BYTES, "the buffer of a short-circuit read in HBase"),
    _client("dfs.client.short.circuit.num", Whole(unit="caches", least=1), "the number of caches of open files"),
    _client(
        "dfs.client.hedged.read.threadpool.size",
        Whole(unit="threads"),
        "threads that read a second replica when the first is slow; 0 switches it off",
    ),
    _client("dfs.client.hedged.read.threshold.millis", PERIOD_MS, "the time after which a replica counts as slow"),
    _client("dfs.client.deadnode.detection.enabled", SWITCH, "all open files share the list of dead DataNodes"),
    _client(
        "dfs.client.refresh.read-block-locations.ms",
        WAIT_MS,
        f"a file that stays open for months learns within {LOCATION_REFRESH_MS // 1000} s that a block is "
        "local again; HubSpot's interval. 0 switches it off",
        value=str(LOCATION_REFRESH_MS),
        needed_by="heal in mode hdfs, and the load of the NameNode",
        hadoop=Span(since=(3, 3, 0)),
        source=f"{HADOOP_341}; {HUBSPOT}",
    ),
    _client(
        "dfs.client.refresh.read-block-locations.register-automatically",
        SWITCH,
        "applies to every open file, and not only to those that register",
        value="true",
        needed_by="heal in mode hdfs",
        hadoop=Span(since=(3, 4, 0)),
    ),
    _client(
        "dfs.client.refresh.read-block-locations.threads",
        THREADS,
        "the number of files that ask the NameNode at the same time",
        hadoop=Span(since=(3, 4, 0)),
    ),
    _client(
        "hbase.locality.inputstream.derive.enabled",
        SWITCH,
        "percentFilesLocal follows blocks that move; otherwise a RegionServer computes the locality of a store "
        "file only when it opens it. The balancer weighs the same figure",
        value="true",
        needed_by="heal in mode hdfs",
        hbase=Span(since=(2, 5, 0)),
        source=HBASE_262,
    ),
    _client("dfs.client.retry.window.base", WAIT_MS, "the first wait when no replica answers"),
    _yarn(
        "yarn.nodemanager.local-dirs",
        DIRECTORIES,
        "YARN stays off the cache volume: it marks a disk over 90 % as unhealthy, and EMR replaces the node",
        value=node_files.YARN_LOCAL,
        source=f"{BEST_PRACTICES}; {EMR_REPLACEMENT}",
    ),
    _yarn(
        "yarn.nodemanager.resource.memory-mb",
        Whole(unit="MiB", least=-1),
        "the rest of the memory belongs to the RegionServer",
        figure="yarn_mib",
        source=EMR_TASKS,
    ),
    _yarn(
        "yarn.scheduler.maximum-allocation-mb",
        Whole(unit="MiB", least=1),
        "YARN refuses a container that no node can hold",
        groups=BOTH,
        figure="yarn_mib",
        source=EMR_TASKS,
    ),
    _yarn(
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
        Decimal(unit="percent", most=100),
        "above this, YARN marks a disk as unhealthy, and EMR replaces the node, with its cache and its copy of "
        f"the write-ahead log. {UNHEALTHY_DISK_PERCENT} keeps the check of broken disks, which `…enable: false` would "
        "turn off",
        value=str(UNHEALTHY_DISK_PERCENT),
        source=EMR_REPLACEMENT,
    ),
    _core_site(
        "fs.s3a.endpoint.region",
        Matching(form=r"[a-z]{2}(-[a-z]+)+-\d+", described="the name of a region, such as eu-west-1"),
        "the region of the cluster, which also has the bucket of the root. Without it, S3A asks S3 in us-east-2 "
        "for the bucket, which a network without a route to the internet does not reach, and HBase waits. With it, S3A "
        "finds the endpoint of the region's partition by itself, in China and GovCloud too",
        value=lambda context: context.region,
        when=RenderingContext.has_s3a,
        needed_by="every request to S3",
        source=HADOOP_341,
    ),
    _core_site(
        "fs.s3a.retry.throttle.limit",
        Whole(unit="tries", least=1),
        f"S3A repeats a throttled request {THROTTLE_TRIES} times, for about {THROTTLE_MINUTES:.0f} minutes in "
        "all, in which S3 splits the prefix; the default of 20 doublings would block a handler for a day",
        value=str(THROTTLE_TRIES),
        source=HADOOP_341,
    ),
    _core_site(
        "fs.s3a.retry.throttle.interval",
        TIME,
        "the first of those waits; each one doubles, with jitter, which spreads the requests",
        value=f"{THROTTLE_INTERVAL_MS}ms",
        source=HADOOP_341,
    ),
    _core_site(
        "fs.s3a.retry.limit",
        Whole(unit="tries"),
        "the number of repeats of another failed request before HBase gets the error",
        source=f"{HADOOP_341}; {EMR_S3A}",
    ),
    _core_site(
        "fs.s3a.retry.interval", TIME, "the first wait between those repeats; each one doubles", source=HADOOP_341
    ),
    _core_site(
        "fs.s3a.emrfs.compatibility.enable",
        SWITCH,
        "S3A reads the EMRFS keys where its own are missing",
        source=EMR_S3A,
    ),
    _core_site("io.file.buffer.size", BYTES, "the buffer of Hadoop's own streams", source=f"{HADOOP_341}; {INTEL}"),
    HBaseProperty(
        "fs.s3.maxConnections",
        Whole(unit="connections", least=1),
        "each prefetch thread, handler and compaction needs a connection, and waits when none is free",
        classification="emrfs-site",
        when=lambda context: context.has_root_in_s3() and not context.has_s3a(),
        groups=CORE,
        figure="s3_connections",
        source=EMR_S3A,
    ),
    HBaseProperty(
        "fs.s3.maxRetries",
        Whole(unit="tries"),
        "the number of times that EMRFS repeats a failed request",
        classification="emrfs-site",
        groups=BOTH,
        source=EMR_S3A,
    ),
)
