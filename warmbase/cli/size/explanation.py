"""An explanation as text: the figure, a sentence, the formula, its inputs and the source.

`word_paths` leads from the words on the pages of a plan to the figures that each stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from warmbase.cli.page import Paragraph, Part
from warmbase.cli.size.plan_summary import export_text, peak_text, table_text
from warmbase.environments.environment import Override
from warmbase.environments.unstated import Unstated
from warmbase.ground.errors import fix_line
from warmbase.ground.secret import redacted
from warmbase.ground.units import amount_text, format_duration, format_number, format_percent, format_size, format_usd
from warmbase.sizing.explanation import Explanation
from warmbase.sizing.plan import Plan
from warmbase.sizing.recovery.export import REGIONS
from warmbase.sizing.service.inputs import UTILISATION
from warmbase.sizing.service.resource import Resource

THOUSAND: Final = 1000
UNITS: Final[Mapping[str, Callable[[str, float], str]]] = {
    "memory.parts.": lambda number, value: f"{number} B ({format_size(value)})",
    "_bytes": lambda number, value: f"{number} B ({format_size(value)})",
    "_mib_s": lambda number, _: f"{number} MiB/s",
    "_mib": lambda number, _: f"{number} MiB",
    "_gib": lambda number, _: f"{number} GiB",
    "_ms": lambda number, _: f"{number} ms",
    "seconds": lambda number, value: f"{number} s ({format_duration(value)})",
    "_per_second": lambda number, _: f"{number}/s",
    "usd_per_month": lambda _, value: f"{format_usd(value)} a month",
    "_fraction": lambda _, value: format_percent(value),
    "lower_limit": lambda _, value: format_percent(value),
    "hit_ratio.": lambda _, value: format_percent(value),
    "busiest_server.": lambda number, _: f"{number} times the mean",
}
"""How a figure is shown with its unit, by a part of its path; the first that fits. Others are counts or names."""


class AnyPlan(Protocol):
    """A plan of any engine."""

    def figure(self, path: str) -> object:
        """Return the figure at that path."""


def explanation_parts(path: str, explanation: Explanation, plan: AnyPlan) -> Iterator[Part]:
    """Yield the figure at a path of the plan, and why it is what it is."""
    yield f"{path} = {_value(path, plan)}"
    yield from list_parts([f"  {explanation.sentence}", f"  {explanation.formula}"])
    for name, quantity in explanation.facts.items():
        yield f"    {name:<20} {quantity!s:<18} {quantity.source}"
    yield Paragraph(text=f"source: {explanation.source}", indent=2)


def list_parts(lines: Iterable[str]) -> Iterator[Paragraph]:
    """Yield each line as a paragraph, indented where the line is."""
    for line in lines:
        yield Paragraph(text=line.strip(), indent=2 if line.startswith(" ") else 0)


def _value(path: str, plan: AnyPlan) -> str:
    value = plan.figure(path)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if not isinstance(value, int | float):
        return str(value)
    number = f"{value:,.4g}" if isinstance(value, float) and value < THOUSAND else f"{value:,.0f}"
    return next((text(number, value) for part, text in UNITS.items() if part in path), number)


BAD_HOURS: Final = "bad_hours."
WORDS: Final[Mapping[str, Sequence[str]]] = {
    "buy": ("core.instance_type", "core.count", "primary.instance_type"),
    "core": ("core.instance_type", "core.count"),
    "primary": ("primary.instance_type",),
    "price": ("cost.usd_per_month",),
    "cost": ("cost.usd_per_month",),
    "month": ("cost.usd_per_month",),
    "total": ("cost.usd_per_month",),
    "bill": ("cost.usd_per_month",),
    "warm": ("throughput.mean_latency_ms", "hit_ratio.predicted", "throughput.bottleneck"),
    "hit ratio": ("hit_ratio.predicted",),
    "reads": ("throughput.bottleneck", "throughput.mean_latency_ms"),
    "latency": ("throughput.mean_latency_ms", "throughput.p99_latency_ms"),
    "p99": ("throughput.p99_latency_ms",),
    "in flight": ("throughput.mean_latency_ms",),
    "saturates": ("throughput.bottleneck", "throughput.utilisation_fraction"),
    "busiest": ("throughput.busiest_server.requests", "throughput.busiest_server.blocks"),
    "writes": ("writes.bottleneck",),
    "cache": ("bucket_cache.size_mib", "core.volumes.cache.size_gib"),
    "knee": ("hit_ratio.predicted", "bucket_cache.size_mib"),
    "warm-up": ("warm_up.prefetch_seconds",),
    "boost": ("warm_up.prefetch_seconds",),
    "cold": (f"{BAD_HOURS}cold.reads_per_second", f"{BAD_HOURS}cold.carried_seconds"),
    "s3": (f"{BAD_HOURS}cold.gets_per_second", "s3_connections"),
    "a node lost": (f"{BAD_HOURS}lost_node.offline_seconds", f"{BAD_HOURS}lost_node.offline_with_meta_seconds"),
    "node lost": (f"{BAD_HOURS}lost_node.offline_seconds", f"{BAD_HOURS}lost_node.offline_with_meta_seconds"),
    "replaced": (f"{BAD_HOURS}replaced_node.seconds",),
    "load": (f"{BAD_HOURS}initial_load_seconds",),
    "snapshot": ("snapshot.export_seconds", "snapshot.restore_seconds"),
    "restart": ("restart.seconds", "restart.away_seconds", "restart.retain_retries"),
    "decides": ("core.count", "core.instance_type", "throughput.bottleneck"),
    "bucketcache": ("bucket_cache.size_mib",),
    "bucket sizes": ("bucket_cache.bucket_sizes",),
    "heap": ("heap.xmx_mib", "heap.l1_fraction", "heap.memstore_fraction"),
    "ram in gib": ("memory.parts.jvm", "memory.parts.direct", "memory.parts.page_cache"),
    "page cache": ("memory.parts.page_cache",),
    "regions": ("regions.mean_bytes", "regions.split_bytes"),
    "cache index": ("persistence.index_bytes", "persistence.interval_ms"),
}
"""Labels and usual words in lower case; a plan without a cache, say, has no figure for some of them."""
ASSUMED: Final = frozenset({"assumed", "assumptions"})
WATCH: Final = frozenset({"watch", "warnings", "nearest"})
SAVES: Final = frozenset({"saves", "saves money"})
OVERRIDES: Final = "overrides"
TABLES: Final = "tables"
EXPORT: Final = "export"
PEAKS: Final = frozenset({"peak hour", "daily peak"})
PLAIN: Final = {
    TABLES: "tables",
    EXPORT: "scan_exports",
    **dict.fromkeys(SAVES, "alternatives"),
    **dict.fromkeys(PEAKS, "peak"),
}
"""The parts of a plan that an answer in JSON repeats as they are."""
LISTS: Final = ASSUMED | WATCH | SAVES | PEAKS | {OVERRIDES, TABLES, EXPORT}
"""Words for parts: values that nobody stated, warnings, what would save money, overrides, tables, exports, the peak."""


def is_word(word: str, plan: Plan) -> bool:
    """Return whether a page of the plan has this word, and it is no figure's own path."""
    is_resource = any(resource.name == word for resource in plan.throughput.resources)
    return word in WORDS or word in LISTS or (is_resource and word not in plan.because)


