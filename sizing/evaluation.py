"""A candidate with its bill and the targets that it misses, and the result of a search."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sizing.candidate import Candidate
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.shortfalls import Shortfall
from sizing.units import format_usd

__all__ = ["Evaluation", "SearchResult", "Unevaluated", "budget_missed"]


class Evaluation(Struct, frozen=True, kw_only=True):
    """A candidate with what its cluster costs in a month, and the targets it misses."""

    candidate: Candidate
    usd_per_month: float
    shortfalls: Sequence[Shortfall]

    @property
    def serves(self) -> bool:
        """Return whether the candidate meets all targets."""
        return not self.shortfalls

    @property
    def lacks_memory(self) -> bool:
        """Return whether the nodes lack the memory to run at all."""
        return self.misses({"memory"})

    def misses(self, targets: frozenset[str] | set[str]) -> bool:
        """Return whether the candidate misses one of these targets."""
        return any(shortfall.target in targets for shortfall in self.shortfalls)

    @property
    def rank(self) -> tuple[bool, int, float, int]:
        """Return the order of candidates: those that can run, then fewest shortfalls, lowest price, fewest nodes."""
        return (self.lacks_memory, len(self.shortfalls), self.usd_per_month, self.candidate.count)


class Unevaluated(Struct, frozen=True, kw_only=True):
    """A type that was not evaluated, because even the fewest nodes that could serve cost more than the winner."""

    instance: InstanceType
    count: int
    least_usd_per_month: float


class SearchResult(Struct, frozen=True, kw_only=True):
    """The cheapest candidate that serves, or else the nearest, and the nearest of every other type.

    `evaluated` candidates had everything computed, `pruned` clusters (types and counts) were too dear or too weak to
    look at.
    """

    best: Evaluation
    others: tuple[Evaluation, ...]
    dearer: tuple[Unevaluated, ...]
    evaluated: int
    pruned: int


def budget_missed(question: SizingInputs, usd_per_month: float) -> list[Shortfall]:
    """Return the shortfall of a bill that exceeds the budget; empty if it does not."""
    budget = question.requirements.targets.budget_usd_per_month
    if budget is None or usd_per_month <= budget:
        return []
    reason = f"it costs {format_usd(usd_per_month)} a month; the budget is {format_usd(budget)}"
    return [
        Shortfall(
            target="budget",
            reason=reason,
            bottleneck=None,
            actual=usd_per_month,
            limit=budget,
            unit="USD/month",
        )
    ]
