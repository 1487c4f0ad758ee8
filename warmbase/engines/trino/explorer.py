"""An analytics cluster on the page of `warmbase explore`: its inputs, its headline figures, and its plots.

Keys of inputs are relative to the section of the cluster. Figures have the wording and the precision of `warmbase
plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.trino.cached_scan import usable_bytes
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.planning import compared_cache_of, trino_plan_of
from warmbase.engines.trino.report import NAMES, OVERLOADED, SUMMARIES, decisive, lost_text, missed_texts, query_rate
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import CacheKind
from warmbase.engines.trino.section import ANY_TRINO
from warmbase.environments.environment import Environment
from warmbase.environments.planning import world
from warmbase.environments.reader.document import Document
from warmbase.facts.ec2 import instance_types
from warmbase.ground.prices import PriceTable
from warmbase.ground.units import (
    GIB,
    SECONDS_PER_HOUR,
    format_duration,
    format_percent,
    format_size,
    format_usd,
)
from warmbase.reports.explorer.drawing import (
    PRICES,
    Bar,
    BarPlot,
    Figure,
    LinePlot,
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
from warmbase.reports.plan_text import volumes_text
from warmbase.sizing.search.alternatives import group_cache_price

KINDS: Final[Mapping[str, CacheKind]] = {kind: kind for kind in get_args(CacheKind)}
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
            platform=f"Trino {plan.trino} on {plan.release}",
            figures=figures(plan, self.choice),
            verdict=verdict(plan),
            decides=decisive(plan, self.choice),
            usd_per_month=plan.cost.usd_per_month,
            warnings=tuple(f"{one.message}. Fix: {one.fix}." for one in plan.warnings),
            plots=plots(plan, world(self.environment).prices),
        )

    def advice(self) -> list[str]:
        """Return sentences that name cheaper places of the cache."""
        return list(self._cheaper()) or [NO_ADVICE]

    def _cheaper(self) -> Iterator[str]:
        for kind, name in NAMES.items():
            cache = compared_cache_of(self.environment, self.choice, kind)
            if cache is None or cache.missed or cache.cost.usd_per_month >= self.plan.cost.usd_per_month:
                continue
            saving = format_usd(self.plan.cost.usd_per_month - cache.cost.usd_per_month)
            workers = f"{cache.workers.count} x {cache.workers.instance_type}"
            yield f"{saving} less a month with {name} ({workers}): {SUMMARIES[kind]}"


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

    @property
    def _section(self) -> str:
        return f"clusters.{self.cluster}."

    def amounts(self, environment: Environment) -> Mapping[str, int]:
        """Return the working set."""
        return {f"{self._section}workload.working_set": environment.analytics[self.cluster].workload.working_set_bytes}

    def inputs(self, document: Document, environment: Environment) -> Iterator[PageInput]:  # noqa: ARG002 - as for HBase
        """Yield the inputs, without their values."""
        return (PageInput.of(f"clusters.{ANY_TRINO}.{name}", f"{self._section}{name}") for name in INPUTS)

    def varied(self, inputs: Collection[PageInput]) -> Iterator[PageInput]:
        """Yield the inputs that are estimates."""
        return (entry for entry in inputs if entry.key.startswith(f"{self._section}workload."))

    def plan(self, environment: Environment, *, is_free: bool) -> TrinoPlanned:
        """Return the plan. If it is free, warmbase chooses the workers, even if the file states them."""
        choice = environment.analytics[self.cluster]
        if is_free:
            choice = replace(choice, workers=replace(choice.workers, type=None, count=None, volumes=None))
        return TrinoPlanned(environment=environment, choice=choice)

    def usd_of_column(self, environment: Environment, column: str) -> float | None:
        """Return the price with the cache in this place; None if no cluster meets the targets with it."""
        cache = compared_cache_of(environment, environment.analytics[self.cluster], KINDS[column])
        return None if cache is None or cache.missed else cache.cost.usd_per_month


def figures(plan: TrinoPlan, choice: TrinoChoice) -> tuple[Figure, ...]:
    """Return the headline figures, the most important one first."""
    return (*_purchase(plan), *_warm(plan), *_bad_hours(plan, choice), _export(plan))


def verdict(plan: TrinoPlan) -> str:
    """Return a line that says whether the plan meets the targets, and which it misses."""
    if plan.feasible:
        return "The cluster meets all targets."
    return f"No cluster meets the targets; this is the nearest one. It misses {'; and '.join(missed_texts(plan))}."


def _purchase(plan: TrinoPlan) -> Iterator[Figure]:
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices.as_of}"
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    note = f"{rate}, {basis}; in addition to the HBase clusters"
    yield Figure(id="price", title="Price per month", text=format_usd(plan.cost.usd_per_month), note=note)
    workers = f"{plan.workers.count} x {plan.workers.instance_type}"
    note = f"each with {volumes_text(plan.workers.volumes)}; coordinator: 1 x {plan.coordinator.instance_type}"
    yield Figure(id="nodes", title="Workers", text=workers, note=note)


def _warm(plan: TrinoPlan) -> Iterator[Figure]:
    queries, ratio = plan.queries, format_percent(plan.hit_ratio.predicted)
    note = "of the pages that queries read come from local disks once warm"
    yield Figure(id="hit_ratio", title="Hit ratio", text=ratio, note=note)
    most = f"at most {query_rate(queries.most_per_hour)}"
    note = f"on average, at {query_rate(queries.per_hour)}; {most} (estimates)"
    yield Figure(id="query_time", title="Time of a query", text=_time(queries.mean_seconds), note=note)
    note = f"on average, at {query_rate(queries.peak_per_hour)} (estimate)"
    yield Figure(id="peak", title="In the busiest hour", text=_time(queries.peak_mean_seconds), note=note)


def _bad_hours(plan: TrinoPlan, choice: TrinoChoice) -> Iterator[Figure]:
    warm = format_duration(plan.warmth.hours * SECONDS_PER_HOUR)
    note = f"for a query at first; caches are warm after {plan.warmth.queries:,.0f} queries, {warm} (estimates)"
    yield Figure(id="cold", title="Cold caches", text=_time(plan.queries.cold_seconds), note=note)
    if not choice.targets.lost_nodes:
        note = "the targets allow for no lost worker"
        yield Figure(id="lost_node", title="Loss of a worker", text="not planned for", note=note)
        return
    note = f"for a query {lost_text(choice)}, in the busiest hour (estimate)"
    text = _time(plan.queries.after_loss_seconds)
    yield Figure(id="lost_node", title="Loss of a worker", text=text, note=note)


def _export(plan: TrinoPlan) -> Figure:
    note = (
        f"for {format_size(plan.export.stored_bytes)} of HBase as Parquet, at {format_usd(plan.export.usd)} (estimates)"
    )
    text = format_duration(plan.export.hours * SECONDS_PER_HOUR)
    return Figure(id="export", title="Export", text=text, note=note)


def _time(seconds: float | None) -> str:
    return OVERLOADED if seconds is None else format_duration(seconds)


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
    return Plots(
        lines={"hits": _hits(plan, prices)},
        bars={
            "resources": _resources(plan),
            "memory": bar_plot("size", _memory(plan)),
            "cost": cost_plot(plan.cost),
        },
    )


def _hits(plan: TrinoPlan, prices: PriceTable) -> LinePlot:
    """Return the curve over the pages in all caches: Alluxio leaves a part of their configured size empty."""
    cached_bytes = plan.workers.count * usable_bytes(plan.cache.size_gib * GIB)
    usd = group_cache_price(plan.workers, cached_bytes, plan.hit_ratio.curve[-1][0], prices)
    return hit_ratio_plot(plan.hit_ratio, cached_bytes, usd, "pages in the caches of all workers")


def _resources(plan: TrinoPlan) -> BarPlot:
    queries = plan.queries
    bars = (
        Bar(
            name=one.name,
            value=queries.peak_per_hour / one.most_per_hour if one.most_per_hour else 0.0,
            strong=one.name == queries.bottleneck,
        )
        for one in queries.resources
    )
    return bar_plot("share", bars, shortest=1.0)


def _memory(plan: TrinoPlan) -> Iterator[Bar]:
    """Yield the parts of a worker's memory, which sum to it."""
    memory = plan.memory
    yield Bar(name="queries, at most", value=memory.query_bytes_per_worker)
    yield Bar(name="metadata of cached pages", value=memory.page_index_bytes)
    used_bytes = memory.query_bytes_per_worker + memory.page_index_bytes
    yield Bar(name="other heap", value=max(0, memory.heap_bytes - used_bytes))
    ram_bytes = instance_types()[plan.workers.instance_type].memory_bytes
    yield Bar(name="outside the heap", value=ram_bytes - memory.heap_bytes)