def word_paths(word: str, plan: Plan) -> tuple[str, ...]:
    """Return the paths of the explanations that this plan has for a word."""
    return tuple(path for path in WORDS.get(word, ()) if path in plan.because)


def listed(word: str, plan: Plan, assumed: Sequence[Unstated], overrides: Sequence[Override]) -> Iterator[str]:
    """Yield the entries of the list that a word names, each followed by indented lines."""
    if word in ASSUMED:
        for value in assumed:
            yield f"{value.value} ({value.key})"
            yield f"  {value.effect}"
        yield "State a value in the environment file, or try it: warmbase plan ENV --set KEY=VALUE"
    elif word in SENTENCES:
        yield from SENTENCES[word](plan)
    elif word == OVERRIDES:
        for override in overrides:
            yield f"{override.classification} {override.key} = {redacted(override.key, override.value)}"
            yield f"  {override.where}"
        yield f"{len(overrides)} overrides in the environment file"
    yield from (_resource(resource, plan) for resource in plan.throughput.resources if resource.name == word)
    if word in WORDS and not word_paths(word, plan):
        yield f"this plan has no such figure, because its mode is {plan.mode}"


def _warnings(plan: Plan) -> Iterator[str]:
    if not plan.nearest and not plan.warnings:
        yield "The plan has no warnings."
    yield from plan.nearest
    for warning in plan.warnings:
        yield f"{warning.severity}: {warning.message}"
        yield f"  {fix_line(warning.fix)}"


