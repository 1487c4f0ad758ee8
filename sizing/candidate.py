"""One cluster that could be bought, and what it would do: evaluated the same whether searched or pinned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sizing.bucket_cache import CacheDemand
from sizing.cluster import Volume
from sizing.instance import InstanceType
from sizing.memory import NotEnoughMemory
from sizing.region_server import RegionServer, Share, region_server
from sizing.requirements import Requirements, World
from sizing.resource import (
    Cluster,
    Disk,
    EbsLimits,
    Hits,
    Read,
    Resource,
    Timings,
    block_cpu_seconds,
    bottleneck,
    ebs_disk,
    resources,
)
from sizing.workload import OpenLoad

__all__ = ["UTILISATION", "Candidate", "Question", "Shortfall"]

UTILISATION: Final = 0.70
"""judgement: an M/M/1 queue at 70 % answers in 3.3 times its service time; above that latency runs away."""
MB: Final = 10**6
GBIT_BYTES: Final = 125_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A target that a candidate misses. `bottleneck` is None where memory or disk size is short."""

    target: str
    reason: str
    bottleneck: str | None


@dataclass(frozen=True, kw_only=True)
class Question:
    """The requirements with what every candidate shares: the blocks, their cache, the read."""

    requirements: Requirements
    world: World
    demand: CacheDemand

    @cached_property
    def read(self) -> Read:
        """One read of the workload."""
        blocks = self.demand.blocks
        return Read(
            blocks=blocks.per_read,
            cached_length_bytes=round(blocks.lengths.mean_bytes),
            on_disk_length_bytes=round(blocks.on_disk_bytes),
            answer_bytes=self.requirements.workload.row_bytes,
        )

    @cached_property
    def timings(self) -> Timings:
        """CPU of a block of this workload."""
        return Timings(block_cpu_seconds=block_cpu_seconds(self.demand.blocks.on_disk_bytes, compressed=False))

    @property
    def offered_reads_per_second(self) -> float | None:
        """The open load, or None for a closed one."""
        load = self.requirements.workload.load
        return load.reads_per_second if isinstance(load, OpenLoad) else None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """`count` core nodes of a type with these volumes and this much cache on each."""

    question: Question
    instance: InstanceType
    count: int
    volumes: tuple[Volume, ...]
    cache_mib: int

    @property
    def survivors(self) -> int:
        """Nodes left when the nodes that may be lost are gone; the targets must hold with these."""
        return max(1, self.count - self.question.requirements.targets.lost_nodes)

    def hit_ratio(self, servers: int) -> float:
        """Of warm caches on so many nodes."""
        return self.question.demand.hit_ratio(self.cache_mib, servers)

    @cached_property
    def disk(self) -> Disk:
        """What the cache volume and the instance sustain together."""
        cache = next(volume for volume in self.volumes if volume.purpose == "cache")
        return ebs_disk(
            EbsLimits(
                volumes=cache.count,
                volume_mib_per_second=cache.throughput_mib_s,
                volume_iops=cache.iops,
                instance_mb_per_second=self.instance.ebs_sustained_bytes_per_second / MB,
                instance_iops=self.instance.ebs_sustained_iops,
            )
        )

    @cached_property
    def share(self) -> Share:
        """What each survivor carries when nodes are lost, which is what memory must hold."""
        question = self.question
        return Share.of(question.requirements.workload, question.demand, self.cache_mib, self.survivors)

    @cached_property
    def region_server(self) -> RegionServer:
        """Raises NotEnoughMemory where the instance is too small."""
        return region_server(
            self.instance,
            self.share,
            self.question.demand,
            self.disk.bytes_per_second,
            self.question.world.release,
        )

    def cluster(self, servers: int) -> Cluster:
        """So many of these nodes, as the queueing model sees them."""
        return Cluster(
            servers=servers,
            vcpus=self.instance.vcpus,
            network_gbit_per_second=self.instance.network_sustained_bytes_per_second / GBIT_BYTES,
            handlers=self.region_server.handlers,
            disk=self.disk,
        )

    def resources(self, servers: int) -> tuple[Resource, ...]:
        """What a read needs of each resource when so many nodes are warm."""
        hits = Hits(ratio=self.hit_ratio(servers))
        return resources(self.cluster(servers), self.question.read, hits, self.question.timings)

    def shortfalls(self) -> Sequence[Shortfall]:
        """Every target missed with the nodes that may be lost gone; empty when the candidate serves."""
        try:
            limit = bottleneck(self.resources(self.survivors))
        except NotEnoughMemory as error:
            return [Shortfall(target="memory", reason=str(error), bottleneck=None)]
        return [*self._hit_ratio_missed(), *self._load_missed(limit)]

    def _hit_ratio_missed(self) -> list[Shortfall]:
        wanted, got = self.question.requirements.targets.hit_ratio, self.hit_ratio(self.survivors)
        if got >= wanted:
            return []
        reason = f"caches of {self.cache_mib / 1024:,.0f} GiB on {self.survivors} nodes answer {got:.1%} of reads"
        return [Shortfall(target="hit_ratio", reason=f"{reason}, the target is {wanted:.1%}", bottleneck=None)]

    def _load_missed(self, limit: Resource) -> list[Shortfall]:
        offered = self.question.offered_reads_per_second
        if offered is None or offered <= UTILISATION * limit.max_reads_per_second:
            return []
        reason = (
            f"{limit.name} saturates at {limit.max_reads_per_second:,.0f} reads/s on {self.survivors} nodes; "
            f"{offered:,.0f} offered would use it to {offered / limit.max_reads_per_second:.0%}"
        )
        return [Shortfall(target="reads", reason=reason, bottleneck=limit.name)]
