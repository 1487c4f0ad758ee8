"""The sizing plan: what to buy, how to set it, what it will do, what it costs, and why each figure is what it is.

Field names are the keys of `warmbase plan ENV --output json`. `bucket_cache`, `memory`, `heap` and `persistence`
are for one RegionServer, volumes are counted for one node, all else is for the cluster.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from warmbase.ground.prices import PriceNote
from warmbase.sizing.cache.bucket_cache import BucketCache
from warmbase.sizing.cost import Cost
from warmbase.sizing.explanation import Explanations, figure_at
from warmbase.sizing.modes import Mode
from warmbase.sizing.recovery.boost import Boost, ServerFill
from warmbase.sizing.requirements import Volume
from warmbase.sizing.server.memory import Heap, NodeMemory
from warmbase.sizing.server.region_server import CallQueues
from warmbase.sizing.server.restart import Persistence, Restart
from warmbase.sizing.server.system_volume import Hdfs
from warmbase.sizing.server.writes import Writes
from warmbase.sizing.service.resource import Resource
from warmbase.sizing.workload.popularity import Imbalance
from warmbase.sizing.workload.workload import Regions


class CoreGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The core nodes, each a RegionServer and a DataNode."""

    instance_type: str
    count: int
    volumes: tuple[Volume, ...]

    def volume(self, purpose: str) -> Volume:
        """The volume of that purpose; a plan has one of each."""
        return next(volume for volume in self.volumes if volume.purpose == purpose)


class PrimaryGroup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The primary nodes: HMaster, NameNode, ResourceManager, ZooKeeper."""

    instance_type: str
    count: int
    volumes: tuple[Volume, ...]


class HitRatio(Struct, frozen=True, kw_only=True):
    """Share of block reads that local disks answer once warm; `curve` and `knee_bytes` are cluster-wide.

    `curve` is (bytes of cache, hit ratio), from none to what holds everything.
    """

    predicted: float
    curve: tuple[tuple[int, float], ...]
    knee_bytes: int


class Throughput(Struct, frozen=True, kw_only=True):
    """The performance of the warm cluster with all its nodes at one load, and its bottleneck.

    `reads_per_second` is the part of the load that it serves: all of an open load below saturation, or the rate that
    the clients of a closed load get. Percentiles are estimates. Little's law holds:
    reads_per_second x mean_latency_ms / 1000 = concurrency.
    `saturation_reads_per_second` is the limit of the bottleneck, at which the busiest RegionServer, which serves
    `busiest_server` times the mean, has used it up; `utilisation_fraction` is the part of that limit in use.
    """

    reads_per_second: float
    offered_reads_per_second: float | None
    saturation_reads_per_second: float
    utilisation_fraction: float
    bottleneck: str
    concurrency: float
    mean_latency_ms: float
    p50_latency_ms: float
    p95_latency_ms: float
    p99_latency_ms: float
    busiest_server: Imbalance
    resources: tuple[Resource, ...]


class PlannedTable(Struct, frozen=True, kw_only=True):
    """One table in the warm cluster at the mean load: its share of the cache, and the performance of its reads.

    If `cached` is false, HBase does not cache the table, and its hit ratio is 0. `cached_bytes` counts the whole
    cluster. Latencies are estimates. `usd_per_month` is what the cheapest cluster without this table would save; None
    if that was not computed, or if no cluster without it meets the targets.
    """

    name: str
    stored_bytes: int
    regions: int
    reads_per_second: float
    cached: bool
    hit_ratio: float
    cached_bytes: float
    gets_per_second: float
    p50_latency_ms: float
    p99_latency_ms: float
    usd_per_month: float | None = None


class DailyPeak(Struct, frozen=True, kw_only=True):
    """The hours a day with the highest rate of reads, and the mean rate in the other hours."""

    hours: float
    quiet_reads_per_second: float


class WarmUp(Struct, frozen=True, kw_only=True):
    """The warm-up from cold caches while reads go on: the time of the prefetch, and the curve of (hours, hit ratio).

    `limit` is the slowest step of a prefetch without reads.
    """

    prefetch_seconds: float
    limit: str | None
    curve: tuple[tuple[float, float], ...]
    server: ServerFill | None = None
    """The fill of one server's cache without reads; None where no EBS volume has a cache."""
    boosts: tuple[Boost, ...] = ()
    """The ways in which a higher throughput of the cache volumes would shorten that fill."""