def _tables(plan: Plan) -> Iterator[str]:
    yield from map(table_text, plan.tables)
    if not plan.tables:
        yield "The environment file describes one workload for all tables."


def _exports(plan: Plan) -> Iterator[str]:
    if not plan.scan_exports:
        yield "A closed load uses all the capacity of the cluster, so the plan does not estimate an export beside it."
        return
    if plan.bucket_cache:
        yield (
            "A scan with setCacheBlocks(false) takes blocks from the cache but adds none to it. Each hit counts as a"
            " use, so blocks of the exported table stay in the cache longer, and other tables have fewer hits for some"
            " time."
        )
    most = format_percent(UTILISATION)
    yield f"The estimate assumes that load and scan together use at most {most} of each resource."
    if not plan.hdfs:
        yield (
            "If fs.s3a.experimental.input.fadvise is sequential, neighbouring blocks that are not cached come from S3"
            " with one GET; if it is random, each of these blocks takes one GET."
        )
    for export in plan.scan_exports:
        yield export_text(export)
        limit = (
            "one scanner per region, which reads one block at a time"
            if export.limit == REGIONS
            else f"{export.limit}, which the scan shares with the load"
        )
        yield (
            f"  {export.blocks:,} blocks, {format_percent(export.cached_fraction)} of them on the nodes' disks; at most"
            f" {export.blocks_per_second:,.0f} blocks/s, limited by {limit}"
        )


def _savings(plan: Plan) -> Iterator[str]:
    if not plan.alternatives:
        yield "Neither another compression nor another block size was found to save money."
    for alternative in plan.alternatives:
        compressed = alternative.setting == "COMPRESSION"
        setting = alternative.codec.upper() if compressed else format_size(alternative.block_bytes)
        yield f"{alternative.setting} {setting} saves {format_usd(alternative.saving_usd_per_month)} a month"


def _peak(plan: Plan) -> Iterator[str]:
    if plan.peak is None:
        yield "The environment file states no peak, so the busiest hour has the mean load."
        return
    yield peak_text(plan, plan.peak)
    mean = f"{plan.throughput.reads_per_second:,.0f} reads/s"
    yield f"The cluster is sized for the peak. The bill for requests to S3 follows from the mean load of {mean}."


SENTENCES: Final[Mapping[str, Callable[[Plan], Iterator[str]]]] = {
    TABLES: _tables,
    EXPORT: _exports,
    **dict.fromkeys(WATCH, _warnings),
    **dict.fromkeys(SAVES, _savings),
    **dict.fromkeys(PEAKS, _peak),
}
"""The sentences about each part of a plan that needs no more than the plan."""


def _resource(resource: Resource, plan: Plan) -> str:
    """Return how much of a resource there is, what a read takes of it, and how many reads that carries."""
    most, demand = (
        resource.max_reads_per_second,
        amount_text(resource.demand_per_read, resource.unit.removesuffix("/s")),
    )
    capacity = amount_text(resource.capacity, resource.unit)
    if not math.isfinite(most):
        return f"{resource.name}: the cluster has {capacity}, and a read takes none of it"
    used = format_percent(plan.throughput.reads_per_second / most)
    busiest = f", and the busiest server carries {format_number(resource.imbalance)} times the mean load"
    return (
        f"{resource.name}: the cluster has {capacity}, a read takes {demand}{busiest}: {most:,.0f} reads/s at most, "
        f"{used} used"
    )


def word_document(
    word: str, plan: Plan, assumed: Sequence[Unstated], overrides: Sequence[Override]
) -> dict[str, object]:
    """Return the answer as a document: the explanations by path, or the entries of the list."""
    if word in WORDS:
        return {"because": {path: plan.because[path] for path in word_paths(word, plan)}}
    if word in ASSUMED:
        return {"assumed": assumed}
    if word in PLAIN:
        return {PLAIN[word]: getattr(plan, PLAIN[word])}
    if word in WATCH:
        return {"nearest": plan.nearest, "warnings": plan.warnings}
    if word == OVERRIDES:
        return {"overrides": [replace(entry, value=redacted(entry.key, entry.value)) for entry in overrides]}
    return {"resources": [resource for resource in plan.throughput.resources if resource.name == word]}
