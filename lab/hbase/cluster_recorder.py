"""A recorder of what EMR's agent, nodes and AWS would publish of the servers of the lab, once a second."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from msgspec import Struct, field

from lab.hbase.cluster import LabCluster
from lab.hbase.cluster_recording import ClusterSample, Figures, ServerEvent
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.store import StoreClient
from lab.machine import IO_WAIT_FIELDS, IdleCpu, memory
from lab.machine.volume import LimitedVolume
from warmbase.configurations.metrics import MetricSource, metrics_of
from warmbase.ground.errors import OperationFailed

EVERY_SECONDS: Final = 1.0
REGIONS_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=Regions"
META: Final = "Namespace_hbase_table_meta_region_1588230740_metric_storeCount"
NODE_READS: Final = (
    "l2CacheHitCount",
    "l2CacheMissCount",
    "l2CacheSize",
    "l2CacheFreeSize",
    "l2CacheEvictionCount",
    "blockCacheFailedInsertionCount",
    "pauseWarnThresholdExceeded",
    "Get_99th_percentile",
)
"""The attributes that the program on a node reads from its RegionServer, except for the time of its start."""


class ClusterRecorder(Struct, kw_only=True):
    """Takes samples and keeps events. Each server has a volume of its own for its cache."""

    cluster: LabCluster
    store: StoreClient
    volumes: Sequence[LimitedVolume]
    samples: list[ClusterSample] = field(default_factory=list)
    events: list[ServerEvent] = field(default_factory=list)
    began: float = field(default_factory=time.time)
    _io_wait: IdleCpu = field(default_factory=lambda: IdleCpu(counted=IO_WAIT_FIELDS))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take a sample each second while the block runs; one that the store or the master does not answer is lost."""
        ended = threading.Event()

        def take() -> None:
            while not ended.wait(EVERY_SECONDS):
                with suppress(OperationFailed, KeyError):
                    self.samples.append(self._sample())

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def event(self, server: int, what: str) -> None:
        """Keep an event of that server, which happens now."""
        self.events.append(ServerEvent(seconds=round(time.time() - self.began, 1), server=server, what=what))

    def _sample(self) -> ClusterSample:
        """Return the figures of servers, master, S3 and machine. Raises KeyError while the master is silent."""
        store, has, disk = self.store.counters(), memory(), shutil.disk_usage(self.cluster.place.root)
        return ClusterSample(
            seconds=time.time() - self.began,
            cluster={
                **self._agent(MetricSource.MASTER, self.cluster.place.ports.master_info),
                "GetRequests": store.gets,
                "5xxErrors": store.slowed,
                "cpu_usage_iowait": 100 * (self._io_wait.fraction() or 0.0),
                "mem_available_percent": 100 * (has.available_bytes or 0) / has.total_bytes,
                "disk_used_percent": 100 * disk.used / (disk.used + disk.free),
            },
            servers=tuple(self._server(number) for number in self.cluster.numbers),
        )

    def _server(self, number: int) -> Figures | None:
        """Return the figures of one server and its volume; None while it does not answer."""
        port, volume = self.cluster.place.ports.servers_info[number], self.volumes[number]
        attributes = bean(port, SERVER_BEAN)
        try:
            of_node = {name: attributes[name] for name in NODE_READS}
            of_agent = self._agent(MetricSource.REGION_SERVER, port)
            started = attributes["regionServerStartTime"] / 1000 - self.began
        except KeyError:
            return None
        disk, traffic = os.statvfs(volume.mount_point), volume.traffic
        index = volume.mount_point / "index" / "bucketcache.index"
        return {
            "started": started,
            **of_node,
            **of_agent,
            "HostsMeta": int(META in bean(port, REGIONS_BEAN)),
            # Without an index so far, this is the beginning of the recording.
            "index_written": index.stat().st_mtime - self.began if index.exists() else 0.0,
            "DiskUsed": 1 - disk.f_bavail / disk.f_blocks,
            "VolumeBytes": traffic.read_bytes + traffic.written_bytes,
            "VolumeOperations": traffic.reads + traffic.writes,
        }

    def _agent(self, source: MetricSource, port: int) -> Figures:
        """Return the figures that EMR's agent would publish of a daemon. Raises KeyError while it does not answer."""
        figures: dict[str, float] = {}
        for name, attributes in metrics_of(source, self.cluster.launch.plan.mode).items():
            answer = bean(port, name)
            figures |= {attribute: answer[attribute] for attribute in attributes}
        return figures
