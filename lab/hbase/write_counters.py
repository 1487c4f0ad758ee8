"""The counters of writes of a RegionServer whose log lies on a limited volume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import fields

from lab.hbase.cluster import LabCluster
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.limits.volume import LimitedVolume
from sizing.problem import OperationFailed

WAL_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=WAL"


class WriteCounters(Struct, frozen=True, kw_only=True):
    """A RegionServer's counters of writes since its start."""

    log_edits: int
    log_bytes: int
    flushes: int
    flushed_heap_bytes: int
    flushed_bytes: int
    compacted_input_bytes: int
    compacted_bytes: int
    blocked_ms: int
    blocked_requests: int
    device_bytes: int

    @classmethod
    def of(cls, log: Mapping[str, Any], server: Mapping[str, Any], device_bytes: int) -> Self:
        """Return the counters of its two beans, and of the device below its log."""
        return cls(
            log_edits=int(log["appendCount"]),
            log_bytes=int(log["writtenBytes"]),
            flushes=int(server["FlushTime_num_ops"]),
            flushed_heap_bytes=int(server["flushedMemstoreBytes"]),
            flushed_bytes=int(server["flushedOutputBytes"]),
            compacted_input_bytes=int(server["compactedInputBytes"]),
            compacted_bytes=int(server["compactedOutputBytes"]),
            blocked_ms=int(server["updatesBlockedTime"]),
            blocked_requests=int(server["blockedRequestCount"]),
            device_bytes=device_bytes,
        )

    def __sub__(self, earlier: Self) -> WriteCounters:
        """Return the counts between the two."""
        return WriteCounters(
            **{field.name: getattr(self, field.name) - getattr(earlier, field.name) for field in fields(self)}
        )


class WriteWindow(Struct, frozen=True, kw_only=True):
    """The counts of so many seconds of writes."""

    seconds: float
    counts: WriteCounters

    @property
    def per_second(self) -> float:
        """Return the cells that were written in a second; each is one edit of the log."""
        return self.counts.log_edits / self.seconds


def write_counters(cluster: LabCluster, volume: LimitedVolume | None = None) -> WriteCounters:
    """Return the counters as of now, which are a second old at most. Raises OperationFailed without an answer."""
    port = cluster.place.ports.servers_info[0]
    log, server = bean(port, WAL_BEAN), bean(port, SERVER_BEAN)
    if "appendCount" not in log or "flushedMemstoreBytes" not in server:
        raise OperationFailed.of(
            where="server-0",
            what="its counters of writes",
            why="its JMX page does not answer",
            fix=f"read {cluster.place.log('server-0')}",
        )
    return WriteCounters.of(log, server, volume.traffic.written_bytes if volume else 0)
