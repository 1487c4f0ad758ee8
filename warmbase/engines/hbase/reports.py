"""Reports about an HBase cluster: its words, its JSON document, and its page of `warmbase explore`.

Headline figures have the wording and the precision of `warmbase plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.hbase.plots import places, plots
from warmbase.environments.environment import Environment
from warmbase.environments.planning import (
    advised_plan_of,
    infeasible,
    plan_of,
    plan_search_of,
    plans_by_mode,
    requirements,
    world,
)
from warmbase.environments.reader.assignment import TABLES
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.environments.unstated import unstated
from warmbase.ground.errors import Infeasible
from warmbase.ground.secret import redacted
from warmbase.ground.units import (
    SECONDS_PER_HOUR,
    format_duration,
    format_number,
    format_percent,
    format_size,
    format_usd,
)
from warmbase.reports.decision_page import EngineWords
from warmbase.reports.explorer.drawing import Figure, Place, PlanPage
from warmbase.reports.explorer.page_input import PageInput, has_value, table_section
from warmbase.reports.json_text import plain
from warmbase.reports.plan_text import ColumnTable, block_reads, volumes_text
from warmbase.sizing.calculator import PlanSearch
from warmbase.sizing.modes import MODES, Mode
from warmbase.sizing.plan import Alternative, Plan
from warmbase.sizing.ranges.growth import TARGETS as PLAN_TARGETS
from warmbase.sizing.requirements import ClusterChoice
from warmbase.sizing.search.alternatives import alternatives
from warmbase.sizing.search.disks import FILL_FRACTION, PINNED_FILL_FRACTION

WORDS: Final = EngineWords(
    cluster="an HBase cluster",
    nodes="core nodes",
    section="core",
    targets=PLAN_TARGETS,
    grows="data, reads and writes",
    load_heading="data, reads",
    load_unit="s",
    more_nodes="More nodes of the same kind are added while the cluster runs (warmbase reconfigure). The regions that"
    " move to them are read from S3 once more; the other caches stay warm. A step may also need a larger cache on the"
    f" same volumes, up to {format_percent(PINNED_FILL_FRACTION)} of them instead of {format_percent(FILL_FRACTION)}: a"
    " change of the size empties a cache once.",
    latency="p99",
    latency_heading="p99, ms",
    latency_key="p99_ms",
    latency_text=lambda ms: f"{ms:,.0f}",
)


def platform(plan: Plan) -> str:
    """Return the storage mode."""
    return str(plan.mode)


def document(environment: Environment, cluster: str, *, advice: bool = True) -> tuple[Any, Infeasible | None]:
    """Return the JSON document of the plan, with the overrides and the assumed values, and its error if any."""
    choice = environment.clusters[cluster]
    plan = (advised_plan_of if advice else plan_of)(environment, choice)
    overrides = [replace(override, value=redacted(override.key, override.value)) for override in environment.overrides]
    answer = {**plain(plan), "overrides": overrides, "assumed": unstated(environment, choice)}
    return answer, None if plan.meets_targets else infeasible(environment.source, plan)


def columns(environment: Environment, cluster: str) -> tuple[Mapping[Mode, Plan], ColumnTable]:
    """Return the cheapest cluster in each storage mode, and their table."""
    plans = plans_by_mode(environment, environment.clusters[cluster])
    return plans, ColumnTable(
        title="The storage modes side by side",
        names=tuple(mode.name for mode in plans),
        rows=tuple((name, *map(figure, plans.values())) for name, figure in ROWS.items()),
        summaries=tuple(f"{mode}: {mode.summary}" for mode in plans),
    )


CANNOT_SERVE: Final = "-"  # a cluster that cannot serve the load has no price worth comparing
ROWS: Final[Mapping[str, Callable[[Plan], str]]] = {
    "meets the targets": lambda plan: (
        "yes" if plan.meets_targets else f"no; nearest: {plan.nearest[0]}" if plan.nearest else "no"
    ),
    "core nodes": lambda plan: f"{plan.core.count} x {plan.core.instance_type}",
    "data per node": lambda plan: (
        "".join(
            f"{volume.count} x {volume.size_gib:,} GiB {volume.type}"
            for volume in plan.core.volumes
            if volume.purpose != "system"
        )
        or "none"
    ),
    "reads": lambda plan: f"{plan.throughput.reads_per_second:,.0f}/s",
    "at most": lambda plan: f"{plan.throughput.saturation_reads_per_second:,.0f}/s, {plan.throughput.bottleneck}",
    "mean latency": lambda plan: f"{plan.throughput.mean_latency_ms:,.0f} ms",
    "p99 (estimate)": lambda plan: f"{plan.throughput.p99_latency_ms:,.0f} ms",
    "from local disks": lambda plan: (
        format_percent(plan.hit_ratio.predicted)
        + ("" if all(table.cached for table in plan.tables) else " of reads of cached tables")
    ),
    "S3 GETs, warm": lambda plan: f"{plan.s3.gets_per_hour_warm / SECONDS_PER_HOUR:,.0f}/s",
    "warm after": lambda plan: format_duration(plan.warm_up.prefetch_seconds) if plan.bucket_cache else "no cache",
    "snapshot import": lambda plan: format_duration(plan.snapshot.restore_seconds),
    "a month": lambda plan: format_usd(plan.cost.usd_per_month) if plan.feasible else CANNOT_SERVE,
    "for 1,000 reads/s": lambda plan: (
        f"{format_usd(plan.cost.usd_per_month / plan.throughput.reads_per_second * 1000)} a month"
        if plan.feasible
        else CANNOT_SERVE
    ),
}

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
        verdict = (
            "The cluster meets all targets." if plan.meets_targets else "The cluster in the file misses the targets."
        )
        if not plan.feasible:
            nearest = "; or ".join(plan.nearest)
            verdict = f"No cluster meets the targets; this is the nearest one. Best attainable: {nearest}"
        return PlanPage(
            platform=f"{plan.mode} on {plan.release}",
            figures=tuple(figures(plan)),
            verdict=verdict,
            decides=plan.because["core.count"].sentence,
            usd_per_month=plan.cost.usd_per_month,
            warnings=tuple(f"{one.message}. Fix: {one.fix}." for one in plan.warnings),
            plots=plots(plan, world(self.environment).prices),
        )

    def advice(self) -> list[str]:
        """Return sentences that name other block sizes and codecs that would save money."""
        needs = requirements(self.environment, self.cluster)
        options = alternatives(needs, world(self.environment), self.plan)
        return [_advice(option) for option in options] or [NO_ADVICE]


def page_engine(environment: Environment, cluster: str) -> HBaseOnPage:
    """Return the inputs, figures and plots of the cluster's page."""
    return HBaseOnPage(cluster=cluster, tables=tuple(table.name for table in environment.workload.tables))


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


