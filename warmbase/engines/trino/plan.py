"""The plan of an analytics cluster: what to buy, what its queries will take, what it costs, and why.

Field names are the keys of `warmbase plan ENV --cluster NAME --output json`. `cache`, `memory` and volumes are for one
worker, all else is for the cluster.

`Export` is how long it takes to copy HBase's data to files that Trino reads, and what that costs. Hive's
HBaseStorageHandler reads the store files of a snapshot in S3 and writes a Parquet or Iceberg table with one INSERT,
without a RegionServer. A cluster of its own does that, so that HBase's caches and CPUs are left alone. Source: Apache
Hive manual, HBaseIntegration (hive.hbase.snapshot.name); HBase reference guide, TableSnapshotInputFormat.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from warmbase.engines.trino.request import Catalog
from warmbase.engines.trino.workers import Shortfall, Workers
from warmbase.ground.prices import PriceNote, PriceTable
from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.cost import Cost
from warmbase.sizing.explanation import Explanations, figure_at
from warmbase.sizing.plan import (
    CoreGroup,
    HitRatio,
    PrimaryGroup,
    Warning,  # noqa: A004 - the plan's own word
)

HIT_RATE_MARGIN: Final = 0.10  # judgement: the plan's ratio is a mean over weeks, and the queries of an hour differ


class TrinoCache(Struct, frozen=True, kw_only=True):
    """The file-system cache of one worker, spread over `directories`.

    The cluster holds `pages` distinct pages of `page_bytes` each, of `working_set_pages` that are ever read.
    """

    size_gib: int
    directories: int
    preferred_hosts: int
    page_bytes: int
    pages: float
    working_set_pages: float
    amplification: float


class QueryResource(Struct, frozen=True, kw_only=True):
    """One resource of the cluster, and the queries an hour at which it is busy all the time; None if none need it."""

    name: str
    most_per_hour: float | None


class Queries(Struct, frozen=True, kw_only=True):
    """The mean time of a query, in seconds, under different conditions; None where the load is more than it serves.

    `cold_seconds` has empty caches and the mean load, `after_loss_seconds` the peak load and as many workers fewer as
    may be lost, with the pages of the lost ones missing at first. `most_per_hour` is the rate at which `bottleneck` is
    busy all the time. It is the busiest of the `resources` with warm caches.
    """

    per_hour: float
    peak_per_hour: float
    mean_seconds: float | None
    peak_mean_seconds: float | None
    cold_seconds: float | None
    after_loss_seconds: float | None
    most_per_hour: float
    bottleneck: str
    utilisation_at_peak: float
    resources: tuple[QueryResource, ...]


class Warmth(Struct, frozen=True, kw_only=True):
    """How many queries, and hours at the mean rate, until the caches are within a point of their warm hit ratio."""

    queries: float
    hours: float


class QueryMemory(Struct, frozen=True, kw_only=True):
    """The heap of one worker (estimate: EMR sets it), and what of it a query and the cache's metadata may take."""

    heap_bytes: int
    page_index_bytes: int
    query_bytes_per_worker: int
    query_bytes: int


class CacheComparison(Struct, frozen=True, kw_only=True):
    """The cheapest workers with one kind of cache; if none meet the targets, those that come nearest."""

    workers: CoreGroup
    cache_gib: int
    hit_ratio: float
    queries: Queries
    gets_per_second: float
    cost: Cost
    missed: tuple[Shortfall, ...]


class RejectedType(Struct, frozen=True, kw_only=True):
    """The best cluster of another instance type, and why it was not chosen."""

    instance_type: str
    count: int
    usd_per_month: float
    reason: str


class TrinoPlan(Struct, frozen=True, kw_only=True):
    """The plan. `missed` are the targets that it misses; a plan that misses none is feasible."""

    environment: str
    cluster: str
    engine: str
    release: str
    trino: int
    catalog: Catalog
    prices: PriceNote
    workers: CoreGroup
    coordinator: PrimaryGroup
    cache: TrinoCache
    hit_ratio: HitRatio
    queries: Queries
    warmth: Warmth
    memory: QueryMemory
    gets_per_second: float
    export: Export
    cost: Cost
    because: Explanations
    missed: tuple[Shortfall, ...]
    warnings: tuple[Warning, ...]
    rejected: tuple[RejectedType, ...]

    @property
    def primary(self) -> PrimaryGroup:
        """Return the coordinator by the name that every engine's plan has for this group."""
        return self.coordinator

    @property
    def core(self) -> CoreGroup:
        """Return the workers by the name that every engine's plan has for this group."""
        return self.workers

    @property
    def feasible(self) -> bool:
        """Return whether the cluster meets its targets."""
        return not self.missed

    @property
    def warm_cache_bytes(self) -> float:
        """Return the bytes of pages that one worker's cache has when warm."""
        copies = min(self.cache.preferred_hosts, self.workers.count)
        return self.cache.pages * self.cache.page_bytes * copies / self.workers.count

    @property
    def hit_rate(self) -> float:
        """Return the share of the bytes read that comes from the caches, as Trino counts: a miss reads whole pages."""
        ratio = self.hit_ratio.predicted
        return ratio / (ratio + (1 - ratio) * self.cache.amplification)

    @property
    def least_hit_rate(self) -> float:
        """Return the hit rate below which warm caches are worth an alarm."""
        return max(0.0, self.hit_rate - HIT_RATE_MARGIN)

    def figure(self, path: str) -> object:
        """Return the figure at a path such as `cache.size_gib`. Raises LookupError where the plan has none."""
        return figure_at(self, path)


# judgement: a core decodes the cells of store files and writes them as Parquet at this rate; nobody measured it here.
EXPORT_BYTES_PER_CORE_SECOND: Final = 20e6


class Export(Struct, frozen=True, kw_only=True):
    """A copy of HBase's data as Parquet, read from a snapshot by a cluster of as many nodes of the workers' type."""

    stored_bytes: int
    hours: float
    usd: float


def export(stored_bytes: int, workers: Workers, prices: PriceTable) -> Export:
    """Return the time and the price of the nodes that copy so many bytes of store files."""
    cores = workers.count * workers.instance.vcpus
    hours = stored_bytes / (cores * EXPORT_BYTES_PER_CORE_SECOND) / SECONDS_PER_HOUR
    usd = hours * workers.count * prices.compute[workers.instance.name].usd_per_hour
    return Export(stored_bytes=stored_bytes, hours=hours, usd=usd)
