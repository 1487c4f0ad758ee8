"""An analytics cluster's situation: the cheapest workers that serve it, and what any other workers cost and miss."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from sizing.engines.trino.request import TrinoChoice
from sizing.engines.trino.search import MOST_WORKERS, TrinoSearch
from sizing.memoized import memoized
from sizing.prices import PriceTable
from sizing.regret import ClusterOption, Outcome
from sizing.units import HOURS_PER_MONTH

__all__ = ["TrinoSituation"]


class TrinoSituation(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The queries that an analytics cluster must serve within its targets, and what there is to buy."""

    environment: str
    search: TrinoSearch

    @property
    def count_is_fixed(self) -> bool:
        """Return whether the file states the number of workers."""
        return self.search.choice.workers.count is not None

    @property
    def most_nodes(self) -> int:
        """Return the most workers that the cluster may grow to, even if the file states their number."""
        return MOST_WORKERS

    @property
    def prices(self) -> PriceTable:
        """Return the prices of nodes and volumes."""
        return self.search.world.prices

    @property
    def fixed_usd(self) -> float:
        """Return what any bill contains besides the workers, in USD a month."""
        return self.search.fixed_usd

    @cached_property
    def cheapest(self) -> tuple[ClusterOption, float] | None:
        """Return the cheapest workers that meet the targets, and their bill in USD a month; None if none do."""
        best = self.search.run()[0]
        if best.shortfalls:
            return None
        workers = best.workers
        option = ClusterOption(instance_type=workers.instance.name, count=workers.count, volumes=workers.volumes)
        return option, best.usd_per_month

    def target(self, field: str) -> float | None:
        """Return the value of a target; None if none is stated."""
        value: float | None = getattr(self.search.choice.targets, field)
        return value

    def with_target(self, field: str, value: float) -> TrinoSituation:
        """Return the same situation with another value of a target and without a budget."""
        choice = self.search.choice
        targets = replace(choice.targets, budget_usd_per_month=None, **{field: value})
        return self.with_choice(replace(choice, targets=targets))

    def after(self, months: int, rate: float) -> TrinoSituation:
        """Return the situation after this many months, in which the working set and the queries grow.

        What a query scans stays the same, and the budget is ignored.
        """
        choice, factor = self.search.choice, (1 + rate) ** months
        workload = replace(
            choice.workload,
            working_set_bytes=round(choice.workload.working_set_bytes * factor),
            queries_per_second=choice.workload.queries_per_second * factor,
            peak_queries_per_second=choice.workload.peak_queries_per_second * factor,
        )
        targets = replace(choice.targets, budget_usd_per_month=None)
        return self.with_choice(replace(choice, workload=workload, targets=targets))

    def with_choice(self, choice: TrinoChoice) -> TrinoSituation:
        """Return another situation in the same world."""
        return replace(self, search=replace(self.search, choice=choice))

    @cached_property
    def outcome(self) -> Callable[[ClusterOption], Outcome]:
        """Return a function of an option: its bill, and the targets that it misses."""
        return memoized(self._outcome)

    def _outcome(self, option: ClusterOption) -> Outcome:
        """Return the outcome of an option as if it were pinned; its cache is as large as its volumes allow."""
        evaluated = self.search.evaluate(self.search.workers(option.instance_type, option.count, option.volumes))
        price = self.search.world.prices.compute[option.instance_type]
        return Outcome(
            usd_per_month=evaluated.usd_per_month,
            node_usd_per_month=price.usd_per_hour * HOURS_PER_MONTH,
            missed=tuple(shortfall.target for shortfall in evaluated.shortfalls),
        )
