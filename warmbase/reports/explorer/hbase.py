"""An HBase cluster on the page: its inputs, and its headline figures as `warmbase plan` words and rounds them.

Trino's are in `engines/trino/explorer.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.environments.environment import Environment
from warmbase.environments.planning import plan_search_of, requirements, world
from warmbase.environments.reader.assignment import TABLES
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.ground.units import (
    format_duration,
    format_number,
    format_percent,
    format_size,
    format_usd,
)
from warmbase.reports.explorer.drawing import Figure, Place, PlanPage
from warmbase.reports.explorer.page_input import PageInput, has_value, table_section
from warmbase.reports.explorer.plots import places, plots
from warmbase.reports.plan_text import block_reads, volumes_text
from warmbase.sizing.calculator import PlanSearch
from warmbase.sizing.modes import MODES
from warmbase.sizing.plan import Alternative, Plan
from warmbase.sizing.requirements import ClusterChoice
from warmbase.sizing.search.alternatives import alternatives

WORKLOAD: Final = "workload"
NO_ADVICE: Final = "Neither another compression nor another block size was found to save money."


class HBasePlanned(Struct, frozen=True, kw_only=True, dict=True):
    """The plan of an HBase cluster, without advice."""

    environment: Environment
    cluster: ClusterChoice

    @cached_property
    def _search(self) -> PlanSearch:
        return plan_search_of(self.environment, self.cluster)

    @property
    def plan(self) -> Plan:
        """Return the plan. Raises Infeasible if nothing is large enough."""
        return self._search.plan

    @property
    def usd_per_month(self) -> float | None:
        """Return the price; None if the cluster misses its targets."""
        plan = self._search.attainable
        return plan.cost.usd_per_month if plan and plan.meets_targets else None

    @property
    def needs_search(self) -> bool:
        """Return whether no cluster meets the targets."""
        return self._search.attainable is None

    @property
    def column(self) -> str:
        """Return the storage mode."""
        return self.environment.mode.name

    def page(self) -> PlanPage:
        """Return the figures and the plots."""
        plan = self.plan
        return PlanPage(
            platform=f"{plan.mode} on {plan.release}",
            figures=tuple(figures(plan)),
            verdict=verdict(plan),
            decides=decisive(plan),
            usd_per_month=plan.cost.usd_per_month,
            warnings=tuple(f"{one.message}. Fix: {one.fix}." for one in plan.warnings),
            plots=plots(plan, world(self.environment).prices),
        )

    def advice(self) -> list[str]:
        """Return sentences that name other block sizes and codecs that would save money."""
        needs = requirements(self.environment, self.cluster)
        return advice_texts(alternatives(needs, world(self.environment), self.plan))


class HBaseOnPage(Struct, frozen=True, kw_only=True):
    """One HBase cluster of an environment file, with the names of its tables if the file describes several."""

    cluster: str
    tables: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the places of the plots."""
        return places(has_tables=bool(self.tables))

    @property
    def columns(self) -> Mapping[str, str]:
        """Return the storage modes."""
        return {name: mode.title for name, mode in MODES.items()}

    def amounts(self, environment: Environment) -> Mapping[str, int]:
        """Return the stored data, of each table if there are several."""
        sections: list[YamlPath] = [(*TABLES, table) for table in self.tables] or [(WORKLOAD,)]
        parts = zip(sections, environment.workload.parts, strict=True)
        return {path_text((*section, "stored")): part.stored_bytes for section, part in parts}

    def inputs(self, document: Document, environment: Environment) -> Iterator[PageInput]:
        """Yield the inputs, without their values."""
        return hbase_inputs(document, environment.clusters[self.cluster], self.tables)

    def varied(self, inputs: Collection[PageInput]) -> Iterator[PageInput]:
        """Yield the inputs that are estimates."""
        return (entry for entry in inputs if entry.path[0] == WORKLOAD)

    def plan(self, environment: Environment, *, is_free: bool) -> HBasePlanned:
        """Return the plan. If it is free, warmbase chooses the core nodes, even if the file states them."""
        cluster = environment.clusters[self.cluster]
        if is_free:
            cluster = replace(cluster, core=replace(cluster.core, type=None, count=None, volumes=None))
        return HBasePlanned(environment=environment, cluster=cluster)

    def usd_of_column(self, environment: Environment, column: str) -> float | None:
        """Return the price in a storage mode; None if no cluster meets the targets in it."""
        return self.plan(replace(environment, mode=MODES[column]), is_free=True).usd_per_month


