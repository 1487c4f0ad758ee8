"""Advice that accompanies the plan, and the targets that a plan which misses its own could meet.

The advice is cheaper block sizes and codecs, the cost of each table, and the price of another cache size.

Each trial of another block size or codec is a search of its own, limited to clusters that are cheaper than the plan's,
so it ends early where none is. A longer search is cut short; what it has found is advice, too, although a cheaper
cluster may exist. The blocks of inspected store files are known, so nothing else is tried for them. Nothing else is
tried for several tables either, because each of them could have its own setting.

The cost of a table is the amount by which a cluster without it would be cheaper.

Where no cluster meets a target, `Relaxation` is its best attainable value, with its cluster and its price.
Each target is relaxed alone while the others stay as they are. With this value the inputs are feasible; with a value
that is stricter by a `STEP` they are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.prices import PriceTable
from warmbase.ground.units import KIB, MIB, format_duration, format_percent, format_usd
from warmbase.sizing import gp3
from warmbase.sizing.plan import Alternative, CoreGroup, Plan, PlannedTable
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.search.evaluation import Evaluation, SearchResult
from warmbase.sizing.search.search import MOST_NODES, Search, least_p99_seconds
from warmbase.sizing.server.memory import NotEnoughMemory
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.resource import bottleneck
from warmbase.sizing.workload.workload import OpenLoad, Workload, stored_blocks

BLOCK_SIZES: Final = tuple(kibibytes * KIB for kibibytes in (8, 16, 32, 64, 128))
WORTHWHILE_FRACTION: Final = 0.05  # judgement: less than 5 % of the bill is not worth a major compaction of every table
# judgement: the ratio is not known before a table is compressed; text and JSON shrink to half their size or less.
ASSUMED_RATIO: Final = 2.0
ASSUMED_CODEC: Final = "zstd"
CANDIDATES: Final = 900  # judgement: about 0.2 s; nine in ten searches end sooner, and others return their best so far


def alternatives(requirements: Requirements, world: World, sized: Plan) -> tuple[Alternative, ...]:
    """Return the settings that save at least 5 % of the bill, the cheapest first; none for a pinned cluster."""
    if requirements.cluster.core.pinned or not sized.feasible or requirements.workload.has_names:
        return ()
    workload, usd_per_month = requirements.workload, sized.cost.usd_per_month
    sizes = [size for size in BLOCK_SIZES if size != workload.block_bytes and size > workload.cell_bytes]
    trials = [("BLOCKSIZE", replace(workload, block_bytes=size)) for size in sizes]
    if not workload.compressed:
        stored_bytes = round(workload.stored_bytes / ASSUMED_RATIO)
        compressed = replace(workload, codec=ASSUMED_CODEC, compression_ratio=ASSUMED_RATIO, stored_bytes=stored_bytes)
        trials.append(("COMPRESSION", compressed))
    targets = replace(requirements.targets, budget_usd_per_month=usd_per_month * (1 - WORTHWHILE_FRACTION))
    cheaper = []
    for setting, tried in trials:
        inputs = SizingInputs.new(replace(requirements, workload=tried, targets=targets), world)
        try:
            best = Search(inputs=inputs).cheapest_serving(CANDIDATES)
        except NotEnoughMemory:
            continue
        if best is not None:
            server = best.candidate.region_server
            cheaper.append(
                Alternative(
                    setting=setting,
                    block_bytes=tried.block_bytes,
                    codec=tried.codec,
                    compression_ratio=tried.compression_ratio,
                    instance_type=best.candidate.instance.name,
                    count=best.candidate.count,
                    heap_mib=server.heap.xmx_mib,
                    restart_seconds=server.restart.seconds,
                    usd_per_month=best.usd_per_month,
                    saving_usd_per_month=usd_per_month - best.usd_per_month,
                )
            )
    return tuple(sorted(cheaper, key=attrgetter("usd_per_month")))


SLACK: Final = 1e-3
"""judgement: a hit ratio or a p99 that is worse by a thousandth counts as the same, because both are estimates."""


def tables_with_cost(requirements: Requirements, world: World, sized: Plan) -> tuple[PlannedTable, ...]:
    """Return the tables of a plan, each with how much less the cheapest cluster for the others would cost.

    The others keep the hit ratio and the p99 that they have in the plan. Tables share nodes and cache, so these costs
    do not add up to the bill. They stay None for a pinned cluster, whose bill is always the same, for a plan that
    misses its targets, and if there is only one table.
    """
    if len(sized.tables) == 1 or requirements.cluster.core.pinned or not sized.meets_targets:
        return sized.tables
    planned = {table.name: table for table in sized.tables}
    with_cost = []
    for name, table_as_planned in planned.items():
        others = [table for table in requirements.workload.tables if table.name != name]
        reads = [
            table.cached * planned[table.name].reads_per_second * stored_blocks(table).per_read for table in others
        ]
        hits = sum(read * planned[table.name].hit_ratio for read, table in zip(reads, others, strict=True))
        p99_seconds = requirements.targets.p99_seconds
        if p99_seconds is not None:
            slowest_seconds = max(planned[table.name].p99_latency_ms for table in others) / 1000
            p99_seconds = max(p99_seconds, slowest_seconds * (1 + SLACK))
        hit_ratio = hits / (sum(reads) or 1.0) * (1 - SLACK)
        targets = replace(requirements.targets, hit_ratio=hit_ratio, p99_seconds=p99_seconds)
        needs = replace(requirements, workload=Workload.of(others), targets=targets)
        try:
            best = Search(inputs=SizingInputs.new(needs, world)).cheapest_serving()
        except NotEnoughMemory:
            best = None
        usd_saved = None if best is None else max(0.0, sized.cost.usd_per_month - best.usd_per_month)
        with_cost.append(replace(table_as_planned, usd_per_month=usd_saved))
    return tuple(with_cost)


def cache_price(plan: Plan, prices: PriceTable) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the largest useful cache of the whole cluster.

    The result is empty without a cache on EBS volumes.
    """
    if plan.bucket_cache is None:
        return ()
    planned_bytes = plan.core.count * plan.bucket_cache.size_mib * MIB
    return group_cache_price(plan.core, planned_bytes, plan.hit_ratio.curve[-1][0], prices)


