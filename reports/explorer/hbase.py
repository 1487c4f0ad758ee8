"""An HBase cluster on the page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from environments.environment import Environment
from environments.planning import plan_search_of, requirements, world
from environments.reader.assignment import TABLES
from environments.reader.document import Document, YamlPath, path_text
from reports.explorer.drawing import Place, PlanPage
from reports.explorer.figures import decisive, figures, verdict
from reports.explorer.hbase_inputs import hbase_inputs
from reports.explorer.page_input import PageInput
from reports.explorer.plots import places, plots
from sizing.block_advice import alternatives
from sizing.calculator import PlanSearch
from sizing.cluster import ClusterChoice
from sizing.modes import MODES
from sizing.plan import Alternative, Plan
from sizing.units import format_size, format_usd

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
