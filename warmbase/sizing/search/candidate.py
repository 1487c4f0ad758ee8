"""One cluster that could be bought, and what it would do: evaluated the same whether searched or pinned.

A shortfall is a target that a candidate misses, with the value that it reaches and the value of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.instance import InstanceType
from warmbase.ground.units import format_duration, format_percent, format_rate, format_size
from warmbase.ground.values import memoized
from warmbase.sizing.cache.bucket_cache import useful_volumes
from warmbase.sizing.requirements import Layout, Volume
from warmbase.sizing.server.cold_start import ColdStart
from warmbase.sizing.server.memory import NotEnoughMemory
from warmbase.sizing.server.region_server import (
    S3_TRIP_SECONDS,
    RegionServer,
    ServerShare,
    cold_start,
    has_room,
    region_server,
)
from warmbase.sizing.server.restart import SESSION_TIMEOUT_MS, Crash, Offline, offline
from warmbase.sizing.server.system_volume import LONGEST_RECOVERY_SECONDS, HdfsLoad, with_disks, writing_server
from warmbase.sizing.server.writes import Writes, WritingServer, without_writes, write_load
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.performance import Performance, performance, reads_in_progress
from warmbase.sizing.service.resource import (
    GBIT_BYTES,
    Disk,
    Rates,
    Resource,
    ServingCluster,
    bottleneck,
    ebs_disk,
    resources,
)
from warmbase.sizing.workload.read import Hits

FEWEST_SURVIVORS: Final = 1  # a cluster that loses every node serves nothing, whatever its targets


class Candidate(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """`count` core nodes of a type with one layout of volumes and cache; compared by identity, as a key of caches.

    Hit ratios are estimated by straight lines between points of the curve while searching, and `exact` for a plan.
    """

    inputs: SizingInputs
    instance: InstanceType
    count: int
    layout: Layout
    exact: bool = False

    @cached_property
    def survivors(self) -> int:
        """Nodes left when the nodes that may be lost are gone; the targets must hold with these."""
        return max(FEWEST_SURVIVORS, self.count - self.inputs.requirements.targets.lost_nodes)

    @property
    def cache_mib(self) -> int:
        """Return the size of one RegionServer's BucketCache."""
        return self.layout.cache_mib

    @memoized
    def hit_ratio(self, servers: int) -> float:
        """Return the share of block reads that the disks of this many warm nodes answer."""
        if not self.inputs.mode.keeps_data_in_s3:
            return 1.0
        if not self.cache_mib:
            return 0.0
        if self.exact:
            return self.inputs.demand.hit_ratio(self.inputs.demand.useful_bytes(self.cache_mib, servers))
        return self.inputs.demand.estimated_hit_ratio(self.cache_mib, servers)

    @cached_property
    def data_volume(self) -> Volume | None:
        """The volume that reads are served from; None where nothing but S3 serves them."""
        return next((volume for volume in self.layout.volumes if volume.purpose in {"cache", "data"}), None)

    @memoized
    def disk(self, servers: int) -> Disk | None:
        """Return what that volume and the instance sustain together on each of this many warm nodes; None without one.

        Several cache volumes carry less than their sum.
        """
        volume = self.data_volume
        if volume is None:
            return None
        if volume.type == "nvme":
            return Disk(kind="nvme", bytes_per_second=volume.bytes_per_second, ios_per_second=volume.iops)
        useful: float = volume.count
        hit_ratio = 0.0
        if volume.purpose == "cache" and volume.count > 1:
            hit_ratio = self.hit_ratio(servers)
            first = self.first_file_hit_ratio(servers)
            useful = float(useful_volumes(np.array(hit_ratio), np.array(first), volume.count))
        return ebs_disk(
            Rates(bytes_per_second=volume.bytes_per_second, ios_per_second=volume.iops),
            Rates(
                bytes_per_second=float(self.instance.ebs_sustained_bytes_per_second),
                ios_per_second=self.instance.ebs_sustained_iops,
            ),
            volumes=useful,
            files=volume.count,
            warm_hit_ratio=hit_ratio,
        )

    def first_file_hit_ratio(self, servers: int) -> float:
        """Return the share of block reads that the first file of each warm node's cache answers."""
        demand = self.inputs.demand
        first_bytes = demand.useful_bytes(self.cache_mib, servers) / self.layout.volume("cache").count
        return demand.hit_ratio(first_bytes) if self.exact else float(demand.chord_hit_ratios(np.array(first_bytes)))

    def share_of(self, servers: int) -> ServerShare:
        """Return the share of the data and the load that each of this many nodes carries."""
        return ServerShare.of(self.inputs.demand, self.cache_mib, servers)

    @cached_property
    def share(self) -> ServerShare:
        """Return what each survivor carries when nodes are lost, which is what memory must hold.

        It works on as many reads at once as a warm or a cold cluster, whichever has more.
        """
        load, servers = self.inputs.at_peak.requirements.workload.load, self.survivors
        in_progress = reads_in_progress(load, servers, self.hardware_limits(servers, self.hit_ratio(servers)))
        if self.inputs.mode.keeps_data_in_s3:
            in_progress = max(in_progress, reads_in_progress(load, servers, self.hardware_limits(servers, 0.0)))
        return replace(self.share_of(servers), reads_in_progress=in_progress)

    @cached_property
    def region_server(self) -> RegionServer:
        """Raises NotEnoughMemory where the instance is too small."""
        disk = self.disk(self.survivors)
        return region_server(self.instance, self.share, self.inputs, disk.fill_bytes_per_second if disk else 0.0)

    @property
    def fits_memory(self) -> bool:
        """Return whether the instance has room for the heap and the cache's index."""
        return has_room(self.instance, self.share_of(self.survivors), self.inputs)

    @memoized
    def cluster(self, servers: int) -> ServingCluster:
        """Return this many nodes for the queueing model. Raises NotEnoughMemory."""
        return replace(self._hardware(servers), handlers=self.region_server.call_queues.read_handlers)

    @memoized
    def _hardware(self, servers: int) -> ServingCluster:
        """Return this many nodes with the resources that writes leave, and one handler each."""
        cluster = ServingCluster(
            servers=servers,
            vcpus=self.instance.vcpus,
            network_gbit_per_second=self.instance.network_sustained_bytes_per_second / GBIT_BYTES,
            disk=self.disk(servers),
            handlers=1,
            imbalance=self.inputs.at_peak.imbalance(servers),
        )
        written = self.inputs.requirements.workload.write_bytes_per_second
        return without_writes(cluster, self.writing_server, written) if written else cluster

    @cached_property
    def writing_server(self) -> WritingServer:
        """Return one RegionServer from the point of view of writes, with the memstore that the survivors need."""
        server = writing_server(self.inputs, self.instance, self.cache_mib, self.survivors)
        return with_disks(server, self.disk(self.survivors), self.layout)

    def writes(self, servers: int) -> Writes:
        """Return the writes that this many nodes carry beside the reads of the peak hour."""
        offered, reads = self.inputs.requirements.workload.write_bytes_per_second, self.resources(servers)
        reads_per_second = self.inputs.at_peak.offered_reads_per_second or 0.0
        return write_load(self.writing_server, servers, offered, reads, reads_per_second)

    @memoized
    def resources(self, servers: int) -> tuple[Resource, ...]:
        """Return what a read in the peak hour needs of each resource of this many warm nodes."""
        *others, one_handler = self.hardware_limits(servers, self.hits(self.inputs.at_peak, servers).ratio)
        return (*others, replace(one_handler, capacity=servers * self.cluster(servers).handlers))

    def resources_outside_peak(self, servers: int) -> tuple[Resource, ...]:
        """Return what a read needs of each resource of this many warm nodes in the hours outside the peak."""
        inputs = self.inputs.outside_peak
        hits = Hits(ratio=self.hits(inputs, servers).ratio)
        cluster = replace(self.cluster(servers), imbalance=inputs.imbalance(servers))
        return resources(cluster, inputs.read, hits, inputs.timings)

    @memoized
    def hardware_limits(self, servers: int, hit_ratio: float) -> tuple[Resource, ...]:
        """Return the resources of this many nodes at a hit ratio, with one handler on each node."""
        busiest_hour = self.inputs.at_peak
        return resources(self._hardware(servers), busiest_hour.read, Hits(ratio=hit_ratio), busiest_hour.timings)

    def performance(self, servers: int, *, at_peak: bool = False) -> Performance:
        """Return the performance of this many warm nodes at the mean load, or in the peak hour."""
        inputs = self.inputs.at_peak if at_peak else self.inputs
        return performance(inputs, self.cluster(servers), self.hits(inputs, servers), self.instance.vcpus)

    def hits(self, inputs: SizingInputs, servers: int) -> Hits:
        """Return the hits of this many warm nodes under the load of these inputs.

        In the peak hour, the cache holds what the mean load has read, whatever mixture of tables is read in that hour.
        """
        ratio = self.hit_ratio(servers)
        if inputs is self.inputs or not inputs.demand.blocks.tables:
            return Hits(ratio=ratio)
        tables, shares = self.inputs.table_hit_ratios(ratio), inputs.demand.blocks.read_shares
        hits = sum(share * hits for share, hits in zip(shares, tables, strict=True))
        return Hits(ratio=hits / inputs.read.cacheable if hits else 0.0, tables=tables)

    def from_disks(self, inputs: SizingInputs) -> float:
        """Return the share of all blocks that come from disks at the mean load or in the peak hour."""
        return inputs.read.cacheable * self.hits(inputs, self.count).ratio

    @cached_property
    def cold(self) -> ColdStart | None:
        """Return all nodes with empty caches under the workload; None without a cache."""
        return self.cold_start(self.count)

    def cold_start(self, servers: int, inputs: SizingInputs | None = None) -> ColdStart | None:
        """Return this many nodes with empty caches under the workload or other inputs; None without a cache."""
        if not self.cache_mib or self.data_volume is None:
            return None
        threads = self.region_server.prefetch_threads
        return cold_start(inputs or self.inputs, self.share_of(servers), self.cluster(servers), threads)

    @property
    def offline(self) -> Offline:
        """Return how long rows are offline after the crash of one node, whose log and regions the others take over."""
        server, share = self.region_server, self.share_of(self.count)
        retains = self.inputs.mode.has_bucket_cache
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
    def hdfs_load(self) -> HdfsLoad | None:
        """Return HDFS with the data of HBase; None where the data is in S3."""
        volume, disk = self.data_volume, self.disk(self.survivors)
        if self.inputs.mode.keeps_data_in_s3 or volume is None or disk is None:
            return None
        workload, copies = self.inputs.requirements.workload, self.inputs.mode.data_copies
        return HdfsLoad(
            nodes=self.count,
            copies=copies,
            node_bytes=workload.stored_bytes * copies / self.count,
            disk_bytes_per_second=disk.bytes_per_second,
            volumes=volume.count,
            regions=workload.regions,
        )