def group_cache_price(
    group: CoreGroup, planned_bytes: int, useful_bytes: int, prices: PriceTable
) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the larger of both sizes.

    The price is linear between them: nodes, IOPS and throughput of the volumes are those of the group, whose caches
    have `planned_bytes`, and the volumes grow with the cache. The result is empty without a cache on EBS volumes,
    because the price of an instance includes its NVMe drives.
    """
    if (volume := group.volume("cache")).type == "nvme":
        return ()
    planned_usd = group.count * gp3.usd_per_month(volume, prices)
    larger = replace(volume, size_gib=volume.size_gib + 1)
    usd_per_gib = group.count * gp3.usd_per_month(larger, prices) - planned_usd
    usd_per_byte = usd_per_gib * volume.size_gib / planned_bytes
    most_bytes = max(planned_bytes, useful_bytes)
    return tuple((size, planned_usd + (size - planned_bytes) * usd_per_byte) for size in (0, most_bytes))


STEP: Final = 1.02  # judgement: nobody states a target to better than 2 %
EVERYTHING: Final = frozenset({"hit_ratio", "reads"})
"""The targets that are missed where no type has room for a cache that meets the hit ratio."""
FIRST_FACTOR: Final = 2.0  # judgement: most missed targets are missed by less than a factor of 2
LONGER: Final = 1.1  # judgement: nobody states how long a cluster may warm up to better than a tenth
LEAST_READS_PER_SECOND: Final = 1.0  # judgement: nobody wants a cluster that serves less
LEAST_HIT_RATIO: Final = 0.01  # judgement: nobody wants a cache with fewer hits


class Relaxation(Struct, frozen=True, kw_only=True):
    """One changed input with which the inputs become feasible, with the search for it and the cheapest cluster.

    `value` is the changed value of the target, in its own unit, or the reads per second.
    """

    text: str
    value: float
    search: Search
    served: Evaluation

    def __str__(self) -> str:
        """Return the change with its cluster and price."""
        candidate = self.served.candidate
        cluster = f"{candidate.count} x {candidate.instance.name}"
        return f"{self.text} ({cluster}, {format_usd(self.served.usd_per_month)} a month)"


def nearest_changes(result: SearchResult, changes: tuple[Relaxation, ...]) -> tuple[str, ...]:
    """Return the single changes that would be enough; if none is, return the targets that the best cluster misses.

    If the load is missed, the most reads of any number of nodes come first.
    """
    if changes:
        return tuple(str(change) for change in changes)
    reasons = [shortfall.reason for shortfall in result.best.shortfalls]
    if any(shortfall.target == "reads" for shortfall in result.best.shortfalls):
        limit = bottleneck(replace(result.best.candidate, count=MOST_NODES).resources(MOST_NODES))
        reads = f"{UTILISATION * limit.max_reads_per_second:,.0f} reads/s"
        reasons.insert(0, f"at most {reads} on {MOST_NODES} nodes, limited by {limit.name}")
    return tuple(reasons)


def relaxations(inputs: SizingInputs, missed: AbstractSet[str] = EVERYTHING) -> tuple[Relaxation, ...]:
    """Return the single changes with which the search succeeds, each as small as possible; `missed` are targets."""
    requirements = inputs.requirements
    wanted, cluster = requirements.targets, requirements.cluster
    changes: list[Relaxation | None] = []
    if (pinned_count := cluster.core.count) is not None:
        freed = replace(requirements, cluster=replace(cluster, core=replace(cluster.core, count=None)))

        def count(served: Evaluation) -> tuple[str, float]:
            return f"{served.candidate.count} nodes instead of {pinned_count}", served.candidate.count

        changes.append(_relaxed(Search(inputs=replace(inputs, requirements=freed)), count))
    least = 0.0
    if wanted.p99_seconds is not None and (
        without := Search(inputs=_with(inputs, p99_seconds=None)).cheapest_serving()
    ):
        # The lowest p99 within the budget lies between that of the strongest cluster and that of the cheapest.
        slowest = without.candidate.performance(without.candidate.survivors, at_peak=True).p99_seconds
        least = least_p99_seconds(inputs) or slowest
        changes.append(_p99(inputs, max(wanted.p99_seconds, least), slowest))
    # If even the largest cache on the fastest volumes misses the p99, other targets do not help.
    is_fast_enough = wanted.p99_seconds is None or least <= wanted.p99_seconds
    if is_fast_enough:
        if wanted.budget_usd_per_month is not None:

            def budget(served: Evaluation) -> tuple[str, float]:
                usd = math.ceil(served.usd_per_month)
                return f"a budget of {format_usd(usd)}", usd

            changes.append(_relaxed(Search(inputs=_with(inputs, budget_usd_per_month=None)), budget))
        if wanted.warm_up_seconds is not None:
            changes.append(_duration(inputs, "warm_up_seconds", "a warm-up of {}"))
        if wanted.carries_load_within_seconds is not None:
            text = "a cold cluster that carries its load within {}"
            changes.append(_duration(inputs, "carries_load_within_seconds", text))
        if wanted.offline_after_crash_seconds is not None:

            def offline(served: Evaluation) -> tuple[str, float]:
                seconds = served.candidate.offline.seconds
                return f"rows offline for {format_duration(seconds)} after a crash", seconds

            changes.append(_relaxed(Search(inputs=_with(inputs, offline_after_crash_seconds=None)), offline))
    if wanted.lost_nodes:
        changes.append(
            _relaxed(Search(inputs=_with(inputs, lost_nodes=0)), lambda _: ("no spare node: lost_nodes 0", 0))
        )
    if is_fast_enough and missed & {"hit_ratio", "budget"}:
        changes.append(
            _tightest(
                lambda ratio: _with(inputs, hit_ratio=ratio),
                lambda ratio: f"a hit ratio of {format_percent(ratio)}",
                (wanted.hit_ratio, min(wanted.hit_ratio, LEAST_HIT_RATIO)),
            )
        )
    if "reads" in missed and isinstance(load := requirements.workload.load, OpenLoad):
        changes.append(_fewer_reads(inputs, load))
    return tuple(change for change in changes if change is not None)


def _with(inputs: SizingInputs, **targets: float | None) -> SizingInputs:
    requirements = inputs.requirements
    return replace(
        inputs,
        requirements=replace(requirements, targets=replace(requirements.targets, **targets)),
    )


def _relaxed(search: Search, described: Callable[[Evaluation], tuple[str, float]]) -> Relaxation | None:
    """Return the change to the inputs of this search, described by the cheapest cluster as a text and a value."""
    served = search.cheapest_serving()
    if served is None:
        return None
    text, value = described(served)
    return Relaxation(text=text, value=value, search=search, served=served)


def _tightest(
    inputs_at: Callable[[float], SizingInputs],
    text: Callable[[float], str],
    between: tuple[float, float],
    step: float = STEP,
) -> Relaxation | None:
    """Return the strictest feasible value, to within a step; None where not even the loosest value is feasible.

    It lies `between` an infeasible value and the loosest one. The search starts near the infeasible value.
    """
    infeasible, loosest = between

    def search_at(value: float) -> Search | None:
        tried = Search(inputs=inputs_at(value))
        return tried if tried.any_serves() else None

    def looser(value: float, factor: float) -> float:
        """Return a value that is looser by a factor, but no looser than the loosest."""
        return min(value * factor, loosest) if loosest > value else max(value / factor, loosest)

    factor = FIRST_FACTOR
    value = looser(infeasible, factor)
    search = search_at(value)
    if search is None and (value == loosest or search_at(loosest) is None):
        return None
    while search is None:
        infeasible, factor = value, factor**2
        value = looser(value, factor)
        search = search_at(value)
    while max(value, infeasible) / min(value, infeasible) > step:
        middle = math.sqrt(value * infeasible)
        if closer := search_at(middle):
            value, search = middle, closer
        else:
            infeasible = middle
    return _relaxed(search, lambda _: (text(value), value))


def _p99(inputs: SizingInputs, least: float, slowest: float) -> Relaxation | None:
    """Return the lowest p99 within the budget. It lies between `least` and `slowest`, in seconds."""

    def rounded_up(seconds: float) -> float:
        """Return the next duration that can be written with three digits."""
        unit = 10.0 ** (math.floor(math.log10(seconds)) - 2)
        return unit * math.ceil(seconds / unit)

    def inputs_at(p99_seconds: float) -> SizingInputs:
        return _with(inputs, p99_seconds=rounded_up(p99_seconds))

    def text(p99_seconds: float) -> str:
        return f"a p99 of {format_duration(rounded_up(p99_seconds))}"

    tightest = _relaxed(Search(inputs=inputs_at(least)), lambda _: (text(least), least)) or _tightest(
        inputs_at, text, (least, slowest)
    )
    return replace(tightest, value=rounded_up(tightest.value)) if tightest else None


def _duration(inputs: SizingInputs, target: str, text: str) -> Relaxation | None:
    """Return the shortest attainable duration of a target that is a duration of cold caches.

    The longest is that of the cheapest cluster without the target.
    """
    wanted = getattr(inputs.requirements.targets, target)
    without = Search(inputs=_with(inputs, **{target: None})).cheapest_serving()
    cold = without.candidate.cold_start(without.candidate.survivors) if without else None
    if cold is None:
        return None
    longest = cold.course.prefetch_seconds if target == "warm_up_seconds" else cold.course.carried_seconds
    if longest is None or longest <= wanted:
        return None
    return _tightest(
        lambda value: _with(inputs, **{target: value}),
        lambda value: text.format(format_duration(value)),
        (wanted, longest),
        LONGER,
    )


def _fewer_reads(inputs: SizingInputs, load: OpenLoad) -> Relaxation | None:
    """Return the most reads per second, in the peak hour if the load has one."""
    offered, mean = inputs.at_peak.offered_reads_per_second, load.reads_per_second
    if offered is None:
        return None
    requirements = inputs.requirements
    text = "reads/s" if mean == offered else "reads/s in the peak hour"

    def inputs_at(reads_per_second: float) -> SizingInputs:
        peak = None if mean == offered else reads_per_second
        lower = replace(load, reads_per_second=min(mean, reads_per_second), peak_reads_per_second=peak)
        return replace(inputs, requirements=replace(requirements, workload=requirements.workload.with_load(lower)))

    return _tightest(
        inputs_at,
        lambda reads: f"{inputs_at(reads).at_peak.offered_reads_per_second:,.0f} {text}",
        (offered, min(offered, LEAST_READS_PER_SECOND)),
    )
