"""The cheapest workers that meet the targets, over every instance type, count, cache size and volume speed.

The cache holds at least what the target hit ratio needs. A larger one is tried too, because it can replace faster
volumes or further workers. For a type, a count and a cache, the least throughput and IOPS of its volumes follow from
the longest time that a query may take alone. A count is left out only if its instances alone cost more than a cluster
that serves, or if it cannot serve even with the fastest disks and every page in the cache. The search is therefore
exhaustive over what it tries.

`TrinoSituation` also says what any other workers cost and miss, for inputs that are ranges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.trino.cached_scan import CachedScan, demand
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.workers import (
    BUDGET,
    ROUNDING,
    Evaluated,
    Shortfall,
    Workers,
    cached_pages,
    most_seconds_alone,
    shortfalls,
)
from warmbase.ground.instance import InstanceType
from warmbase.ground.prices import PriceTable
from warmbase.ground.units import GIB, HOURS_PER_MONTH, MIB
from warmbase.ground.values import memoized
from warmbase.sizing import gp3
from warmbase.sizing.cost import Bill, BilledGroup, Cost, bill_usd, cost, nodes_usd
from warmbase.sizing.gp3 import nvme_volume
from warmbase.sizing.ranges.regret import ClusterOption, Outcome
from warmbase.sizing.requirements import Volume, World
from warmbase.sizing.search.disks import FILL_FRACTION
from warmbase.sizing.search.evaluation import COMPOSITE_AS_ALARMS, PRIMARY_VOLUMES
from warmbase.sizing.server.system_volume import distinct_size

CacheKind = Literal["gp3", "drive", "none"]
"""The disk of a cache: EBS volumes, the instance's own NVMe drive, or none because nothing is cached."""
COORDINATOR_TYPE: Final = "r8g.xlarge"
"""judgement: plans, splits and the results of a few dozen running queries fit 32 GiB."""
LEAST_RAM_BYTES: Final = 32 * GIB  # judgement: on a smaller worker, a join of two large tables spills at once
# judgement: a query that spills writes as much as the workers have memory; HDFS, YARN and logs take the rest.
SYSTEM_GIB: Final = 256
MOST_WORKERS: Final = 200  # judgement: beyond this, one coordinator schedules too many splits
MARGIN: Final = 1e-6  # relative: more than all roundings of a target together
CACHE_STEP: Final = 0.95  # judgement: the next smaller cache that is tried; with 0.85, some plans cost 6 % more
# What the stack creates around the nodes; a test holds these against the synthesised template.
WORKER_METRICS: Final = 10
ALARMS: Final = 1
ALARMS_OF_WORKERS: Final = 4  # each is charged for each worker that its query finds
COMPOSITE_ALARMS: Final = 3
DASHBOARDS: Final = 1
INTERFACE_ENDPOINTS: Final = 1  # for the Glue Data Catalog, beside those that HBase's clusters have
KMS_KEYS: Final = 1  # of the topic that alarms notify


