"""Reports about an analytics cluster: its words, its JSON document, and its page of `warmbase explore`.

Keys of inputs are relative to the section of the cluster. Figures have the wording and the precision of `warmbase
plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.trino.cached_scan import usable_bytes
from warmbase.engines.trino.plan import CacheComparison, TrinoPlan
from warmbase.engines.trino.planning import compared_cache_of, compared_caches_of, trino_infeasible, trino_plan_of
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import CacheKind
from warmbase.engines.trino.section import ANY_TRINO
from warmbase.environments.environment import Environment
from warmbase.environments.planning import world
from warmbase.environments.reader.document import Document
from warmbase.facts.ec2 import instance_types
from warmbase.ground.errors import Infeasible
from warmbase.ground.prices import PriceTable
from warmbase.ground.units import (
    GIB,
    HOURS_PER_MONTH,
    SECONDS_PER_HOUR,
    format_duration,
    format_percent,
    format_size,
    format_usd,
)
from warmbase.reports.decision_page import EngineWords
from warmbase.reports.explorer.drawing import (
    PRICES,
    Bar,
    Figure,
    Place,
    PlanPage,
    Plots,
    bar_plot,
    cost_place,
    cost_plot,
    hit_ratio_plot,
    hits_place,
    inputs_place,
)
from warmbase.reports.explorer.page_input import PageInput
from warmbase.reports.json_text import plain
from warmbase.reports.plan_text import ColumnTable, volumes_text
from warmbase.sizing.ranges.growth import QUERY_TARGETS
from warmbase.sizing.search.alternatives import group_cache_price
from warmbase.sizing.service.inputs import UTILISATION

WORDS: Final = EngineWords(
    cluster="a Trino cluster",
    nodes="workers",
    section="workers",
    targets=QUERY_TARGETS,
    grows="working set and queries",
    load_heading="working set, queries",
    load_unit="h",
    more_nodes="More workers of the same kind are added while the cluster runs (warmbase reconfigure). Files that move"
    " to a new worker are read from S3 once more. The amount of data that a query scans does not grow.",
    latency="query time",
    latency_heading="query, s",
    latency_key="query_ms",
    latency_text=lambda ms: f"{ms / 1000:,.1f}",
)


def platform(plan: TrinoPlan) -> str:
    """Return what the cluster runs."""
    return f"Trino {plan.trino}"


def document(environment: Environment, cluster: str, *, advice: bool = True) -> tuple[Any, Infeasible | None]:  # noqa: ARG001 - the plan has its advice
    """Return the plan as JSON has it, and the error of one that misses its targets."""
    plan = trino_plan_of(environment, environment.analytics[cluster])
    return plain(plan), None if plan.feasible else trino_infeasible(environment.source, plan)


def columns(environment: Environment, cluster: str) -> tuple[Mapping[CacheKind, CacheComparison], ColumnTable]:
    """Return the cheapest cluster with each kind of cache, and their table."""
    plans = compared_caches_of(environment, environment.analytics[cluster])
    return plans, ColumnTable(
        title="The places of the cache side by side",
        names=tuple(NAMES[kind] for kind in plans),
        rows=tuple((name, *map(figure, plans.values())) for name, figure in ROWS.items()),
        summaries=tuple(f"{NAMES[kind]}: {SUMMARIES[kind]}" for kind in plans),
    )


OVERLOADED: Final = "more than the cluster can serve"


def query_rate(per_hour: float) -> str:
    """Return a number of queries an hour."""
    return f"{per_hour:,.0f} queries/h"


def lost_text(choice: TrinoChoice) -> str:
    """Return the loss that the cluster must bear; the targets allow for one worker at least."""
    lost = choice.targets.lost_nodes
    return f"after losing {'a worker' if lost == 1 else f'{lost} workers'}"


def decisive(plan: TrinoPlan, choice: TrinoChoice) -> str:
    """Return sentences that say what decides the number of workers."""
    busy = format_percent(plan.queries.utilisation_at_peak)
    limits = [f"{plan.queries.bottleneck} is {busy} busy in the busiest hour"]
    if choice.targets.query_seconds is not None:
        limits.append(f"the target for a query is {format_duration(choice.targets.query_seconds)}")
    limits.append(f"no resource may be more than {format_percent(UTILISATION)} busy after a loss")
    usd = sum(line.usd_per_month for line in plan.cost.lines if line.item.startswith("worker "))
    return f"{'; '.join(limits)}. One worker costs {format_usd(usd / plan.workers.count)} a month."


def missed_texts(plan: TrinoPlan) -> Iterator[str]:
    """Yield each target that the plan misses, with its value and its limit."""
    for missed in plan.missed:
        yield f"{missed.target}: {missed.actual:,.4g} {missed.unit}, limit {missed.limit:,.4g}"


NAMES: Final[Mapping[CacheKind, str]] = {"gp3": "cache on gp3", "drive": "cache on NVMe", "none": "no cache"}
SUMMARIES: Final[Mapping[CacheKind, str]] = {
    "gp3": "pages on EBS volumes, whose size and speed warmbase chooses",
    "drive": "pages on the instance's own drive, whose size depends on its type",
    "none": "every query reads from S3; the target for the hit ratio does not apply",
}


def _time(seconds: float | None, overloaded: str = "overloaded") -> str:
    return overloaded if seconds is None else format_duration(seconds)


def _of_query(plan: CacheComparison) -> str:
    queries = plan.queries.per_hour * HOURS_PER_MONTH
    return "-" if plan.missed or not queries else format_usd(plan.cost.usd_per_month / queries)


ROWS: Final[Mapping[str, Callable[[CacheComparison], str]]] = {
    "meets the targets": lambda plan: f"no: {', '.join(one.target for one in plan.missed)}" if plan.missed else "yes",
    "workers": lambda plan: f"{plan.workers.count} x {plan.workers.instance_type}",
    "cache per worker": lambda plan: f"{plan.cache_gib:,} GiB" if plan.cache_gib else "none",
    "cache disk": lambda plan: volumes_text(plan.workers.volumes).removesuffix(" for the cache") or "none",
    "from local disks": lambda plan: format_percent(plan.hit_ratio),
    "mean time": lambda plan: _time(plan.queries.mean_seconds),
    "in the peak hour": lambda plan: _time(plan.queries.peak_mean_seconds),
    "queries at most": lambda plan: f"{plan.queries.most_per_hour:,.0f}/h, {plan.queries.bottleneck}",
    "S3 GETs": lambda plan: f"{plan.gets_per_second:,.0f}/s",
    "a month": lambda plan: "-" if plan.missed else format_usd(plan.cost.usd_per_month),
    "per query": _of_query,
}

NO_ADVICE: Final = "No other place of the cache was found to save money."


class TrinoPlanned(Struct, frozen=True, kw_only=True, dict=True):
    """The plan of an analytics cluster."""

    environment: Environment
    choice: TrinoChoice

    @cached_property
    def plan(self) -> TrinoPlan:
        """Return the plan. Raises InvalidInput if no instance type can be a worker."""
        return trino_plan_of(self.environment, self.choice)

    @property
    def usd_per_month(self) -> float | None:
        """Return the price; None if the cluster misses its targets."""
        return self.plan.cost.usd_per_month if self.plan.feasible else None

    @property
    def needs_search(self) -> bool:
        """Return false, because the nearest workers are found as soon as those that meet the targets."""
        return False

    @property
    def column(self) -> str:
        """Return the place of the cache."""
        return "drive" if self.plan.workers.volume("cache").type == "nvme" else "gp3"

    def page(self) -> PlanPage:
        """Return the figures and the plots."""
        plan = self.plan
        return PlanPage(
            platform=f"{platform(plan)} on {plan.release}",
            figures=tuple(figures(plan, self.choice)),
            verdict=(
                "The cluster meets all targets."
                if plan.feasible
                else "No cluster meets the targets; this is the nearest one. It misses "
                f"{'; and '.join(missed_texts(plan))}."
            ),
            decides=decisive(plan, self.choice),
            usd_per_month=plan.cost.usd_per_month,
            warnings=tuple(f"{one.message}. Fix: {one.fix}." for one in plan.warnings),
            plots=plots(plan, world(self.environment).prices),
        )

    def advice(self) -> list[str]:
        """Return sentences that name cheaper places of the cache."""
        texts, usd = list[str](), self.plan.cost.usd_per_month
        for kind, name in NAMES.items():
            cache = compared_cache_of(self.environment, self.choice, kind)
            if cache and not cache.missed and cache.cost.usd_per_month < usd:
                saving = format_usd(usd - cache.cost.usd_per_month)
                workers = f"{cache.workers.count} x {cache.workers.instance_type}"
                texts.append(f"{saving} less a month with {name} ({workers}): {SUMMARIES[kind]}")
        return texts or [NO_ADVICE]


def page_engine(environment: Environment, cluster: str) -> TrinoOnPage:  # noqa: ARG001 - as for any engine
    """Return the inputs, figures and plots of the cluster's page."""
    return TrinoOnPage(cluster=cluster)


