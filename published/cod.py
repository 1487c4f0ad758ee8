"""Cloudera's benchmark as the calculator sees it: 20 TB on 20 workers, in HDFS and in S3 with a cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sizing.calculator import plan
from sizing.inputs import SizingInputs
from sizing.modes import HDFS_REPLICATION, S3_CACHED, Mode
from sizing.plan import Plan
from sizing.prefetching import fill_seconds
from sizing.region_server import ServerShare
from sizing.requirements import Requirements, World
from sizing.resource import GBIT_BYTES, Disk, ServingCluster
from sizing.snapshot import Copy, Eta, eta
from sizing.warm_up import PREFETCH_THREADS, Prefetch
from sizing.workload import OpenLoad, Reads

WORKERS: Final = 20
STORED_BYTES: Final = 20 * 10**12
ROWS: Final = 20 * 10**9
FIELD_BYTES: Final = 100  # YCSB's default; a record has ten
REGIONS: Final = 2_000  # 10 GB each
# EC2 DescribeInstanceTypes: m5.2xlarge (HDFS) and i3.2xlarge (S3) both have 8 cores and sustain 2.5 Gbit/s.
VCPUS: Final = 8
NETWORK_GBIT_PER_SECOND: Final = 2.5
DRIVE_BYTES: Final = 1_900 * 10**9  # of i3.2xlarge
NVME_TYPE: Final = "i4i.2xlarge"  # the nearest type to i3.2xlarge whose drive has a rate, taken for each byte of size
MAPPERS: Final = WORKERS * VCPUS  # judgement: one for each core; with fewer than 118 their streams would bind
HANDLERS: Final = 30  # HBase's default
# judgement: the source gives no throughput in its text. Reads a second from few to many, for production and for DR.
PRODUCTION_READS: Final = (2_000, 10_000, 50_000)
RECOVERY_READS: Final = (100, 1_000)


class Cod(Struct, frozen=True, kw_only=True, dict=True):
    """The source's data, and what there is to buy. `like` lends its region, release and targets."""

    like: Requirements
    world: World

    def requirements(self, mode: Mode, reads_per_second: float) -> Requirements:
        """Return the data in that mode, everything about the cluster left to the calculator."""
        workload = replace(
            self.like.workload,
            stored_bytes=STORED_BYTES,
            cell_bytes=FIELD_BYTES,
            row_bytes=STORED_BYTES // ROWS,
            regions=REGIONS,
            reads=Reads(load=OpenLoad(reads_per_second=reads_per_second)),
        )
        core = replace(self.like.cluster.core, type=None, count=None, volumes=None)
        cluster = replace(self.like.cluster, core=core, primary_type=None)
        return replace(self.like, mode=mode, workload=workload, cluster=cluster)

    @cached_property
    def question(self) -> SizingInputs:
        """Return the data with its blocks and bucket sizes."""
        return SizingInputs.new(self.requirements(S3_CACHED, PRODUCTION_READS[0]), self.world)

    @property
    def cluster(self) -> ServingCluster:
        """Return twenty i3.2xlarge as the queueing model sees them."""
        nvme = self.world.instance_types[NVME_TYPE]
        scale = DRIVE_BYTES / nvme.nvme_disk_bytes
        disk = Disk(
            kind="nvme",
            bytes_per_second=nvme.nvme_disk_bytes_per_second * scale,
            ios_per_second=nvme.nvme_disk_iops * scale,
        )
        return ServingCluster(
            servers=WORKERS,
            vcpus=VCPUS,
            network_gbit_per_second=NETWORK_GBIT_PER_SECOND,
            handlers=HANDLERS,
            disk=disk,
        )

    def warm_up(self, bytes_of_worker: float) -> Prefetch:
        """Return the prefetch of each worker's share, with HBase's default of threads."""
        blocks = round(bytes_of_worker / self.question.demand.blocks.lengths.mean_bytes)
        share = ServerShare(
            cache_bytes=0,
            cached_blocks=blocks,
            prefetched_blocks=blocks,
            index_and_bloom_bytes=0.0,
            regions=0.0,
            write_bytes_per_second=0.0,
        )
        return fill_seconds(self.question.demand, share, self.cluster, PREFETCH_THREADS)

    def plans(self, mode: Mode, reads: Sequence[float]) -> list[Plan]:
        """Return the cheapest cluster in that mode for each load."""
        return [plan(self.requirements(mode, read), self.world) for read in reads]


def copied(*, into_hdfs: bool) -> Eta:
    """Return all data copied by a snapshot, out of the cluster or into the HDFS of one."""
    return eta(
        Copy(
            copied_bytes=STORED_BYTES,
            servers=WORKERS,
            mappers=MAPPERS,
            network_bytes_per_second=NETWORK_GBIT_PER_SECOND * GBIT_BYTES,
            replicas=HDFS_REPLICATION if into_hdfs else 1,
        )
    )