class TrinoSearch(Struct, frozen=True, kw_only=True, dict=True):
    """The question: what one analytics cluster must serve, and what there is to buy."""

    choice: TrinoChoice
    world: World
    new_network: bool = True
    caches: tuple[CacheKind, ...] = ("gp3", "drive")
    """Where the cache may be."""

    @cached_property
    def scan(self) -> CachedScan:
        """Return the pages of the workload."""
        return CachedScan(workload=self.choice.workload)

    def run(self) -> tuple[Evaluated, ...]:
        """Return the best cluster of each instance type, the best of all first.

        Raises LookupError if no type that may be used exists.
        """
        clusters = self._best_of_types(is_nearest=False)
        if all(best.shortfalls for best in clusters):
            clusters = self._best_of_types(is_nearest=True)
        if not clusters:
            raise LookupError(f"no instance type of {', '.join(self.choice.workers.families)} can be a worker")
        return tuple(sorted(clusters, key=lambda best: best.rank))

    def _best_of_types(self, *, is_nearest: bool) -> tuple[Evaluated, ...]:
        """Return the best cluster of each instance type. Counts that cannot serve are tried only for the nearest."""
        clusters: list[Evaluated] = []
        most_usd = math.inf
        for instance in self.instances:
            best = self._best_of_type(instance, most_usd, is_nearest=is_nearest)
            if best is not None:
                clusters.append(best)
                most_usd = min(most_usd, math.inf if best.shortfalls else best.usd_per_month)
        return tuple(clusters)

    def _best_of_type(self, instance: InstanceType, most_usd: float, *, is_nearest: bool) -> Evaluated | None:
        """Return the best cluster whose instances cost no more; None if there is none.

        If no count can serve, only the largest is tried.
        """
        best, skipped = None, None
        for count in self._counts(instance):
            nodes_usd = self._nodes_usd(instance, count)
            if nodes_usd > most_usd or (best and best.serves and nodes_usd > best.usd_per_month):
                break
            if is_nearest or self._may_serve(instance, count):
                best = self._better(best, self._candidates(instance, count))
            else:
                skipped = count
        return best if best or skipped is None else self._better(None, self._candidates(instance, skipped))

    def _better(self, best: Evaluated | None, candidates: Iterable[Workers]) -> Evaluated | None:
        """Return the best of these clusters, or the one so far if none is better."""
        for workers in candidates:
            usd = self.usd_per_month(workers)
            if best and best.serves and best.usd_per_month <= usd:
                continue
            tried = self._evaluated(workers, usd)
            if best is None or tried.rank < best.rank:
                best = tried
        return best

    def _may_serve(self, instance: InstanceType, count: int) -> bool:
        """Return whether so many workers could serve if every read were cached on disks as fast as the type allows."""
        servers, workload = max(1, count - self.choice.targets.lost_nodes), self.choice.workload
        if self.choice.workers.volumes is not None:
            bytes_per_second = math.inf
        elif "none" in self.caches:
            bytes_per_second = instance.network_sustained_bytes_per_second
        else:
            # A cache uses the drive of an instance only if the instance has a single one.
            drive_bytes_per_second = nvme_volume(instance).bytes_per_second if instance.nvme_disks == 1 else 0.0
            bytes_per_second = max(instance.ebs_sustained_bytes_per_second, drive_bytes_per_second)
        alone = max(workload.cpu_seconds / instance.vcpus, workload.scanned_bytes / bytes_per_second) / servers
        return alone <= most_seconds_alone(self.choice, servers) * (1 + MARGIN)

    def workers(
        self, instance_type: str, count: int, volumes: tuple[Volume, ...], cache_mib: int | None = None
    ) -> Workers:
        """Return these workers, whose cache is as large as their volumes allow if no size is given."""
        cache = next(volume for volume in volumes if volume.purpose == "cache")
        room_gib = cache.count * math.floor(cache.size_gib * FILL_FRACTION)
        cache_gib = room_gib if cache_mib is None else cache_mib * MIB // GIB
        return self._workers(self.world.instance_types[instance_type], count, cache_gib, volumes)

    def evaluate(self, workers: Workers) -> Evaluated:
        """Return the cluster with the sum of its bill and the targets that it misses."""
        return self._evaluated(workers, self.usd_per_month(workers))

    def _evaluated(self, workers: Workers, usd: float) -> Evaluated:
        missed = tuple(shortfalls(workers))
        budget = self.choice.targets.budget_usd_per_month
        if budget is not None and usd > budget:
            missed = (*missed, Shortfall(target=BUDGET, actual=usd, limit=budget, unit="USD a month"))
        return Evaluated(workers=workers, usd_per_month=usd, shortfalls=missed)

    def usd_per_month(self, workers: Workers) -> float:
        """Return the sum of the bill that `cost` returns."""
        return bill_usd(*self._billed(workers))

    def cost(self, workers: Workers) -> Cost:
        """Return the bill of the analytics cluster; what it shares with HBase is in the bill of HBase's cluster."""
        return cost(*self._billed(workers))

    def _billed(self, workers: Workers) -> tuple[tuple[BilledGroup, ...], Bill, PriceTable]:
        group = BilledGroup(
            role="worker", instance_type=workers.instance.name, count=workers.count, volumes=workers.volumes
        )
        gets_per_second = (
            workers.demand(workers.hit_ratio(workers.count)).gets * self.choice.workload.queries_per_second
        )
        return (group, self._coordinator), self._bill(workers.count, gets_per_second), self.world.prices

    @property
    def fixed_usd(self) -> float:
        """Return what the cluster costs a month without any worker: a part of every bill."""
        return bill_usd((self._coordinator,), self._bill(0, 0.0), self.world.prices)

    @property
    def _coordinator(self) -> BilledGroup:
        instance_type = self.choice.coordinator_type or COORDINATOR_TYPE
        return BilledGroup(role="coordinator", instance_type=instance_type, count=1, volumes=PRIMARY_VOLUMES)

    def _bill(self, workers: int, gets_per_second: float) -> Bill:
        return Bill(
            stored_bytes=0,
            written_bytes_per_second=0,
            gets_per_second=gets_per_second,
            custom_metrics=WORKER_METRICS * workers,
            dashboards=DASHBOARDS,
            alarms=ALARMS + ALARMS_OF_WORKERS * workers + COMPOSITE_AS_ALARMS * COMPOSITE_ALARMS,
            interface_endpoints=INTERFACE_ENDPOINTS if self.new_network else 0,
            kms_keys=KMS_KEYS,
        )

    @property
    def instances(self) -> Sequence[InstanceType]:
        """Return the types that may be workers."""
        workers = self.choice.workers
        if workers.type is not None:
            return [self.world.instance_types[workers.type]]
        return [
            instance
            for instance in self.world.offered
            if instance.family in workers.families and instance.memory_bytes >= LEAST_RAM_BYTES
        ]

    def _counts(self, instance: InstanceType) -> range:
        """Return the pinned count, or all counts whose cores are enough; only the largest if none of them is."""
        count = self.choice.workers.count
        if count is not None:
            return range(count, count + 1)
        seconds = most_seconds_alone(self.choice)
        cores = self.choice.workload.cpu_seconds / seconds if seconds > 0 else math.inf
        fewest = max(1, math.ceil(min(cores / instance.vcpus, MOST_WORKERS) - ROUNDING))
        return range(min(fewest + self.choice.targets.lost_nodes, MOST_WORKERS), MOST_WORKERS + 1)

    def _nodes_usd(self, instance: InstanceType, count: int) -> float:
        nodes = BilledGroup(role="worker", instance_type=instance.name, count=count, volumes=())
        return nodes_usd((nodes,), self.world.prices)

    def _candidates(self, instance: InstanceType, count: int) -> Iterator[Workers]:
        """Yield the clusters of this many workers: with the pinned volumes, the instance's drive, or gp3 volumes."""
        servers = max(1, count - self.choice.targets.lost_nodes)
        if (pinned := self.choice.workers.volumes) is not None:
            yield self.workers(instance.name, count, pinned, self.choice.workers.cache_mib)
            return
        system = gp3.gp3_volume("system", SYSTEM_GIB, (gp3.INCLUDED_MIB_S, gp3.INCLUDED_IOPS))
        if "none" in self.caches:
            yield self._workers(instance, count, 0, (system,))
        if instance.nvme_disks == 1 and "drive" in self.caches:
            drive = nvme_volume(instance)
            room_gib = math.floor(drive.size_gib * FILL_FRACTION)
            yield self._workers(instance, count, room_gib, (drive, system.beside(drive)))
        if "gp3" not in self.caches:
            return
        for cache_gib in sorted({_cache_gib(self.choice, pages, servers) for pages in self._capacities}):
            for volume in self._cache_volumes(self._workers(instance, count, cache_gib, (system,)), servers):
                whole_gib = volume.count * math.ceil(cache_gib / volume.count)
                yield self._workers(instance, count, whole_gib, (volume, system.beside(volume)))

    @cached_property
    def _capacities(self) -> tuple[float, ...]:
        """Return the distinct pages that the target hit ratio needs, and larger steps up to the whole working set.

        The steps are the same for every target, so a lower target has every choice that a higher one has.
        """
        everything = self.scan.popularity.total_blocks
        least = self.scan.pages_for(self.choice.targets.hit_ratio)
        steps = itertools.takewhile(
            lambda pages: pages > least, (everything * CACHE_STEP**step for step in itertools.count())
        )
        return (least, *steps)

    def _cache_volumes(self, workers: Workers, servers: int) -> Iterator[Volume]:
        """Yield the fewest volumes that hold the cache of these workers, and the fewest that also carry the load.

        Alluxio spreads pages over its directories by a hash, so all volumes share the load. Their rates are the least
        that keep a query within its time on `servers`, and serve the load just after a loss, or the most on sale.
        """
        choice, most = self.choice, gp3.Provisions.of(workers.instance)
        warm, after = (
            demand(self.scan, ratio, "ebs") for ratio in (workers.hit_ratio(servers), workers.ratio_after_loss)
        )
        seconds = max(most_seconds_alone(choice, servers, warm.gets), ROUNDING)
        seconds_after = 1 / choice.workload.peak_queries_per_second / (1 + MARGIN)
        mib_s = max(warm.disk_bytes / seconds, after.disk_bytes / seconds_after) / servers / MIB
        ios = max(warm.disk_ios / seconds, after.disk_ios / seconds_after) / servers
        holding = math.ceil(workers.cache_gib / math.floor(gp3.EMR_DOCUMENTED_GIB * FILL_FRACTION))
        carrying = max(holding, math.ceil(mib_s / most.mib_s), math.ceil(ios / most.iops))
        for count in {min(number, gp3.EMR_MOST_VOLUMES) for number in (holding, carrying)}:
            throughput, iops = most.sufficient(np.array(mib_s / count), np.array(ios / count))
            share_gib = math.ceil(workers.cache_gib / count)
            size_gib = max(math.ceil(share_gib / FILL_FRACTION), int(gp3.least_gib(float(iops))))
            if size_gib <= gp3.EMR_DOCUMENTED_GIB:
                yield gp3.gp3_volume("cache", distinct_size(size_gib), (int(throughput), int(iops)), count)

    def _workers(self, instance: InstanceType, count: int, cache_gib: int, volumes: tuple[Volume, ...]) -> Workers:
        return Workers(
            choice=self.choice,
            scan=self.scan,
            instance=instance,
            count=count,
            cache_gib=cache_gib,
            volumes=volumes,
        )