def _advice(option: Alternative) -> str:
    setting = f"{option.setting} {format_size(option.block_bytes)}"
    if option.setting == "COMPRESSION":
        setting = f"{option.setting} {option.codec.upper()}, if it compresses your data {option.compression_ratio:g}:1"
    return f"{format_usd(option.saving_usd_per_month)} less a month with {setting}"


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield the headline figures, the most important one first."""
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices_as_of}"
    price = format_usd(plan.cost.usd_per_month)
    yield Figure(id="price", title="Price per month", text=price, note=f"{rate}, {basis}")
    volumes = volumes_text(plan.core.volumes)
    storage = f"each with {volumes}; " if volumes else ""
    primaries = f"{plan.primary.count} x {plan.primary.instance_type} primary node{'s' * (plan.primary.count > 1)}"
    text = f"{plan.core.count} x {plan.core.instance_type}"
    yield Figure(id="nodes", title="Core nodes", text=text, note=f"{storage}{primaries}")
    load = plan.throughput
    source = "come from local disks once warm" if plan.bucket_cache or plan.hdfs else "need no GET from S3"
    note = f"of {block_reads(plan)} {source}"
    yield Figure(id="hit_ratio", title="Hit ratio", text=format_percent(plan.hit_ratio.predicted), note=note)
    served = f"{load.reads_per_second:,.0f} reads/s"
    if load.offered_reads_per_second is not None and load.reads_per_second < load.offered_reads_per_second:
        served = f"only {load.reads_per_second:,.0f} of {load.offered_reads_per_second:,.0f} reads/s"
    mean, most = format_number(load.mean_latency_ms), f"{load.saturation_reads_per_second:,.0f}"
    note = f"{mean} ms on average, at {served}; at most {most} reads/s (estimates)"
    yield Figure(id="p99", title="p99 latency", text=f"{load.p99_latency_ms:,.0f} ms", note=note)
    text, note = _cold(plan)
    yield Figure(id="cold", title="Cold caches", text=text, note=note)
    lost = plan.bad_hours.lost_node
    note = "the cluster has one core node, so its loss is an outage"
    if lost is not None:
        note = f"with {format_percent(lost.rows_fraction)} of rows offline, then a p99 of {lost.p99_latency_ms:,.0f} ms"
    offline = format_duration(lost.offline_seconds) if lost else "outage"
    yield Figure(id="lost_node", title="Loss of a node", text=offline, note=f"{note} (estimates)")
    note = f"for each server{'; the cache is kept' if plan.bucket_cache else ''} (estimate)"
    yield Figure(id="restart", title="Restart", text=format_duration(plan.restart.seconds), note=note)


def _cold(plan: Plan) -> tuple[str, str]:
    """Return the reads that the cluster serves with cold caches, and the time until they are warm."""
    cold, offered = plan.bad_hours.cold, plan.throughput.offered_reads_per_second
    if cold is None or not plan.bucket_cache:
        return "none", "this storage mode has no cache to warm"
    text = f"{cold.reads_per_second:,.0f} reads/s"
    full = f"the caches are full after {format_duration(plan.warm_up.prefetch_seconds)}"
    if offered is None or cold.carried_seconds == 0:
        return text, f"at first; {full} (estimates)"
    late = "never all" if cold.carried_seconds is None else f"all after {format_duration(cold.carried_seconds)}"
    return text, f"of {offered:,.0f} at first, limited by {cold.bottleneck}; {late}; {full} (estimates)"


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
