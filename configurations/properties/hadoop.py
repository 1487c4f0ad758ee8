"""Properties that keep HDFS and YARN off the cache volume and out of the RegionServer's memory."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
from warmbase.configurations.properties.context import HBaseProperty, RenderingContext
from warmbase.configurations.properties.property import (
    BEST_PRACTICES,
    BOTH,
    CORE,
    EMR_REPLACEMENT,
    EMR_S3A,
    EMR_STORAGE,
    EMR_TASKS,
    HADOOP_341,
    HBASE_262,
    HUBSPOT,
    INTEL,
    LONG,
    PRIMARY,
    Decimal,
    ListOf,
    Matching,
    Span,
    Switch,
    Whole,
)
from warmbase.sizing.server.system_volume import LOCATION_REFRESH_MS
from warmbase.sizing.server.write_path import CHECKSUM_CHUNK_BYTES

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
        key="dfs.replication",
        values=Whole(unit="copies", least=1, most=512),
        figure="hdfs_replication",
        reason="HDFS has the write-ahead log and, in mode hdfs, the data; a single copy would be lost with its node",
        source=EMR_STORAGE,
    ),
    _hdfs(
        key="dfs.datanode.data.dir",
        value=lambda context: node_files.hdfs_directories(context.plan.core),
        needed_by="the size of the system volume, or of the data volumes in mode hdfs",
        groups=CORE,
        values=DIRECTORIES,
        reason="HDFS stays off the cache volume",
        source=BEST_PRACTICES,
    ),
    _hdfs(
        key="dfs.bytes-per-checksum",
        value=str(CHECKSUM_CHUNK_BYTES),
        groups=CORE,
        needed_by="bytes of the write-ahead log",
        values=Whole(unit="bytes", least=1),
        reason="the number of bytes that share one checksum of 4 bytes; Hadoop's default",
    ),
    _hdfs(
        key="dfs.namenode.handler.count",
        when=RenderingContext.has_data_in_hdfs,
        groups=PRIMARY,
        values=Whole(unit="threads", least=1),
        figure="hdfs.namenode_handlers",
        reason="threads that answer DataNodes and clients; with the default of 10, many nodes and regions wait for "
        "each other",
    ),
    _hdfs(
        key="dfs.datanode.handler.count",
        when=RenderingContext.has_data_in_hdfs,
        groups=CORE,
        values=Whole(unit="threads", least=1),
        figure="hdfs.datanode_handlers",
        reason="threads that answer clients and other DataNodes",
    ),
    _hdfs(
        key="dfs.datanode.max.transfer.threads",
        when=RenderingContext.has_data_in_hdfs,
        groups=CORE,
        values=Whole(unit="threads", least=1),
        figure="hdfs.transfer_threads",
        reason="the number of blocks that a DataNode serves at the same time; its older name is "
        "dfs.datanode.max.xcievers",
        source=f"{HADOOP_341}; {INTEL}",
    ),
    _hdfs(
        key="dfs.client.read.shortcircuit",
        value="true",
        when=RenderingContext.has_data_in_hdfs,
        needed_by="reads in mode hdfs",
        values=Switch(),
        reason="a RegionServer reads local blocks from the disk, without the DataNode",
        source=HUBSPOT,
    ),
    _hdfs(
        key="dfs.domain.socket.path",
        value=node_files.DOMAIN_SOCKET,
        when=RenderingContext.has_data_in_hdfs,
        needed_by="reads in mode hdfs",
        values=Matching(form=r"/.+", described="a whole path"),
        reason="the socket over which the DataNode passes open files to the RegionServer; both need it",
    ),
    _client(
        key="dfs.client.read.shortcircuit.streams.cache.size",
        values=Whole(unit="files"),
        reason="the number of open files that the client caches",
    ),
    _client(
        key="dfs.client.read.shortcircuit.streams.cache.expiry.ms",
        values=Whole(unit="ms", most=LONG),
        reason="the time for which an open file stays cached",
    ),
    _client(
        key="dfs.client.read.shortcircuit.buffer.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the buffer of a short-circuit read; HBase lowers it to hbase.dfs.client.read.shortcircuit.buffer.size",
    ),
    _client(
        key="hbase.dfs.client.read.shortcircuit.buffer.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the buffer of a short-circuit read in HBase",
    ),
    _client(
        key="dfs.client.short.circuit.num",
        values=Whole(unit="caches", least=1),
        reason="the number of caches of open files",
    ),
    _client(
        key="dfs.client.hedged.read.threadpool.size",
        values=Whole(unit="threads"),
        reason="threads that read a second replica when the first is slow; 0 switches it off",
    ),
    _client(
        key="dfs.client.hedged.read.threshold.millis",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the time after which a replica counts as slow",
    ),
    _client(
        key="dfs.client.deadnode.detection.enabled",
        values=Switch(),
        reason="all open files share the list of dead DataNodes",
    ),
    _client(
        key="dfs.client.refresh.read-block-locations.ms",
        value=str(LOCATION_REFRESH_MS),
        needed_by="heal in mode hdfs, and the load of the NameNode",
        hadoop=Span(since=(3, 3, 0)),
        values=Whole(unit="ms", most=LONG),
        reason=f"a file that stays open for months learns within {LOCATION_REFRESH_MS // 1000} s that a block is "
        "local again; HubSpot's interval. 0 switches it off",
        source=f"{HADOOP_341}; {HUBSPOT}",
    ),
    _client(
        key="dfs.client.refresh.read-block-locations.register-automatically",
        value="true",
        needed_by="heal in mode hdfs",
        hadoop=Span(since=(3, 4, 0)),
        values=Switch(),
        reason="applies to every open file, and not only to those that register",
    ),
    _client(
        key="dfs.client.refresh.read-block-locations.threads",
        hadoop=Span(since=(3, 4, 0)),
        values=Whole(unit="threads", least=1),
        reason="the number of files that ask the NameNode at the same time",
    ),
    _client(
        key="hbase.locality.inputstream.derive.enabled",
        value="true",
        needed_by="heal in mode hdfs",
        hbase=Span(since=(2, 5, 0)),
        values=Switch(),
        reason="percentFilesLocal follows blocks that move; otherwise a RegionServer computes the locality of a store "
        "file only when it opens it. The balancer weighs the same figure",
        source=HBASE_262,
    ),
    _client(
        key="dfs.client.retry.window.base",
        values=Whole(unit="ms", most=LONG),
        reason="the first wait when no replica answers",
    ),
    _yarn(
        key="yarn.nodemanager.local-dirs",
        value=node_files.YARN_LOCAL,
        values=DIRECTORIES,
        reason="YARN stays off the cache volume: it marks a disk over 90 % as unhealthy, and EMR replaces the node",
        source=f"{BEST_PRACTICES}; {EMR_REPLACEMENT}",
    ),
    _yarn(
        key="yarn.nodemanager.resource.memory-mb",
        values=Whole(unit="MiB", least=-1),
        figure="yarn_mib",
        reason="the rest of the memory belongs to the RegionServer",
        source=EMR_TASKS,
    ),
    _yarn(
        key="yarn.scheduler.maximum-allocation-mb",
        groups=BOTH,
        values=Whole(unit="MiB", least=1),
        figure="yarn_mib",
        reason="YARN refuses a container that no node can hold",
        source=EMR_TASKS,
    ),
    _yarn(
        key="yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
        value=str(UNHEALTHY_DISK_PERCENT),
        values=Decimal(unit="percent", most=100),
        reason="above this, YARN marks a disk as unhealthy, and EMR replaces the node, with its cache and its copy of "
        f"the write-ahead log. {UNHEALTHY_DISK_PERCENT} keeps the check of broken disks, which `…enable: false` would "
        "turn off",
        source=EMR_REPLACEMENT,
    ),
    _core_site(
        key="fs.s3a.endpoint.region",
        value=lambda context: context.region,
        when=RenderingContext.has_s3a,
        needed_by="every request to S3",
        values=Matching(form=r"[a-z]{2}(-[a-z]+)+-\d+", described="the name of a region, such as eu-west-1"),
        reason="the region of the cluster, which also has the bucket of the root. Without it, S3A asks S3 in us-east-2 "
        "for the bucket, which a network without a route to the internet does not reach, and HBase waits. With it, S3A "
        "finds the endpoint of the region's partition by itself, in China and GovCloud too",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.retry.throttle.limit",
        value=str(THROTTLE_TRIES),
        values=Whole(unit="tries", least=1),
        reason=f"S3A repeats a throttled request {THROTTLE_TRIES} times, for about {THROTTLE_MINUTES:.0f} minutes in "
        "all, in which S3 splits the prefix; the default of 20 doublings would block a handler for a day",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.retry.throttle.interval",
        value=f"{THROTTLE_INTERVAL_MS}ms",
        values=Matching(form=r"\d+ *(ms|s|m)?", described="a time such as 500ms"),
        reason="the first of those waits; each one doubles, with jitter, which spreads the requests",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.retry.limit",
        values=Whole(unit="tries"),
        reason="the number of repeats of another failed request before HBase gets the error",
        source=f"{HADOOP_341}; {EMR_S3A}",
    ),
    _core_site(
        key="fs.s3a.retry.interval",
        values=Matching(form=r"\d+ *(ms|s|m)?", described="a time such as 500ms"),
        reason="the first wait between those repeats; each one doubles",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.emrfs.compatibility.enable",
        values=Switch(),
        reason="S3A reads the EMRFS keys where its own are missing",
        source=EMR_S3A,
    ),
    _core_site(
        key="io.file.buffer.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the buffer of Hadoop's own streams",
        source=f"{HADOOP_341}; {INTEL}",
    ),
    HBaseProperty(
        classification="emrfs-site",
        key="fs.s3.maxConnections",
        when=lambda context: context.has_root_in_s3() and not context.has_s3a(),
        groups=CORE,
        values=Whole(unit="connections", least=1),
        figure="s3_connections",
        reason="each prefetch thread, handler and compaction needs a connection, and waits when none is free",
        source=EMR_S3A,
    ),
    HBaseProperty(
        classification="emrfs-site",
        key="fs.s3.maxRetries",
        groups=BOTH,
        values=Whole(unit="tries"),
        reason="the number of times that EMRFS repeats a failed request",
        source=EMR_S3A,
    ),
)
