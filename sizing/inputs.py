"""The inputs that all candidates share: the requirements, the world, the blocks and the read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Final

from sizing.bucket_cache import CacheDemand
from sizing.imbalance import Imbalance
from sizing.modes import Mode
from sizing.page_reads import mean_block_read
from sizing.read import Read, Timings, block_cpu_seconds
from sizing.region_size import Regions
from sizing.requirements import Requirements, World
from sizing.skew import RegionLoads, imbalance
from sizing.stored_blocks import stored_blocks
from sizing.workload import OpenLoad, Workload

__all__ = ["LEAST_AMPLIFICATION", "UTILISATION", "SizingInputs"]

LEAST_AMPLIFICATION: Final = 2.0
"""judgement: a cell is written at least by its flush and by one compaction, even in a table of a few megabytes."""

UTILISATION: Final = 0.70
"""judgement: an M/M/1 queue at 70 % answers in 3.3 times its service time; above that latency runs away."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SizingInputs:
    """The requirements, with what every candidate shares. They are compared by identity, as a fast key of a cache."""

    requirements: Requirements
    world: World
    demand: CacheDemand

    @classmethod
    def new(cls, requirements: Requirements, world: World) -> SizingInputs:
        """Count the blocks of the workload, and choose the bucket sizes that suit them."""
        demand = CacheDemand.of(stored_blocks(requirements.workload), world.release)
        return cls(requirements=requirements, world=world, demand=demand)

    @property
    def mode(self) -> Mode:
        """Return the storage mode of the cluster."""
        return self.requirements.mode

    @property
    def regions(self) -> Regions:
        """Return the regions, with the size at which they split."""
        return Regions.of(self.requirements.workload, self.requirements.pins.split_bytes)

    @property
    def written_bytes_per_second(self) -> float:
        """Return the least that flushes and compactions write to all cache volumes, or to HDFS."""
        workload, blocks = self.requirements.workload, self.demand.blocks
        cells = workload.write_bytes_per_second / workload.cell_bytes
        stored_bytes = workload.key_value_bytes * blocks.on_disk_bytes / blocks.payload_bytes
        return cells * stored_bytes * LEAST_AMPLIFICATION * self.mode.data_copies

    @cached_property
    def read(self) -> Read:
        """One read of the workload. What comes from HDFS's own disks is as long as on disk."""
        blocks, workload = self.demand.blocks, self.requirements.workload
        of_s3 = self.mode.keeps_data_in_s3
        cached_bytes = blocks.cached_bytes if of_s3 else blocks.on_disk_bytes
        return Read(
            blocks=blocks.per_read,
            cached_length_bytes=round(cached_bytes),
            on_disk_length_bytes=round(blocks.on_disk_bytes),
            answer_bytes=workload.row_bytes * workload.reads.rows,
            runs=min(blocks.per_read, workload.reads.rows if workload.reads.kind == "multi-get" else 1),
            of_lengths=mean_block_read(blocks.lengths.pairs) if of_s3 else None,
        )

    @cached_property
    def timings(self) -> Timings:
        """CPU of a block of this workload; compressed blocks are decompressed on every read."""
        compressed = self.requirements.workload.compressed
        return Timings(block_cpu_seconds=block_cpu_seconds(self.demand.blocks.payload_bytes, compressed=compressed))

    @cached_property
    def imbalance(self) -> Callable[[int], Imbalance]:
        """Return a function of the number of RegionServers: how much more the busiest serves than the mean."""
        return cache(partial(imbalance, self.region_loads))

    @cached_property
    def region_loads(self) -> RegionLoads:
        """Return how reads spread over regions."""
        blocks, workload = self.demand.blocks, self.requirements.workload
        return RegionLoads(
            regions=workload.regions,
            spread=workload.spread,
            popularity=workload.popularity,
            rows=blocks.rows,
            row_bytes=(1 + blocks.count / blocks.rows) * blocks.cached_bytes,
        )

    @cached_property
    def at_peak(self) -> SizingInputs:
        """Return the same question for the peak hour, which decides capacity; money follows from the mean load."""
        workload = self.requirements.workload
        if not isinstance(workload.load, OpenLoad) or workload.load.at_peak is workload.load:
            return self
        return self._with_workload(replace(workload, reads=replace(workload.reads, load=workload.load.at_peak)))

    @cached_property
    def without_writes(self) -> SizingInputs:
        """Return the same question for reads alone."""
        return self._with_workload(replace(self.requirements.workload, write_bytes_per_second=0))

    def _with_workload(self, workload: Workload) -> SizingInputs:
        return replace(self, requirements=replace(self.requirements, workload=workload))

    @property
    def offered_reads_per_second(self) -> float | None:
        """Return the mean rate of an open load, or None for a closed one."""
        load = self.requirements.workload.load
        return load.reads_per_second if isinstance(load, OpenLoad) else None
