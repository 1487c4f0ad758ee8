"""HDFS and YARN beside HBase: off the cache's volume, and out of its memory."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import BOTH, CORE, Applied, Property, Span
from configurations.properties.sources import (
    BEST_PRACTICES,
    EMR_REPLACEMENT,
    EMR_S3A,
    EMR_STORAGE,
    EMR_TASKS,
    HADOOP_341,
    HUBSPOT,
    INTEL,
)
from configurations.properties.values import LONG, Decimal, ListOf, Matching, Switch, Whole

__all__ = ["HADOOP"]

DIRECTORIES: Final = ListOf(member=Matching(form=r"(file://|\[\w+\])?/.+", described="a whole path"))
_hdfs = partial(Property, classification="hdfs-site", groups=BOTH, applied=Applied.ROLLING_RESTART, source=HADOOP_341)
_client = partial(_hdfs, classification="hbase-site", groups=CORE)
_yarn = partial(Property, classification="yarn-site", groups=CORE, applied=Applied.ROLLING_RESTART)
_core_site = partial(Property, classification="core-site", groups=BOTH, applied=Applied.ROLLING_RESTART)

HADOOP: Final = (
    _hdfs(
        key="dfs.replication",
        values=Whole(unit="copies", least=1, most=512),
        figure="hdfs_replication",
        reason="the write-ahead log lies in HDFS, and in HDFS mode the data; one copy would be lost with a node",
        source=EMR_STORAGE,
    ),
    _hdfs(
        key="dfs.datanode.data.dir",
        groups=CORE,
        values=DIRECTORIES,
        reason="HDFS stays off the cache volume",
        source=BEST_PRACTICES,
    ),
    _hdfs(
        key="dfs.datanode.max.transfer.threads",
        groups=CORE,
        values=Whole(unit="threads", least=1),
        reason="blocks that a DataNode serves at once; dfs.datanode.max.xcievers by its older name",
        source=f"{HADOOP_341}; {INTEL}",
    ),
    _hdfs(
        key="dfs.client.read.shortcircuit",
        values=Switch(),
        reason="a RegionServer reads local blocks from the disk, without the DataNode",
        source=HUBSPOT,
    ),
    _hdfs(
        key="dfs.domain.socket.path",
        values=Matching(form=r"/.+", described="a whole path"),
        reason="where DataNode and RegionServer hand each other open files; both sides need it",
    ),
    _client(
        key="dfs.client.read.shortcircuit.streams.cache.size",
        values=Whole(unit="files"),
        reason="open files that are kept",
    ),
    _client(
        key="dfs.client.read.shortcircuit.streams.cache.expiry.ms",
        values=Whole(unit="ms", most=LONG),
        reason="and for how long",
    ),
    _client(
        key="dfs.client.read.shortcircuit.buffer.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="buffer of such a read; HBase lowers it by hbase.dfs.client.read.shortcircuit.buffer.size",
    ),
    _client(
        key="hbase.dfs.client.read.shortcircuit.buffer.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="that buffer, as HBase has it",
    ),
    _client(
        key="dfs.client.short.circuit.num",
        values=Whole(unit="caches", least=1),
        reason="caches of open files side by side",
    ),
    _client(
        key="dfs.client.hedged.read.threadpool.size",
        values=Whole(unit="threads"),
        reason="a second replica is asked when the first is slow; 0 is off",
    ),
    _client(
        key="dfs.client.hedged.read.threshold.millis",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="when it is slow",
    ),
    _client(
        key="dfs.client.deadnode.detection.enabled",
        values=Switch(),
        reason="open files share what they know of dead DataNodes",
    ),
    _client(
        key="dfs.client.refresh.read-block-locations.ms",
        hadoop=Span(since=(3, 3, 0)),
        values=Whole(unit="ms", most=LONG),
        reason="a file that stays open for months learns that a block has become local again; 0 is off",
        source=f"{HADOOP_341}; {HUBSPOT}",
    ),
    _client(
        key="dfs.client.refresh.read-block-locations.register-automatically",
        hadoop=Span(since=(3, 4, 0)),
        values=Switch(),
        reason="every open file does, not only those that ask",
    ),
    _client(
        key="dfs.client.refresh.read-block-locations.threads",
        hadoop=Span(since=(3, 4, 0)),
        values=Whole(unit="threads", least=1),
        reason="files that ask the NameNode at once",
    ),
    _client(
        key="dfs.client.retry.window.base",
        values=Whole(unit="ms", most=LONG),
        reason="the first wait when no replica answers",
    ),
    _yarn(
        key="yarn.nodemanager.local-dirs",
        values=DIRECTORIES,
        reason="YARN stays off the cache volume: it calls a disk over 90 % unhealthy, and EMR replaces the node",
        source=f"{BEST_PRACTICES}; {EMR_REPLACEMENT}",
    ),
    _yarn(
        key="yarn.nodemanager.resource.memory-mb",
        values=Whole(unit="MiB", least=-1),
        figure="yarn_mib",
        reason="the rest of the memory is the RegionServer's",
        source=EMR_TASKS,
    ),
    _yarn(
        key="yarn.scheduler.maximum-allocation-mb",
        groups=BOTH,
        values=Whole(unit="MiB", least=1),
        figure="yarn_mib",
        reason="no container may be asked for that no node can hold",
        source=EMR_TASKS,
    ),
    _yarn(
        key="yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
        values=Decimal(unit="percent", most=100),
        reason="from there on YARN calls a disk unhealthy, and EMR the node",
        source=EMR_REPLACEMENT,
    ),
    _core_site(
        key="fs.s3a.retry.throttle.limit",
        values=Whole(unit="tries", least=1),
        reason="a request that S3 told to slow down is tried again for four minutes, while S3 splits the prefix; the "
        "default of 20 doublings would hold a handler for a day",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.retry.throttle.interval",
        values=Matching(form=r"\d+ *(ms|s|m)?", described="a time such as 500ms"),
        reason="the first of those waits; each doubles, with jitter, and spreads what S3 wants spread",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.retry.limit",
        values=Whole(unit="tries"),
        reason="how often another failed request is tried again before the error reaches HBase",
        source=f"{HADOOP_341}; {EMR_S3A}",
    ),
    _core_site(
        key="fs.s3a.retry.interval",
        values=Matching(form=r"\d+ *(ms|s|m)?", described="a time such as 500ms"),
        reason="the first wait of those tries, which doubles",
        source=HADOOP_341,
    ),
    _core_site(
        key="fs.s3a.emrfs.compatibility.enable",
        values=Switch(),
        reason="whether S3A takes the EMRFS keys for its own where it has none",
        source=EMR_S3A,
    ),
    _core_site(
        key="io.file.buffer.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="buffer of Hadoop's own streams",
        source=f"{HADOOP_341}; {INTEL}",
    ),
    Property(
        classification="emrfs-site",
        key="fs.s3.maxConnections",
        groups=CORE,
        values=Whole(unit="connections", least=1),
        figure="s3_connections",
        applied=Applied.ROLLING_RESTART,
        reason="a prefetch thread, a handler and a compaction each hold a connection; one that finds none waits",
        source=EMR_S3A,
    ),
    Property(
        classification="emrfs-site",
        key="fs.s3.maxRetries",
        groups=BOTH,
        values=Whole(unit="tries"),
        applied=Applied.ROLLING_RESTART,
        reason="how often EMRFS tries a failed request again",
        source=EMR_S3A,
    ),
)
