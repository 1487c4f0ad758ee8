"""One cluster that could be bought, and what it would do: evaluated the same whether searched or pinned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from sizing.clients import SESSION_TIMEOUT_MS
from sizing.cluster import Layout, Volume
from sizing.cold_start import ColdStart
from sizing.hdfs_load import LONGEST_RECOVERY_SECONDS, HdfsLoad
from sizing.inputs import UTILISATION, SizingInputs
from sizing.instance import InstanceType
from sizing.memory import NotEnoughMemory
from sizing.offline import Crash, Offline, offline
from sizing.performance import Performance, performance, reads_in_progress
from sizing.prefetching import cold_start
from sizing.region_server import S3_TRIP_SECONDS, RegionServer, ServerShare, region_server
from sizing.resource import GBIT_BYTES, Disk, EbsLimits, Hits, Resource, ServingCluster, bottleneck, ebs_disk, resources
from sizing.system_volume import with_disks, writing_server
from sizing.units import format_duration, format_percent, format_rate, format_size
from sizing.writes import Writes, without_writes, write_load
from sizing.writing_server import WritingServer

__all__ = ["Candidate", "Shortfall"]

MB: Final = 10**6
FEWEST_SURVIVORS: Final = 1  # a cluster that loses every node serves nothing, whatever its targets
ROUNDING: Final = 1e-9  # of a ratio interpolated forwards and backwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A target that a candidate misses: `actual` is on the wrong side of `limit`, both in `unit`.

    `bottleneck` is None where memory or disk size is short.
    """

    target: str
    reason: str
    bottleneck: str | None
    actual: float
    limit: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """`count` core nodes of a type with one layout of volumes and cache.

    Hit ratios are estimated from the curve's chords while searching, never too high, and `exact` for a plan.
    """

    question: SizingInputs
    instance: InstanceType
    count: int
    layout: Layout
    exact: bool = False

    @property
    def survivors(self) -> int:
        """Nodes left when the nodes that may be lost are gone; the targets must hold with these."""
        return max(FEWEST_SURVIVORS, self.count - self.question.requirements.targets.lost_nodes)

    @property
    def cache_mib(self) -> int:
        """Return the size of one RegionServer's BucketCache."""
        return self.layout.cache_mib

    def hit_ratio(self, servers: int) -> float:
        """Share of block reads that warm nodes answer from their own disks."""
        if not self.question.mode.keeps_data_in_s3:
            return 1.0
        if not self.cache_mib:
            return 0.0
        if self.exact:
            return self.question.demand.hit_ratio(self.question.demand.useful_bytes(self.cache_mib, servers))
        return self.question.demand.estimated_hit_ratio(self.cache_mib, servers)

    @cached_property
    def data_volume(self) -> Volume | None:
        """The volume that reads are served from; None where nothing but S3 serves them."""
        return next((volume for volume in self.layout.volumes if volume.purpose in {"cache", "data"}), None)

    @cached_property
    def disk(self) -> Disk | None:
        """Return what that volume and the instance sustain together."""
        volume = self.data_volume
        if volume is None:
            return None
        if volume.type == "nvme":
            return Disk(kind="nvme", bytes_per_second=volume.bytes_per_second, ios_per_second=volume.iops)
        return ebs_disk(
            EbsLimits(
                volumes=volume.count,
                volume_mib_per_second=volume.throughput_mib_s,
                volume_iops=volume.iops,
                instance_mb_per_second=self.instance.ebs_sustained_bytes_per_second / MB,
                instance_iops=self.instance.ebs_sustained_iops,
            )
        )

    def share_of(self, servers: int) -> ServerShare:
        """Return what each of so many nodes carries."""
        return ServerShare.of(self.question.demand, self.cache_mib, servers)

    @cached_property
    def share(self) -> ServerShare:
        """Return what each survivor carries when nodes are lost, which is what memory must hold."""
        return replace(self.share_of(self.survivors), reads_in_progress=self._reads_in_progress())

    def _reads_in_progress(self) -> float:
        """Reads that one survivor works on at once: the more of a warm cluster and of a cold one."""
        warmths = {self.hit_ratio(self.survivors)} | ({0.0} if self.question.mode.keeps_data_in_s3 else set())
        cluster = self._hardware(self.survivors)
        return max(reads_in_progress(self.question, cluster, Hits(ratio=ratio)) for ratio in warmths)

    @cached_property
    def region_server(self) -> RegionServer:
        """Raises NotEnoughMemory where the instance is too small."""
        disk_bytes_per_second = self.disk.bytes_per_second if self.disk else 0.0
        return region_server(self.instance, self.share, self.question, disk_bytes_per_second)

    @property
    def fits_memory(self) -> bool:
        """Return whether the instance has room for the heap and the cache's index."""
        try:
            return bool(self.region_server)
        except NotEnoughMemory:
            return False

    def cluster(self, servers: int) -> ServingCluster:
        """So many of these nodes, as the queueing model sees them. Raises NotEnoughMemory."""
        return replace(self._hardware(servers), handlers=self.region_server.call_queues.read_handlers)

    def _hardware(self, servers: int) -> ServingCluster:
        """So many of these nodes with what their writes leave, before their handlers are known."""
        cluster = ServingCluster(
            servers=servers,
            vcpus=self.instance.vcpus,
            network_gbit_per_second=self.instance.network_sustained_bytes_per_second / GBIT_BYTES,
            disk=self.disk,
            imbalance=self.question.imbalance(servers),
        )
        return without_writes(cluster, self.writing_server, self.question.requirements.workload.write_bytes_per_second)

    @cached_property
    def writing_server(self) -> WritingServer:
        """Return one RegionServer as writes use it, with the memstore that the survivors need."""
        server = writing_server(self.question, self.instance, self.cache_mib, self.survivors)
        return with_disks(server, self.disk, self.layout)

    def writes(self, servers: int) -> Writes:
        """Return the writes that so many nodes carry beside the offered reads."""
        offered, reads = self.question.requirements.workload.write_bytes_per_second, self.resources(servers)
        reads_per_second = self.question.offered_reads_per_second or 0.0
        return write_load(self.writing_server, servers, offered, reads, reads_per_second)

    def resources(self, servers: int) -> tuple[Resource, ...]:
        """Return what a read needs of each resource when so many nodes are warm."""
        hits = Hits(ratio=self.hit_ratio(servers))
        return resources(self.cluster(servers), self.question.read, hits, self.question.timings)

    def performance(self, servers: int) -> Performance:
        """Return what the workload gets from so many warm nodes."""
        hits = Hits(ratio=self.hit_ratio(servers))
        return performance(self.question, self.cluster(servers), hits, self.instance.vcpus)

    @cached_property
    def cold(self) -> ColdStart | None:
        """Return all nodes with empty caches under the workload; None without a cache."""
        return self.cold_start(self.count)

    def cold_start(self, servers: int) -> ColdStart | None:
        """Return so many nodes with empty caches under the workload; None without a cache."""
        if not self.cache_mib or self.disk is None:
            return None
        return cold_start(self.question, self.share_of(servers), self.cluster(servers), self.prefetch_threads)

    def warm_up_seconds(self, servers: int) -> float:
        """Until so many cold nodes have prefetched what fits, while they serve what they can; 0 without a cache."""
        cold = self.cold_start(servers)
        return cold.course.prefetch_seconds if cold else 0.0

    @property
    def offline(self) -> Offline:
        """Return how long rows are offline after the crash of one node, whose log and regions the others take over."""
        server, share = self.region_server, self.share_of(self.count)
        retains = self.question.mode.has_bucket_cache
        return offline(
            Crash(
                session_seconds=SESSION_TIMEOUT_MS / 1000,
                retention_seconds=server.restart.retention_window_seconds if retains else 0.0,
                unflushed_bytes=server.heap_needs.memstore_bytes if share.write_bytes_per_second else 0,
                regions_of_survivor=share.regions / max(FEWEST_SURVIVORS, self.count - 1),
                open_region_threads=server.open_region_threads,
                s3_trip_seconds=S3_TRIP_SECONDS,
            )
        )

    @property
    def prefetch_threads(self) -> int:
        """Return `hbase.hfile.thread.prefetch`."""
        return self.region_server.prefetch_threads

    def shortfalls(self) -> Sequence[Shortfall]:
        """Every target missed with the nodes that may be lost gone; empty when the candidate serves.

        The p99, which takes a simulation, is looked at where nothing else is missed, and the course of cold caches,
        which takes longer still, after it.
        """
        try:
            limit = bottleneck(self.resources(self.survivors))
        except NotEnoughMemory as error:
            return [
                Shortfall(
                    target="memory",
                    reason=str(error),
                    bottleneck=None,
                    actual=error.page_cache_bytes,
                    limit=error.least_bytes,
                    unit="B",
                )
            ]
        quick = [
            *self._hit_ratio_missed(),
            *self._load_missed(limit),
            *self._writes_missed(),
            *self._recovery_missed(),
            *self._offline_long(),
        ]
        late = quick or self._p99_missed(limit)
        return late or [*self._warm_up_missed(), *self._carried_late()]

    @property
    def hdfs_load(self) -> HdfsLoad | None:
        """Return HDFS with the data of HBase; None where the data is in S3."""
        volume = self.data_volume
        if self.question.mode.keeps_data_in_s3 or volume is None or self.disk is None:
            return None
        workload, copies = self.question.requirements.workload, self.question.mode.data_copies
        return HdfsLoad(
            nodes=self.count,
            copies=copies,
            node_bytes=workload.stored_bytes * copies / self.count,
            disk_bytes_per_second=self.disk.bytes_per_second,
            volumes=volume.count,
            regions=workload.regions,
        )

    def _recovery_missed(self) -> list[Shortfall]:
        load, limit = self.hdfs_load, LONGEST_RECOVERY_SECONDS
        if load is None or load.recovery_seconds <= limit:
            return []
        reason = (
            f"HDFS takes {format_duration(load.recovery_seconds)} to copy the {format_size(load.node_bytes)} of a lost"
            f" node again, and {format_duration(limit)} is the limit"
        )
        return [
            Shortfall(
                target="recovery", reason=reason, bottleneck=None, actual=load.recovery_seconds, limit=limit, unit="s"
            )
        ]

    def _hit_ratio_missed(self) -> list[Shortfall]:
        wanted, got = self.question.requirements.targets.hit_ratio, self.hit_ratio(self.survivors)
        if got >= wanted - ROUNDING or not self.question.mode.has_bucket_cache:
            return []
        caches = f"caches of {self.cache_mib / 1024:,.0f} GiB on {self.survivors} nodes"
        reason = f"{caches} answer {format_percent(got)} of block reads, the target is {format_percent(wanted)}"
        return [
            Shortfall(target="hit_ratio", reason=reason, bottleneck=None, actual=got, limit=wanted, unit="fraction")
        ]

    def _load_missed(self, limit: Resource) -> list[Shortfall]:
        offered, carried = self.question.offered_reads_per_second, UTILISATION * limit.max_reads_per_second
        if offered is None or offered <= carried:
            return []
        reason = (
            f"{limit.name} saturates at {limit.max_reads_per_second:,.0f} reads/s on {self.survivors} nodes; "
            f"{offered:,.0f} offered would use it to {offered / limit.max_reads_per_second:.0%}"
        )
        return [
            Shortfall(
                target="reads", reason=reason, bottleneck=limit.name, actual=carried, limit=offered, unit="reads/s"
            )
        ]

    def _writes_missed(self) -> list[Shortfall]:
        writes = self.writes(self.survivors)
        offered, carried = writes.offered_bytes_per_second, UTILISATION * writes.saturation_bytes_per_second
        if offered <= carried * (1 + ROUNDING):
            return []
        reason = (
            f"{writes.bottleneck} saturates at {format_rate(writes.saturation_bytes_per_second)} of writes on "
            f"{self.survivors} nodes beside the reads; {format_rate(offered)} are offered"
        )
        return [
            Shortfall(
                target="writes", reason=reason, bottleneck=writes.bottleneck, actual=carried, limit=offered, unit="B/s"
            )
        ]

    def _warm_up_missed(self) -> list[Shortfall]:
        wanted, cold = self.question.requirements.targets.warm_up_seconds, self.cold_start(self.survivors)
        got = cold.prefetch_seconds_against(wanted) if cold and wanted else 0.0
        if wanted is None or got <= wanted:
            return []
        reason = f"prefetch takes {format_duration(got)}, the target is {format_duration(wanted)}"
        return [Shortfall(target="warm_up", reason=reason, bottleneck=None, actual=got, limit=wanted, unit="s")]

    def _offline_long(self) -> list[Shortfall]:
        wanted = self.question.requirements.targets.offline_after_crash_seconds
        if wanted is None or (got := self.offline.seconds) <= wanted:
            return []
        reason = (
            f"after a crash, rows are offline for {format_duration(got)} (estimate), in which the master waits "
            f"{format_duration(self.offline.retention_seconds)} for the server; the target is {format_duration(wanted)}"
        )
        return [
            Shortfall(target="offline_after_crash", reason=reason, bottleneck=None, actual=got, limit=wanted, unit="s")
        ]

    def _carried_late(self) -> list[Shortfall]:
        wanted, cold = self.question.requirements.targets.carries_load_within_seconds, self.cold_start(self.survivors)
        got = cold.carried_seconds_against(wanted) if cold and wanted else 0.0
        if wanted is None or cold is None or got <= wanted:
            return []
        now = cold.served(0.0)
        reason = (
            f"with cold caches it serves {now.reads_per_second:,.0f} of {now.offered_per_second:,.0f} reads/s, and all "
            f"of them after {format_duration(got)} or more; the target is {format_duration(wanted)}"
        )
        return [
            Shortfall(
                target="carries_load_within",
                reason=reason,
                bottleneck=now.bottleneck,
                actual=got,
                limit=wanted,
                unit="s",
            )
        ]

    def _p99_missed(self, limit: Resource) -> list[Shortfall]:
        wanted = self.question.requirements.targets.p99_seconds
        if wanted is None:
            return []
        reads = self.performance(self.survivors)
        got = reads.p99_clearly_beyond(wanted) or reads.p99_seconds
        if got <= wanted:
            return []
        reason = f"p99 is {format_duration(got)} (estimate), the target is {format_duration(wanted)}"
        return [Shortfall(target="p99", reason=reason, bottleneck=limit.name, actual=got, limit=wanted, unit="s")]