def advice_texts(options: Iterable[Alternative]) -> list[str]:
    """Return each alternative as a text that names its saving, or a sentence that there is none."""
    texts = [f"{format_usd(option.saving_usd_per_month)} less a month with {_setting(option)}" for option in options]
    return texts or [NO_ADVICE]


def _setting(option: Alternative) -> str:
    if option.setting != "COMPRESSION":
        return f"{option.setting} {format_size(option.block_bytes)}"
    return f"{option.setting} {option.codec.upper()}, if it compresses your data {option.compression_ratio:g}:1"


def figures(plan: Plan) -> list[Figure]:
    """Return the headline figures, the most important one first."""
    return [_price(plan), _nodes(plan), *_warm(plan), *_bad_hours(plan)]


def verdict(plan: Plan) -> str:
    """Return a line that says whether the plan meets the targets."""
    if not plan.feasible:
        return f"No cluster meets the targets; this is the nearest one. Best attainable: {'; or '.join(plan.nearest)}"
    return "The cluster meets all targets." if plan.meets_targets else "The cluster in the file misses the targets."


def decisive(plan: Plan) -> str:
    """Return a sentence that says what decides the number of core nodes."""
    return plan.because["core.count"].sentence


def _price(plan: Plan) -> Figure:
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices_as_of}"
    return Figure(
        id="price", title="Price per month", text=format_usd(plan.cost.usd_per_month), note=f"{rate}, {basis}"
    )


def _nodes(plan: Plan) -> Figure:
    volumes = volumes_text(plan.core.volumes)
    storage = f"each with {volumes}; " if volumes else ""
    primaries = f"{plan.primary.count} x {plan.primary.instance_type} primary node{'s' * (plan.primary.count > 1)}"
    text = f"{plan.core.count} x {plan.core.instance_type}"
    return Figure(id="nodes", title="Core nodes", text=text, note=f"{storage}{primaries}")


def _warm(plan: Plan) -> Iterator[Figure]:
    load = plan.throughput
    has_disk = plan.bucket_cache or plan.hdfs
    source = "come from local disks once warm" if has_disk else "need no GET from S3"
    note = f"of {block_reads(plan)} {source}"
    yield Figure(id="hit_ratio", title="Hit ratio", text=format_percent(plan.hit_ratio.predicted), note=note)
    served = f"{load.reads_per_second:,.0f} reads/s"
    if load.offered_reads_per_second is not None and load.reads_per_second < load.offered_reads_per_second:
        served = f"only {load.reads_per_second:,.0f} of {load.offered_reads_per_second:,.0f} reads/s"
    mean, most = format_number(load.mean_latency_ms), f"{load.saturation_reads_per_second:,.0f}"
    note = f"{mean} ms on average, at {served}; at most {most} reads/s (estimates)"
    yield Figure(id="p99", title="p99 latency", text=f"{load.p99_latency_ms:,.0f} ms", note=note)