def _cache_gib(choice: TrinoChoice, pages: float, servers: int) -> int:
    """Return the size of each worker's cache in whole GiB, with which `servers` workers hold these distinct pages."""
    return max(1, math.ceil(pages / cached_pages(choice, 1, servers)))


class TrinoSituation(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The queries that an analytics cluster must serve within its targets, and what there is to buy."""

    environment: str
    search: TrinoSearch

    @property
    def count_is_fixed(self) -> bool:
        """Return whether the file states the number of workers."""
        return self.search.choice.workers.count is not None

    @property
    def most_nodes(self) -> int:
        """Return the most workers that the cluster may grow to, even if the file states their number."""
        return MOST_WORKERS

    @property
    def prices(self) -> PriceTable:
        """Return the prices of nodes and volumes."""
        return self.search.world.prices

    @property
    def fixed_usd(self) -> float:
        """Return what any bill contains besides the workers, in USD a month."""
        return self.search.fixed_usd

    @cached_property
    def cheapest(self) -> tuple[ClusterOption, float] | None:
        """Return the cheapest workers that meet the targets, and their bill in USD a month; None if none do."""
        best = self.search.run()[0]
        if best.shortfalls:
            return None
        workers = best.workers
        option = ClusterOption(instance_type=workers.instance.name, count=workers.count, volumes=workers.volumes)
        return option, best.usd_per_month

    def target(self, field: str) -> float | None:
        """Return the value of a target; None if none is stated."""
        value: float | None = getattr(self.search.choice.targets, field)
        return value

    def with_target(self, field: str, value: float) -> TrinoSituation:
        """Return the same situation with another value of a target and without a budget."""
        choice = self.search.choice
        targets = replace(choice.targets, budget_usd_per_month=None, **{field: value})
        return self.with_choice(replace(choice, targets=targets))

    def after(self, months: int, rate: float) -> TrinoSituation:
        """Return the situation after this many months, in which the working set and the queries grow.

        What a query scans stays the same, and the budget is ignored.
        """
        choice, factor = self.search.choice, (1 + rate) ** months
        workload = replace(
            choice.workload,
            working_set_bytes=round(choice.workload.working_set_bytes * factor),
            queries_per_second=choice.workload.queries_per_second * factor,
            peak_queries_per_second=choice.workload.peak_queries_per_second * factor,
        )
        targets = replace(choice.targets, budget_usd_per_month=None)
        return self.with_choice(replace(choice, workload=workload, targets=targets))

    def with_choice(self, choice: TrinoChoice) -> TrinoSituation:
        """Return another situation in the same world."""
        return replace(self, search=replace(self.search, choice=choice))

    @memoized
    def outcome(self, option: ClusterOption) -> Outcome:
        """Return the bill of an option and the targets that it misses; its cache is as large as its volumes allow."""
        evaluated = self.search.evaluate(self.search.workers(option.instance_type, option.count, option.volumes))
        price = self.search.world.prices.compute[option.instance_type]
        return Outcome(
            usd_per_month=evaluated.usd_per_month,
            node_usd_per_month=price.usd_per_hour * HOURS_PER_MONTH,
            missed=tuple(shortfall.target for shortfall in evaluated.shortfalls),
        )
