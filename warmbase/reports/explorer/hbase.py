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
    GIB,
    KIB,
    MIB,
    SECONDS_PER_HOUR,
    TIB,
    format_duration,
    format_number,
    format_percent,
    format_size,
    format_usd,
)
from warmbase.reports.explorer.drawing import Figure, Place, PlanPage
from warmbase.reports.explorer.page_input import (
    BUDGET,
    HIT_RATIO,
    LOST_NODES,
    NONE,
    SKEWS,
    PageInput,
    has_value,
    table_section,
)
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

    def schema_key(self, entry: PageInput) -> str:
        """Return the key of the section that a table, or a cluster's own workload and targets, replace."""
        if entry.table:
            return path_text((WORKLOAD, *entry.path[len(TABLES) + 1 :]))
        return path_text(entry.path[2:]) if entry.path[0] == "clusters" else entry.key

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


# judgement: the ends of the sliders; the values of common clusters on EMR lie between them.
WORKLOAD_INPUTS: Final = (
    PageInput(
        key="stored", section="Data", title="Stored data", kind="size", least=50 * GIB, most=100 * TIB, is_scaled=True
    ),
    PageInput(
        key="row", section="Data", title="Bytes read per row", kind="size", least=128, most=4 * MIB, is_scaled=True
    ),
    PageInput(key="cell", section="Data", title="Size of a cell value", kind="size", least=16, most=MIB),
    PageInput(
        key="block_size",
        section="Data",
        title="Block size",
        kind="choice",
        choices=("8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB"),
    ),
    PageInput(
        key="compression.codec",
        section="Data",
        title="Compression",
        kind="choice",
        choices=(NONE, "snappy", "lz4", "zstd", "gz"),
    ),
    PageInput(
        key="compression.ratio",
        section="Data",
        title="Compression ratio",
        kind="ratio",
        least=1,
        most=10,
        needs="compression.codec",
        without="1.0",
    ),
    PageInput(
        key="popularity", section="Load", title="Read skew (Zipf exponent)", kind="skew", least=0, most=1.5, stops=SKEWS
    ),
    PageInput(
        key="writes.bytes_per_second",
        section="Load",
        title="Bytes written per second",
        kind="size",
        least=KIB,
        most=100 * MIB,
    ),
)
"""The inputs of a workload, or of one of its tables; the keys are relative to that section."""
RATE: Final = PageInput(
    key="per_second", section="Load", title="Reads per second", kind="count", least=10, most=100_000, is_scaled=True
)
PEAK: Final = PageInput(
    key="peak_per_second",
    section="Load",
    title="Reads per second in the busiest hour",
    kind="count",
    least=10,
    most=100_000,
    optional=True,
)
DAILY_PEAK: Final = PageInput(
    key="seasons.peak",
    section="Load",
    title="Reads in the busiest hours, as a multiple of the mean",
    kind="multiple",
    least=1,
    most=8,
    stops=("1x", "1.5x", "2x", "3x", "4x"),
)
OPEN_LOAD: Final = (RATE, PEAK)
OPEN_LOAD_WITH_SEASONS: Final = (RATE, DAILY_PEAK)
CLOSED_LOAD: Final = (
    PageInput(
        key="concurrency", section="Load", title="Reads in flight", kind="count", least=1, most=10_000, is_scaled=True
    ),
)
TARGETS: Final = (
    HIT_RATIO,
    PageInput(
        key="p99",
        section="Targets",
        title="Maximum p99 latency",
        kind="time",
        least=0.002,
        most=5,
        optional=True,
    ),
    PageInput(
        key="warm_up",
        section="Targets",
        title="Maximum warm-up time",
        kind="time",
        least=SECONDS_PER_HOUR / 2,
        most=72 * SECONDS_PER_HOUR,
        optional=True,
    ),
    LOST_NODES,
    BUDGET,
)
MODE: Final = PageInput(
    key="storage.mode",
    section="Storage",
    title="Storage mode",
    kind="choice",
    choices=tuple(MODES),
    stops=tuple(MODES),
)


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
    yield from (entry.within(f"{section}targets." if cluster.targets else "targets.") for entry in TARGETS)
    yield MODE


def _of_workload(document: Document, section: str, reads: str, table: str = "") -> Iterator[PageInput]:
    """Yield the inputs of a workload or of one of its tables, whose reads may be stated elsewhere."""
    for entry in (one.within(section, table) for one in WORKLOAD_INPUTS):
        if entry.path[-1] != "stored" or not has_value(document, (*entry.path[:-1], "inspection")):
            yield entry
    closed = [one.within(reads, table) for one in CLOSED_LOAD]
    is_closed = any(has_value(document, entry.path) for entry in closed)
    open_load = OPEN_LOAD_WITH_SEASONS if has_value(document, DAILY_PEAK.within(reads, table).path) else OPEN_LOAD
    yield from closed if is_closed else (one.within(reads, table) for one in open_load)