def _bad_hours(plan: Plan) -> Iterator[Figure]:
    yield _cold(plan)
    lost = plan.bad_hours.lost_node
    note = "the cluster has one core node, so its loss is an outage"
    if lost is not None:
        note = f"with {format_percent(lost.rows_fraction)} of rows offline, then a p99 of {lost.p99_latency_ms:,.0f} ms"
    offline = format_duration(lost.offline_seconds) if lost else "outage"
    yield Figure(id="lost_node", title="Loss of a node", text=offline, note=f"{note} (estimates)")
    cache = "; the cache is kept" if plan.bucket_cache else ""
    note = f"for each server{cache} (estimate)"
    yield Figure(id="restart", title="Restart", text=format_duration(plan.restart.seconds), note=note)


def _cold(plan: Plan) -> Figure:
    cold, offered = plan.bad_hours.cold, plan.throughput.offered_reads_per_second
    if cold is None or not plan.bucket_cache:
        return Figure(id="cold", title="Cold caches", text="none", note="this storage mode has no cache to warm")
    text, warm = f"{cold.reads_per_second:,.0f} reads/s", format_duration(plan.warm_up.prefetch_seconds)
    full = f"the caches are full after {warm}"
    if offered is None or cold.carried_seconds == 0:
        return Figure(id="cold", title="Cold caches", text=text, note=f"at first; {full} (estimates)")
    late = "never all" if cold.carried_seconds is None else f"all after {format_duration(cold.carried_seconds)}"
    note = f"of {offered:,.0f} at first, limited by {cold.bottleneck}; {late}; {full} (estimates)"
    return Figure(id="cold", title="Cold caches", text=text, note=note)


WORKLOAD_INPUTS: Final = (
    "stored",
    "row",
    "cell",
    "block_size",
    "compression.codec",
    "compression.ratio",
    "popularity",
    "writes.bytes_per_second",
)
"""The keys of a workload, or of one of its tables, that the page offers; their rows in the schema have the sliders."""
OPEN_LOAD: Final = ("per_second", "peak_per_second")
DAILY_PEAK: Final = "seasons.peak"
CLOSED_LOAD: Final = "concurrency"
TARGETS: Final = ("hit_ratio", "p99", "warm_up", "lost_nodes", "budget_usd_per_month")
MODE: Final = "storage.mode"


# judgement: the plans of more values would make a report larger than 1 MB.
REPORTED_TABLES: Final = 3
REPORTED: Final = ("stored", "per_second")
"""The inputs of the first tables whose sliders move in a report."""


def hbase_inputs(document: Document, cluster: ClusterChoice, tables: Sequence[str]) -> Iterator[PageInput]:
    """Yield the inputs that the page offers for an HBase cluster, without their values."""
    section = f"clusters.{cluster.name}."
    for number, table in enumerate(tables):
        for entry in _of_workload(document, table_section(table), f"{table_section(table)}reads.", table):
            moves = number < REPORTED_TABLES and entry.path[-1] in REPORTED
            yield entry if moves else replace(entry, stops=(), is_scaled=False)
    if not tables:
        reads = f"{section}workload.reads." if cluster.reads else "workload.reads."
        yield from _of_workload(document, "workload.", reads)
    targets = f"{section}targets." if cluster.targets else "targets."
    yield from (PageInput.of(f"targets.{name}", f"{targets}{name}") for name in TARGETS)
    yield PageInput.of(MODE, MODE)


def _of_workload(document: Document, section: str, reads: str, table: str = "") -> Iterator[PageInput]:
    """Yield the inputs of a workload or of one of its tables, whose reads may be stated elsewhere."""
    for name in WORKLOAD_INPUTS:
        entry = PageInput.of(f"workload.{name}", f"{section}{name}", table)
        if name != "stored" or not has_value(document, (*entry.path[:-1], "inspection")):
            yield entry
    closed, rate, peak, seasons = (
        PageInput.of(f"workload.reads.{name}", f"{reads}{name}", table)
        for name in (CLOSED_LOAD, *OPEN_LOAD, DAILY_PEAK)
    )
    if has_value(document, closed.path):
        yield closed
    else:
        yield from (rate, seasons if has_value(document, seasons.path) else peak)
