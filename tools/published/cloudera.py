"""Cloudera's benchmark as the calculator sees it: 20 TB on 20 workers, in HDFS and in S3 with a cache.

It compares HBase with a file cache over S3 with HBase on HDFS in size and cost, and computes how long snapshots of the
20 TB and the warming of caches take.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from tools.published.figure import SourceFigures, arithmetic_figure, model_figure
from warmbase.ground.block import key_value_bytes
from warmbase.ground.units import SECONDS_PER_HOUR, format_percent
from warmbase.sizing.cache.warm_up import PREFETCH_THREADS, Prefetch
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS, HDFS_REPLICATION, S3_CACHED, S3_PLAIN, Mode
from warmbase.sizing.plan import Plan
from warmbase.sizing.recovery.export import NETWORK_FRACTION, Copy, Eta, eta
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.search.disks import HDFS_FILL_FRACTION
from warmbase.sizing.server.region_server import ServerShare, fill_seconds
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.service.resource import GBIT_BYTES, S3_GETS_PER_SECOND_PER_PREFIX, Disk, ServingCluster
from warmbase.sizing.workload.workload import ENCODED_KEY_FRACTION, OpenLoad, Reads

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


TB: Final = 10**12
CACHE_TB: Final = 32
SIDECARS: Final = 10
ROWS_OF_SIDECAR: Final = 2 * 10**9
LOAD_HOURS: Final = 52
# YCSB's default record: ten fields of 100 bytes; its keys are `user` and up to 19 digits, its fields `field0` …
FIELDS: Final = 10
CELL_BYTES: Final = key_value_bytes(value_bytes=FIELD_BYTES, row_key_bytes=23, family_bytes=2, qualifier_bytes=6)
COST: Final = "highlights"
GB: Final = 10**9
SNAPSHOT: Final = "important findings, snapshot time"
WARMING_BYTES_PER_SECOND: Final = 2.62e9
LARGE_CACHE_BYTES: Final = 1_500 * GB


def results(cod: Cod) -> SourceFigures:
    """All of this source's figures that can be computed."""
    rate = ROWS / (LOAD_HOURS * SECONDS_PER_HOUR)
    diffed = FIELD_BYTES + (CELL_BYTES - FIELD_BYTES) * ENCODED_KEY_FRACTION["FAST_DIFF"]
    demand = cod.question.demand
    needed = demand.everything_bytes / TB
    out, into = copied(into_hdfs=False), copied(into_hdfs=True)
    worker = WARMING_BYTES_PER_SECOND / WORKERS
    gets = WARMING_BYTES_PER_SECOND / demand.blocks.on_disk_bytes
    filled, longer = cod.warm_up(STORED_BYTES / WORKERS), cod.warm_up(LARGE_CACHE_BYTES)
    how = f"{PREFETCH_THREADS} prefetch threads a worker, 64 MiB a GET; limit: {filled.limit}"
    cached, plain = _over_hdfs(cod, S3_CACHED, PRODUCTION_READS), _over_hdfs(cod, S3_PLAIN, RECOVERY_READS)
    figures = (
        arithmetic_figure(
            what="rows loaded",
            place="test methodology",
            published="20",
            ours=SIDECARS * ROWS_OF_SIDECAR / 10**9,
            unit="billion",
            how="10 sidecar workers x 2 billion",
            remark=f"In {LOAD_HOURS} h: {rate:,.0f} rows/s, {rate / SIDECARS:,.0f} for each sidecar worker, "
            f"{rate / WORKERS * STORED_BYTES / ROWS / 10**6:.1f} MB/s for each of the {WORKERS} workers.",
        ),
        model_figure(
            what="size of the data",
            place="test methodology",
            published="~20",
            ours=ROWS * FIELDS * CELL_BYTES / TB,
            unit="TB",
            how=f"20 billion YCSB default records: ten cells of 100 B, {CELL_BYTES} B each with their keys",
            remark="20 TB are the values alone. With keys so little is stored only under an encoding: FAST_DIFF leaves "
            f"about {ROWS * FIELDS * diffed / TB:.1f} TB. The source states neither record nor encoding.",
        ),
        arithmetic_figure(
            what="cache of one worker",
            place="test environment",
            published="1.6",
            ours=CACHE_TB / WORKERS,
            unit="TB",
            how="32 TB / 20 workers",
        ),
        model_figure(
            what="cache for 20 TB",
            place="test environment",
            published=f"{CACHE_TB}",
            ours=needed,
            unit="TB",
            how="every block of 64 KiB in its slot, 95 % of the slots filled",
            remark=f"The published cache holds everything, and {format_percent(CACHE_TB / needed - 1)} more: it says "
            "nothing about a cache that must choose.",
        ),
        model_figure(
            what="HDFS storage for each byte",
            place=COST,
            published="3",
            ours=HDFS_REPLICATION / HDFS_FILL_FRACTION,
            unit="times",
            how=f"three replicas on volumes filled to {format_percent(HDFS_FILL_FRACTION)}",
            remark="Three copies alone fill the disks to the last byte; compaction and lost nodes need room.",
        ),
        model_figure(
            what="snapshot, cluster to cloud",
            place=SNAPSHOT,
            published="~70",
            ours=out.seconds / 60,
            unit="min",
            how=f"20 TB over {format_percent(NETWORK_FRACTION)} of 20 x 2.5 Gbit/s; limit: {out.limit}",
            remark=f"Stated: {STORED_BYTES / (70 * 60) / GB:.2f} GB/s; ours: {out.bytes_per_second / GB:.2f} GB/s. It "
            "rests on the network that the workers sustain (they burst to four times that) and on a judgement, that a "
            "quarter of it is left to the RegionServers. Without that it would be "
            f"{out.seconds * NETWORK_FRACTION / 60:.0f} min.",
        ),
        model_figure(
            what="snapshot, cloud to cluster",
            place=SNAPSHOT,
            published="~3",
            ours=into.seconds / SECONDS_PER_HOUR,
            unit="h",
            how="the same, each byte sent again for two more replicas",
            remark=f"Stated: {STORED_BYTES / (3 * SECONDS_PER_HOUR) / GB:.2f} GB/s; ours: "
            f"{into.bytes_per_second / GB:.2f} GB/s.",
        ),
        model_figure(
            what="snapshot, cluster to cluster",
            place=SNAPSHOT,
            published="~70",
            ours=into.seconds / 60,
            unit="min",
            how="into another HDFS with three replicas",
            remark="Does not agree: what arrives in HDFS is written three times, like that from the cloud, which took "
            f"3 h. With one replica it would be {out.seconds / 60:.0f} min.",
        ),
        arithmetic_figure(
            what="cache warming",
            place="key takeaways",
            published="~130",
            ours=STORED_BYTES / WARMING_BYTES_PER_SECOND / 60,
            unit="min",
            how="20 TB / 2.62 GB/s",
            remark=f"{worker / 10**6:.0f} MB/s a worker. Block by block that would be {gets:,.0f} GETs/s, "
            f"{gets / S3_GETS_PER_SECOND_PER_PREFIX:.0f} times what S3 documents for one prefix: requests were larger, "
            "or prefixes many.",
        ),
        arithmetic_figure(
            what="cache warming, 1.5 TB a worker",
            place="things to consider",
            published="3-5",
            ours=LARGE_CACHE_BYTES / worker / SECONDS_PER_HOUR,
            unit="h",
            how="1.5 TB / (2.62 GB/s / 20)",
        ),
        model_figure(
            what="cache warming by prefetch",
            place="key takeaways",
            published="~130",
            ours=filled.seconds / 60,
            unit="min",
            how=how,
            remark="HBase's default of four threads, at the low end of what one stream from S3 brings (a judgement).",
        ),
        model_figure(
            what="cache warming by prefetch, 1.5 TB a worker",
            place="things to consider",
            published="3-5",
            ours=longer.seconds / SECONDS_PER_HOUR,
            unit="h",
            how=how,
        ),
        model_figure(
            what="cost of S3 with cache over HDFS",
            place=f"{COST}, “40% reduction”",
            published="0.60",
            ours=(min(cached), max(cached)),
            unit="times",
            how=f"cheapest cluster of each mode for {PRODUCTION_READS[0]:,} to {PRODUCTION_READS[-1]:,} reads/s; "
            f"{cod.world.prices.region}, gp3 for HDD",
            remark="The load decides: HDFS is cheap where much data is read little, the cache where it is read a lot. "
            "The source gives its load and its bill in pictures only.",
        ),
        model_figure(
            what="cost of S3 without cache over HDFS",
            place=f"{COST}, “25% cost savings”",
            published="0.75",
            ours=(min(plain), max(plain)),
            unit="times",
            how=f"the same for {RECOVERY_READS[0]:,} to {RECOVERY_READS[-1]:,} reads/s",
            remark="The same nodes cost less without a cache than with one, so that 25 % saved here and 40 % there "
            "cannot be of as many nodes.",
        ),
        arithmetic_figure(
            what="performance of cached S3 over HDFS",
            place=COST,
            published="2",
            ours=1.7,
            unit="times",
            how="“a factor of 1.7x”, under key takeaways",
            remark="And about 1.8 for reads. All three are against HDDs.",
        ),
    )
    return SourceFigures(
        title="Cloudera Operational Database (COD) Performance Benchmarking: Comparing HDFS and Cloud Storage",
        publisher="Cloudera Blog",
        figures=figures,
    )


def _over_hdfs(cod: Cod, mode: Mode, reads: Sequence[int]) -> list[float]:
    """Return what that mode costs over what HDFS costs, at each load."""
    pairs = zip(cod.plans(mode, reads), cod.plans(HDFS, reads), strict=True)
    return [ours.cost.usd_per_month / theirs.cost.usd_per_month for ours, theirs in pairs]