class TrinoOnPage(Struct, frozen=True, kw_only=True):
    """One analytics cluster of an environment file."""

    cluster: str

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the places of the plots."""
        return PLACES

    @property
    def columns(self) -> Mapping[str, str]:
        """Return the places of the cache."""
        return {str(kind): name for kind, name in NAMES.items()}

    def amounts(self, environment: Environment) -> Mapping[str, int]:
        """Return the working set."""
        return {
            f"clusters.{self.cluster}.workload.working_set": environment.analytics[
                self.cluster
            ].workload.working_set_bytes
        }

    def inputs(self, document: Document, environment: Environment) -> Iterator[PageInput]:  # noqa: ARG002 - as for HBase
        """Yield the inputs, without their values."""
        return (PageInput.of(f"clusters.{ANY_TRINO}.{name}", f"clusters.{self.cluster}.{name}") for name in INPUTS)

    def varied(self, inputs: Collection[PageInput]) -> Iterator[PageInput]:
        """Yield the inputs that are estimates."""
        return (entry for entry in inputs if entry.key.startswith(f"clusters.{self.cluster}.workload."))

    def plan(self, environment: Environment, *, is_free: bool) -> TrinoPlanned:
        """Return the plan. If it is free, warmbase chooses the workers, even if the file states them."""
        choice = environment.analytics[self.cluster]
        if is_free:
            choice = replace(choice, workers=replace(choice.workers, type=None, count=None, volumes=None))
        return TrinoPlanned(environment=environment, choice=choice)

    def usd_of_column(self, environment: Environment, column: str) -> float | None:
        """Return the price with the cache in this place; None if no cluster meets the targets with it."""
        [kind] = (kind for kind in NAMES if kind == column)
        cache = compared_cache_of(environment, environment.analytics[self.cluster], kind)
        return None if cache is None or cache.missed else cache.cost.usd_per_month


def figures(plan: TrinoPlan, choice: TrinoChoice) -> Iterator[Figure]:
    """Yield the headline figures, the most important one first."""
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices.as_of}"
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    note = f"{rate}, {basis}; in addition to the HBase clusters"
    yield Figure(id="price", title="Price per month", text=format_usd(plan.cost.usd_per_month), note=note)
    workers = f"{plan.workers.count} x {plan.workers.instance_type}"
    note = f"each with {volumes_text(plan.workers.volumes)}; coordinator: 1 x {plan.coordinator.instance_type}"
    yield Figure(id="nodes", title="Workers", text=workers, note=note)
    queries, ratio = plan.queries, format_percent(plan.hit_ratio.predicted)
    note = "of the pages that queries read come from local disks once warm"
    yield Figure(id="hit_ratio", title="Hit ratio", text=ratio, note=note)
    most = f"at most {query_rate(queries.most_per_hour)}"
    note = f"on average, at {query_rate(queries.per_hour)}; {most} (estimates)"
    yield Figure(id="query_time", title="Time of a query", text=_time(queries.mean_seconds, OVERLOADED), note=note)
    note = f"on average, at {query_rate(queries.peak_per_hour)} (estimate)"
    peak = _time(queries.peak_mean_seconds, OVERLOADED)
    yield Figure(id="peak", title="In the busiest hour", text=peak, note=note)
    warm = format_duration(plan.warmth.hours * SECONDS_PER_HOUR)
    note = f"for a query at first; caches are warm after {plan.warmth.queries:,.0f} queries, {warm} (estimates)"
    yield Figure(id="cold", title="Cold caches", text=_time(queries.cold_seconds, OVERLOADED), note=note)
    lost, note = "not planned for", "the targets allow for no lost worker"
    if choice.targets.lost_nodes:
        lost = _time(queries.after_loss_seconds, OVERLOADED)
        note = f"for a query {lost_text(choice)}, in the busiest hour (estimate)"
    yield Figure(id="lost_node", title="Loss of a worker", text=lost, note=note)
    export = plan.export
    note = f"for {format_size(export.stored_bytes)} of HBase as Parquet, at {format_usd(export.usd)} (estimates)"
    yield Figure(id="export", title="Export", text=format_duration(export.hours * SECONDS_PER_HOUR), note=note)


INPUTS: Final = (
    "workload.working_set",
    "workload.scanned",
    "workload.file",
    "workload.read",
    "workload.queries.per_hour",
    "workload.queries.peak_per_hour",
    "workload.popularity",
    "workload.cpu_seconds_per_gib",
    "targets.hit_ratio",
    "targets.query_time",
    "targets.lost_nodes",
    "targets.budget_usd_per_month",
    "preferred_hosts",
)
"""The keys that the page offers; their rows in the schema have the sliders."""


PLACES: Final = (
    hits_place("workers"),
    Place(
        id="resources",
        kind="bars",
        title="Resource use in the busiest hour",
        advice="The share of each limit that queries use with warm caches. The longest bar limits the cluster.",
        rows=5,
    ),
    Place(
        id="memory",
        kind="bars",
        title="Memory of a worker",
        advice="EMR sets the heap (estimate). Queries may take as much as shown; the metadata of cached pages is beside"
        " them.",
        rows=4,
    ),
    cost_place(),
    Place(
        id=PRICES,
        kind="prices",
        title="Price by working set, for each place of the cache",
        advice="The lowest line is the cheapest place that meets your targets. A line ends where no cluster meets"
        " them.",
        x="working set",
        is_wide=True,
    ),
    inputs_place(),
)


def plots(plan: TrinoPlan, prices: PriceTable) -> Plots:
    """Return the plots of a plan."""
    # The curve is over the pages in all caches: Alluxio leaves a part of their configured size empty.
    cached_bytes = plan.workers.count * usable_bytes(plan.cache.size_gib * GIB)
    usd = group_cache_price(plan.workers, cached_bytes, plan.hit_ratio.curve[-1][0], prices)
    queries, memory = plan.queries, plan.memory
    resources = (
        Bar(
            name=one.name,
            value=queries.peak_per_hour / one.most_per_hour if one.most_per_hour else 0.0,
            strong=one.name == queries.bottleneck,
        )
        for one in queries.resources
    )
    used_bytes = memory.query_bytes_per_worker + memory.page_index_bytes
    ram_bytes = instance_types()[plan.workers.instance_type].memory_bytes
    # The parts sum to a worker's memory.
    parts = (
        Bar(name="queries, at most", value=memory.query_bytes_per_worker),
        Bar(name="metadata of cached pages", value=memory.page_index_bytes),
        Bar(name="other heap", value=max(0, memory.heap_bytes - used_bytes)),
        Bar(name="outside the heap", value=ram_bytes - memory.heap_bytes),
    )
    return Plots(
        lines={"hits": hit_ratio_plot(plan.hit_ratio, cached_bytes, usd, "pages in the caches of all workers")},
        bars={
            "resources": bar_plot("share", resources, shortest=1.0),
            "memory": bar_plot("size", parts),
            "cost": cost_plot(plan.cost),
        },
    )