class S3Requests(Struct, frozen=True, kw_only=True):
    """GETs of the whole cluster for reads; the share of what S3 promises one prefix that the warm cluster uses."""

    gets_per_hour_cold: float
    gets_per_hour_warm: float
    prefix_limit_fraction: float


class Snapshot(Struct, frozen=True, kw_only=True):
    """Estimated time to copy a snapshot of everything out to another bucket, and back in.

    `yarn_mib` is the memory that YARN needs on each node to run all mappers at the same time.
    """

    export_seconds: float
    restore_seconds: float
    mappers: int
    yarn_mib: int


class Searched(Struct, frozen=True, kw_only=True):
    """Candidates with cost, hit ratio and bottleneck computed, and those that could not win and were left out."""

    evaluated: int
    pruned: int


class Rejected(Struct, frozen=True, kw_only=True):
    """A candidate that cannot serve: why, and which resource ends it (None where it is memory or disk)."""

    instance_type: str
    count: int
    reason: str
    bottleneck: str | None
    usd_per_month: float


class Alternative(Struct, frozen=True, kw_only=True):
    """The cheapest cluster for the same load with another block size or codec, and its saving.

    `setting` is the attribute of the column family that differs: BLOCKSIZE or COMPRESSION.
    """

    setting: str
    block_bytes: int
    codec: str
    compression_ratio: float
    instance_type: str
    count: int
    heap_mib: int
    restart_seconds: float
    usd_per_month: float
    saving_usd_per_month: float


class LostNode(Struct, frozen=True, kw_only=True):
    """One core node crashes and never returns under its name, as on EMR.

    `rows_fraction` of the rows is offline for `offline_seconds`: until ZooKeeper gives the server up (`detection`), its
    log is split, the master stops waiting for it (`retention`) and other servers have opened its regions. With
    `meta_probability`, the node had `hbase:meta`. Then its rows are offline for `offline_with_meta_seconds`, and
    clients cannot find a region that they have not looked up before. `hit_ratio`, `reads_per_second` and
    `p99_latency_ms` are those of the other nodes once their caches are warm again; at first, the hit ratio is
    `cold_hit_ratio`. `refill_seconds` is how long a new node takes to prefetch its share.
    """

    rows_fraction: float
    meta_probability: float
    detection_seconds: float
    split_seconds: float
    retention_seconds: float
    opening_seconds: float
    offline_seconds: float
    offline_with_meta_seconds: float
    hit_ratio: float
    cold_hit_ratio: float
    reads_per_second: float
    p99_latency_ms: float
    refill_seconds: float


class ReplacedNode(Struct, frozen=True, kw_only=True):
    """EMR replaces a core node whose instance is lost with an empty one; times are estimates, one after the other.

    The new node runs after `launch_seconds`. Another `regions_seconds` later, the rows of a lost node that had
    `hbase:meta` are online and the balancer has moved `regions` to the new node. After another `warm_seconds` it has
    prefetched its share beside the load; `seconds` is the sum. While its cache is empty, the cluster has `hit_ratio`
    and `p99_latency_ms`, and serves `reads_per_second`. Until the cache is warm, the node sends `gets` to S3 that it
    would not send with a warm cache.
    """

    launch_seconds: float
    regions_seconds: float
    warm_seconds: float
    seconds: float
    regions: float
    hit_ratio: float
    reads_per_second: float
    p99_latency_ms: float
    gets: float


class LoadSetting(Struct, frozen=True, kw_only=True):
    """A setting of a table while it is loaded.

    `usual` is HBase's default of an attribute, None for a key of the configuration. The way back restores the value
    that the table had.
    """

    key: str
    value: str
    usual: str | None
    reason: str


class ColdHours(Struct, frozen=True, kw_only=True):
    """All nodes with empty caches under the load, as after a launch or a change of the cache's size.

    `reads_per_second` and `gets_per_second` are the rates at the start, and `bottleneck` limits them. An open load is
    served in full after `carried_seconds`, from `least_hit_ratio` on; both are None if that never happens, and for a
    closed load. `course` has (hours, hit ratio, reads a second).
    """

    reads_per_second: float
    gets_per_second: float
    bottleneck: str
    least_hit_ratio: float | None
    carried_seconds: float | None
    course: tuple[tuple[float, float, float], ...]


