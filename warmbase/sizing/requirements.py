"""The calculator's inputs: what must be served, and what the world offers to serve it with.

`Targets` are the targets of the environment file. `CoreChoice` and `ClusterChoice` are what a person has decided about
one cluster; None is left to the calculator. `Pins` are figures of a RegionServer that somebody states with an override;
the calculator uses them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.instance import InstanceType
from warmbase.ground.prices import PriceTable
from warmbase.ground.release import Improvement, Release
from warmbase.ground.units import GIB, MIB
from warmbase.ground.values import memoized
from warmbase.sizing.modes import Mode
from warmbase.sizing.workload.workload import Reads, Workload


class Targets(Struct, frozen=True, kw_only=True):
    """The targets, which must hold after losing `lost_nodes` core nodes; None is no target.

    `warm_up_seconds` is how long a cold cluster may take until everything that fits is prefetched, and
    `carries_load_within_seconds` how long until it serves every read that is offered.
    `offline_after_crash_seconds` is how long the rows of one crashed node may be offline.
    """

    hit_ratio: float
    p99_seconds: float | None
    warm_up_seconds: float | None
    lost_nodes: int
    budget_usd_per_month: float | None
    carries_load_within_seconds: float | None = None
    offline_after_crash_seconds: float | None = None


class Volume(Struct, frozen=True, kw_only=True, cache_hash=True, forbid_unknown_fields=True):
    """One kind of data volume on every node of a group. EBS sells whole GiB and whole MiB/s.

    `purpose` is `cache` (BucketCache file and its index), `data` (HDFS that holds the data) or `system` (the
    write-ahead log, YARN, logs); `type` is gp3, or nvme for a drive of the instance; `count` is per node.
    """

    purpose: str
    type: str
    count: int
    size_gib: int
    iops: int
    throughput_mib_s: int

    @property
    def size_bytes(self) -> int:
        """Size of one such volume."""
        return self.size_gib * GIB

    @property
    def bytes_per_second(self) -> int:
        """Return what one such volume is provisioned to carry."""
        return self.throughput_mib_s * MIB

    def beside(self, other: Volume) -> Volume:
        """Return the volume, 1 GiB larger if the other has its size: a node identifies its disks by size."""
        return replace(self, size_gib=self.size_gib + 1) if self.size_gib == other.size_gib else self


class Layout(Struct, frozen=True, kw_only=True):
    """The volumes of a core node, and the cache on them (0 where there is none)."""

    cache_mib: int
    volumes: tuple[Volume, ...]

    def volume(self, purpose: str) -> Volume:
        """The volume of that purpose; a layout has one of each."""
        return next(volume for volume in self.volumes if volume.purpose == purpose)


class CoreChoice(Struct, frozen=True, kw_only=True):
    """Core nodes: the RegionServers. `families` limits what an unpinned type may be.

    `cache_mib` is the cache that nodes with these volumes already have; None where it is still to be sized.
    """

    type: str | None
    count: int | None
    volumes: tuple[Volume, ...] | None
    families: tuple[str, ...]
    cache_mib: int | None = None

    @property
    def pinned(self) -> bool:
        """Return whether nothing is left to choose, so that the cluster is evaluated instead of searched."""
        return None not in (self.type, self.count, self.volumes)


class ClusterChoice(Struct, frozen=True, kw_only=True):
    """One named cluster of an environment. `role` is active or replica."""

    name: str
    role: str
    primaries: int
    primary_type: str | None
    core: CoreChoice
    reads: Reads | None = None
    """The load of this cluster alone; None where it serves that of the environment."""
    targets: Targets | None = None
    """The targets of this cluster alone; None where those of the environment hold."""


class Pins(Struct, frozen=True, kw_only=True):
    """The pinned figures, by their names in the plan; the calculator chooses each figure that is None."""

    handlers: int | None = None
    read_fraction: float | None = None
    """The figure `call_queues.read_fraction` of the plan."""
    prefetch_threads: int | None = None
    open_region_threads: int | None = None
    s3_connections: int | None = None
    split_bytes: int | None = None
    """The figure `regions.split_bytes` of the plan."""
    retain_retries: int | None = None
    """The figure `restart.retain_retries` of the plan."""
    namenode_handlers: int | None = None
    """The figure `hdfs.namenode_handlers` of a plan for mode hdfs."""
    datanode_handlers: int | None = None
    """The figure `hdfs.datanode_handlers` of a plan for mode hdfs."""
    transfer_threads: int | None = None
    """The figure `hdfs.transfer_threads` of a plan for mode hdfs."""
    flushers: int | None = None
    """This figure and those below are in `writes.settings` of the plan."""
    small_compactions: int | None = None
    large_compactions: int | None = None
    compaction_lower_bytes: int | None = None
    compaction_higher_bytes: int | None = None
    night_bytes: int | None = None
    day_limit_bytes: int | None = None
    min_size_bytes: int | None = None
    blocking_store_files: int | None = None


NO_PINS: Final = Pins()

PINNED_BY: Final[Mapping[str, str]] = {
    "handlers": "hbase-site.hbase.regionserver.handler.count",
    "read_fraction": "hbase-site.hbase.ipc.server.callqueue.read.ratio",
    "prefetch_threads": "hbase-site.hbase.hfile.thread.prefetch",
    "open_region_threads": "hbase-site.hbase.regionserver.executor.openregion.threads",
    "s3_connections": "hbase-site.fs.s3a.connection.maximum",
    "split_bytes": "hbase-site.hbase.hregion.max.filesize",
    "retain_retries": "hbase-site.hbase.master.scp.retain.assignment.force.retries",
    "namenode_handlers": "hdfs-site.dfs.namenode.handler.count",
    "datanode_handlers": "hdfs-site.dfs.datanode.handler.count",
    "transfer_threads": "hdfs-site.dfs.datanode.max.transfer.threads",
    "flushers": "hbase-site.hbase.hstore.flusher.count",
    "small_compactions": "hbase-site.hbase.regionserver.thread.compaction.small",
    "large_compactions": "hbase-site.hbase.regionserver.thread.compaction.large",
    "compaction_lower_bytes": "hbase-site.hbase.hstore.compaction.throughput.lower.bound",
    "compaction_higher_bytes": "hbase-site.hbase.hstore.compaction.throughput.higher.bound",
    "night_bytes": "hbase-site.hbase.hstore.compaction.throughput.offpeak",
    "day_limit_bytes": "hbase-site.hbase.hstore.compaction.max.size",
    "min_size_bytes": "hbase-site.hbase.hstore.compaction.min.size",
    "blocking_store_files": "hbase-site.hbase.hstore.blockingStoreFiles",
}
"""The property whose override pins the figure, with its classification."""


class Requirements(Struct, frozen=True, kw_only=True):
    """One cluster of one environment, as asked for. `root` is `hbase.rootdir`."""

    environment: str
    root: str
    mode: Mode
    workload: Workload
    targets: Targets
    cluster: ClusterChoice
    new_network: bool = True
    """True where warmbase creates the interface endpoints of the network, which cost money."""
    wal_service: bool = False
    """True if the EMR WAL service keeps the write-ahead log, instead of the cluster's own HDFS."""
    encrypts_hdfs: bool = False
    """True if HDFS encrypts what it transfers, as EMR makes it do with local-disk encryption."""
    pins: Pins = NO_PINS
    snapshot_mappers: int | None = None
    """Mappers that copy a snapshot at the same time; None for one on each core node."""


class World(Struct, frozen=True, kw_only=True, dict=True):
    """The instance types and prices there are, and the release that will run on them.

    `improvements` are those of newer releases. `today` is None if the result must not depend on the day.
    """

    instance_types: Mapping[str, InstanceType]
    prices: PriceTable
    release: Release
    improvements: tuple[Improvement, ...] = ()
    today: date | None = None

    @cached_property
    def offered(self) -> tuple[InstanceType, ...]:
        """Types that the release lists and that have a price."""
        return tuple(
            instance_type
            for name, instance_type in self.instance_types.items()
            if instance_type.offered_by(self.release.emr) and name in self.prices.compute
        )

    @memoized
    def offered_in(self, families: tuple[str, ...]) -> tuple[InstanceType, ...]:
        """Return the types of these families that are offered."""
        return tuple(one for one in self.offered if one.family in families)