ROUNDING: Final = 1e-9  # of a ratio interpolated forwards and backwards
COLD_TARGETS: Final = frozenset({"warm_up", "carries_load_within"})
"""The targets that are checked on a cluster with empty caches."""


class Shortfall(Struct, frozen=True, kw_only=True):
    """A target that a candidate misses: `actual` is on the wrong side of `limit`, both in `unit`.

    `bottleneck` is None where memory or disk size is short.
    """

    target: str
    reason: str
    actual: float
    limit: float
    unit: str
    bottleneck: str | None = None


def shortfalls(candidate: Candidate, cold: AbstractSet[str] = COLD_TARGETS) -> Sequence[Shortfall]:
    """Return every target that the candidate misses after it has lost `lost_nodes` nodes; empty if it serves.

    The p99 takes a simulation, so it is computed only where nothing else is missed. The course of cold caches takes
    even longer and comes last: of the targets that it decides, only those in `cold` are checked.
    """
    inputs, survivors = candidate.inputs, candidate.survivors
    targets, peak = inputs.requirements.targets, inputs.at_peak
    try:
        limit = bottleneck(candidate.resources(survivors))
    except NotEnoughMemory as error:
        actual, least = error.page_cache_bytes, error.least_bytes
        return [Shortfall(target="memory", reason=str(error), actual=actual, limit=least, unit="B")]
    missed: list[Shortfall] = []
    if misses_hit_ratio(candidate):
        wanted, got = targets.hit_ratio, candidate.hit_ratio(survivors)
        caches = f"caches of {candidate.cache_mib / 1024:,.0f} GiB on {survivors} nodes"
        reason = f"{caches} answer {format_percent(got)} of block reads; the target is {format_percent(wanted)}"
        missed.append(Shortfall(target="hit_ratio", reason=reason, actual=got, limit=wanted, unit="fraction"))
    offered, saturation = peak.offered_reads_per_second, limit.max_reads_per_second
    if offered is not None and offered > (carried := UTILISATION * saturation):
        missed.append(
            Shortfall(
                target="reads",
                reason=f"{limit.name} saturates at {saturation:,.0f} reads/s on {survivors} nodes; {offered:,.0f}"
                f" reads/s would use {offered / saturation:.0%} of it, and the plan allows {UTILISATION:.0%}",
                actual=carried,
                limit=offered,
                unit="reads/s",
                bottleneck=limit.name,
            )
        )
    if written := inputs.requirements.workload.write_bytes_per_second:
        writes = candidate.writes(survivors)
        carried = UTILISATION * writes.saturation_bytes_per_second
        if written > carried * (1 + ROUNDING):
            missed.append(
                Shortfall(
                    target="writes",
                    reason=f"beside the reads, {writes.bottleneck} saturates at"
                    f" {format_rate(writes.saturation_bytes_per_second)} of writes on {survivors} nodes;"
                    f" {format_rate(written)} would use {written / writes.saturation_bytes_per_second:.0%} of it, and"
                    f" the plan allows {UTILISATION:.0%}",
                    actual=carried,
                    limit=written,
                    unit="B/s",
                    bottleneck=writes.bottleneck,
                )
            )
    if (hdfs := candidate.hdfs_load) is not None and hdfs.recovery_seconds > LONGEST_RECOVERY_SECONDS:
        missed.append(
            Shortfall(
                target="recovery",
                reason=f"HDFS takes {format_duration(hdfs.recovery_seconds)} to copy the"
                f" {format_size(hdfs.node_bytes)} of a lost node again; the limit is"
                f" {format_duration(LONGEST_RECOVERY_SECONDS)}",
                actual=hdfs.recovery_seconds,
                limit=LONGEST_RECOVERY_SECONDS,
                unit="s",
            )
        )
    wanted_seconds = targets.offline_after_crash_seconds
    if wanted_seconds is not None and (offline := candidate.offline).seconds > wanted_seconds:
        missed.append(
            Shortfall(
                target="offline_after_crash",
                reason=f"after a crash, rows are offline for {format_duration(offline.seconds)} (estimate), of which"
                f" the master waits {format_duration(offline.retention_seconds)} for the server to return; the target"
                f" is {format_duration(wanted_seconds)}",
                actual=offline.seconds,
                limit=wanted_seconds,
                unit="s",
            )
        )
    if missed:
        return missed
    wanted_seconds = targets.p99_seconds
    if wanted_seconds is not None:
        late_seconds = candidate.performance(survivors, at_peak=True).p99_beyond(wanted_seconds)
        if late_seconds is not None:
            return [
                Shortfall(
                    target="p99",
                    reason=f"p99 is {format_duration(late_seconds)} (estimate); the target is"
                    f" {format_duration(wanted_seconds)}",
                    actual=late_seconds,
                    limit=wanted_seconds,
                    unit="s",
                    bottleneck=limit.name,
                )
            ]
    wanted_seconds = targets.warm_up_seconds
    if wanted_seconds and "warm_up" in cold and (start := candidate.cold_start(survivors)):
        seconds = start.prefetch_seconds_against(wanted_seconds)
        if seconds > wanted_seconds:
            reason = f"prefetch takes {format_duration(seconds)}; the target is {format_duration(wanted_seconds)}"
            missed.append(Shortfall(target="warm_up", reason=reason, actual=seconds, limit=wanted_seconds, unit="s"))
    wanted_seconds = targets.carries_load_within_seconds
    if wanted_seconds and "carries_load_within" in cold and (start := candidate.cold_start(survivors)):
        seconds = start.carried_seconds_against(wanted_seconds)
        if seconds > wanted_seconds:
            now = start.served(0.0)
            missed.append(
                Shortfall(
                    target="carries_load_within",
                    reason=f"with cold caches, the cluster serves {now.reads_per_second:,.0f} of"
                    f" {now.offered_per_second:,.0f} reads/s at first, and all of them after"
                    f" {format_duration(seconds)} or more; the target is {format_duration(wanted_seconds)}",
                    actual=seconds,
                    limit=wanted_seconds,
                    unit="s",
                    bottleneck=now.bottleneck,
                )
            )
    return missed


def misses_hit_ratio(candidate: Candidate) -> bool:
    """Return whether the caches of the survivors answer too few block reads."""
    inputs = candidate.inputs
    wanted, got = inputs.requirements.targets.hit_ratio, candidate.hit_ratio(candidate.survivors)
    return inputs.mode.has_bucket_cache and got < wanted - ROUNDING
