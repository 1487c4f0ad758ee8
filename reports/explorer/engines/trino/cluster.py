"""An analytics cluster on the page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from environments.engines.trino.planning import compared_cache_of, trino_plan_of
from environments.environment import Environment
from environments.planning import world
from environments.reader.document import Document
from environments.reader.schema_keys import ANY_TRINO
from reports.engines.trino.compared_caches import NAMES, SUMMARIES
from reports.explorer.drawing import Place, PlanPage
from reports.explorer.engines.trino.figures import decisive, figures, verdict
from reports.explorer.engines.trino.inputs import INPUTS
from reports.explorer.engines.trino.plots import PLACES, plots
from reports.explorer.page_input import PageInput
from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.engines.trino.search import CacheKind
from sizing.units import format_usd

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
        return (entry.within(self._section) for entry in INPUTS)

    def schema_key(self, entry: PageInput) -> str:
        """Return the key in the section of any analytics cluster."""
        return f"clusters.{ANY_TRINO}.{entry.key.removeprefix(self._section)}"

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