class BadHours(Struct, frozen=True, kw_only=True):
    """The bad hours of a cluster; `cold` is None without a cache, the figures of a node are None for a single node.

    `initial_load_seconds` is a bound for loading all data by puts, by what the network and the log's volume carry.
    `initial_load_settings` are the settings of the tables meanwhile.
    """

    cold: ColdHours | None
    lost_node: LostNode | None
    replaced_node: ReplacedNode | None
    initial_load_seconds: float
    initial_load_settings: tuple[LoadSetting, ...]


class ScanExport(Struct, frozen=True, kw_only=True):
    """An export of all `blocks` of a table, or of all data if the workload has no tables: `table` is then empty.

    `cached_fraction` is the share of the blocks that are read from disks; the others come with about `gets`, which
    cost `gets_usd`. While the cluster serves `beside_reads_per_second`, it can export `blocks_per_second`: load and
    export then use the whole share of the resource `limit` that a plan may use, unless the limit is `regions`.
    `seconds` is the time of the whole export; None if the load leaves no capacity.
    """

    table: str
    blocks: int
    cached_fraction: float
    beside_reads_per_second: float
    blocks_per_second: float
    limit: str
    seconds: float | None
    gets: float
    gets_usd: float


MISSED_TARGET: Final = "target-"
"""The beginning of the id of each warning about a missed target."""


class Warning(Struct, frozen=True, kw_only=True):  # noqa: A001 - the plan's own word; nothing here raises Python's
    """Something to know before deploying; `severity` is error, warning or info."""

    id: str
    severity: str
    message: str
    fix: str


class Plan(Struct, frozen=True, kw_only=True):
    """One cluster as the calculator plans it.

    `feasible` is false if no cluster meets the targets; `nearest` then names the best attainable value of each target,
    and the figures are those of the first cluster. A pinned cluster is feasible, and `meets_targets` says whether it
    meets them.
    """

    environment: str
    cluster: str
    release: str
    prices_as_of: str
    prices: PriceNote
    mode: Mode
    root: str
    feasible: bool
    meets_targets: bool
    nearest: tuple[str, ...]
    core: CoreGroup
    primary: PrimaryGroup
    regions: Regions
    memory: NodeMemory
    yarn_mib: int
    hdfs_replication: int
    hdfs: Hdfs | None
    """The settings of HDFS where it stores the data; None where the data is in S3."""
    region_servers_to_start: int
    heap: Heap
    handlers: int
    call_queues: CallQueues
    prefetch_threads: int
    open_region_threads: int
    s3_connections: int
    bucket_cache: BucketCache | None
    persistence: Persistence
    hit_ratio: HitRatio
    throughput: Throughput
    """The performance at the mean load, from which the bill follows."""
    peak: Throughput | None
    """The performance in the peak hour, for which the cluster is sized; None where no peak is stated."""
    daily_peak: DailyPeak | None
    """How long the peak lasts every day; None where this is not stated."""
    tables: tuple[PlannedTable, ...]
    """The tables of the environment file; empty if it describes one workload."""
    writes: Writes
    warm_up: WarmUp
    bad_hours: BadHours
    restart: Restart
    s3: S3Requests
    snapshot: Snapshot
    scan_exports: tuple[ScanExport, ...]
    """The export of each table, or of all data, by a scan that fills no cache; none for a closed load."""
    cost: Cost
    because: Explanations
    warnings: tuple[Warning, ...]
    rejected: tuple[Rejected, ...]
    searched: Searched
    alternatives: tuple[Alternative, ...] = ()
    """Other block sizes and codecs that save money, the cheapest first; empty where none were tried."""

    def figure(self, path: str) -> object:
        """Return the figure at a path such as `heap.xmx_mib`, or `core.volumes.cache.size_gib` for one purpose.

        Raises LookupError where the plan has none.
        """
        return figure_at(self, path)

    @property
    def busiest_hour(self) -> Throughput:
        """Return the performance in the peak hour, or at the mean load where no peak is stated."""
        return self.peak or self.throughput

    @property
    def cache(self) -> BucketCache:
        """The BucketCache of a plan that has one. Raises ValueError in a mode without."""
        if self.bucket_cache is None:
            raise ValueError(f"mode {self.mode} has no BucketCache")
        return self.bucket_cache
