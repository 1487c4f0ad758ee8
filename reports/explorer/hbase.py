"""An HBase cluster on the page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from environments.environment import Environment
from environments.planning import plan_of, requirements, world
from environments.reader.document import Document
from reports.explorer.drawing import Place, PlanPage
from reports.explorer.figures import decisive, figures, verdict
from reports.explorer.page_input import PageInput, hbase_inputs
from reports.explorer.plots import PLACES, plots
from sizing.block_advice import alternatives
from sizing.cluster import ClusterChoice
from sizing.modes import MODES
from sizing.plan import Alternative, Plan
from sizing.units import format_size, format_usd

CODEC: Final = "workload.compression.codec"
RATIO: Final = "workload.compression.ratio"
VARIED: Final = "workload."
NO_ADVICE: Final = "Neither another compression nor another block size was found to save money."


class HBasePlanned(Struct, frozen=True, kw_only=True, dict=True):
    """The plan of an HBase cluster, without advice."""

    environment: Environment
    cluster: ClusterChoice

    @cached_property
    def plan(self) -> Plan:
        """Return the plan. Raises Infeasible if nothing is large enough."""
        return plan_of(self.environment, self.cluster)

    @property
    def usd_per_month(self) -> float | None:
        """Return the price; None if the cluster misses its targets."""
        return self.plan.cost.usd_per_month if self.plan.meets_targets else None

    @property
    def column(self) -> str:
        """Return the storage mode."""
        return self.environment.mode.name

    def page(self) -> PlanPage:
        """Return the figures and the plots."""
        plan = self.plan
        return PlanPage(
            place=f"{plan.mode} on {plan.release}",
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
    """One HBase cluster of an environment file."""

    cluster: str

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the places of the plots."""
        return PLACES

    @property
    def columns(self) -> Mapping[str, str]:
        """Return the storage modes."""
        return {name: mode.title for name, mode in MODES.items()}

    @property
    def amount(self) -> str:
        """Return the key of the stored data."""
        return "workload.stored"

    def amount_bytes(self, environment: Environment) -> int:
        """Return the stored data."""
        return environment.workload.stored_bytes

    def inputs(self, document: Document, environment: Environment) -> Iterator[PageInput]:
        """Yield the inputs, without their values."""
        return hbase_inputs(document, environment.clusters[self.cluster])

    def schema_key(self, key: str) -> str:
        """Return the key of the section that a cluster's own workload and targets replace."""
        return ".".join(key.split(".")[2:]) if key.startswith("clusters.") else key

    def varied(self, inputs: Collection[PageInput], values: Mapping[str, str]) -> Iterator[PageInput]:
        """Yield the inputs that are estimates; without a codec, no compression ratio is."""
        codecs = {entry.key: values.get(entry.key, entry.text) for entry in inputs if entry.key == CODEC}
        without = {RATIO} if codecs.get(CODEC) == "none" else set()
        return (entry for entry in inputs if entry.key.startswith(VARIED) and entry.key not in without)

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
