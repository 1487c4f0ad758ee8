"""The cluster to buy if inputs are ranges: the one with the least mean regret over many samples of the ranges.

A sample is one combination of values, one from each range. An option is a cluster that could be bought. Its regret in
a sample is its bill less the bill of the cheapest cluster that meets the targets there. An option that misses a
target is also charged several times the price of the capacity that it lacks. Options are compared within a sample,
never across samples. Source: the minimax regret of Savage, "The theory of statistical decision", 1951, with the mean
in place of the maximum, as in Netflix's service-capacity-modeling; the worst sample is reported beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from sizing.cluster import Volume
from sizing.popularity import Floats
from sizing.prices import PriceTable

__all__ = ["ClusterOption", "Decision", "Indices", "Outcome", "Situation", "parts", "regret_usd"]

Indices = NDArray[np.intp]

MISSED_FACTOR: Final = 3.0
"""judgement: an outage, a night's work and a hasty purchase cost several times as much as the capacity itself."""
PARTS: Final = 4
"""The parts into which the samples are split by one input, to find what knowing it is worth: 32 of 128 in each."""
SHUFFLES: Final = 25  # judgement: random splits, whose gain is chance; their mean is subtracted


class ClusterOption(Struct, frozen=True, kw_only=True, dict=True, cache_hash=True):
    """The core nodes of a cluster that could be bought: their type and number, and the volumes of each."""

    instance_type: str
    count: int
    volumes: tuple[Volume, ...]

    @property
    def family(self) -> str:
        """Return the instance family, such as r8g."""
        return self.instance_type.partition(".")[0]

    @cached_property
    def unsized_volumes(self) -> tuple[Volume, ...]:
        """Return the volumes without their sizes, which decide only their price and the size of the cache."""
        return tuple(replace(volume, size_gib=0) for volume in self.volumes)


class Outcome(Struct, frozen=True, kw_only=True):
    """The bill of one option in one sample, the price of one more node, and the targets that the option misses."""

    usd_per_month: float
    node_usd_per_month: float
    missed: tuple[str, ...]


class Situation(Protocol):
    """A load with its targets, and what there is to buy for it, in one sample of the ranges or in one month.

    Each engine has its own. Everything else about a decision between clusters is the same for both.
    """

    @property
    def environment(self) -> str:
        """Return the name of the environment."""

    @property
    def count_is_fixed(self) -> bool:
        """Return whether the file states the number of nodes."""

    @property
    def most_nodes(self) -> int:
        """Return the most nodes that the cluster may grow to, even if the file states their number."""

    @property
    def prices(self) -> PriceTable:
        """Return the prices of nodes and volumes."""

    @property
    def fixed_usd(self) -> float:
        """Return what any bill contains besides the nodes of an option, in USD a month."""

    @property
    def cheapest(self) -> tuple[ClusterOption, float] | None:
        """Return the cheapest option that meets the targets, and its bill in USD a month; None if none does."""

    @property
    def outcome(self) -> Callable[[ClusterOption], Outcome]:
        """Return a function of an option: its bill, and the targets that it misses."""

    def target(self, field: str) -> float | None:
        """Return the value of a target such as `hit_ratio`; None if none is stated."""

    def with_target(self, field: str, value: float) -> Situation:
        """Return the same situation with another value of a target and without a budget."""


class Decision(Struct, frozen=True, kw_only=True, dict=True):
    """The options, and the outcome of each in every sample.

    `cheapest_usd` is the bill of the cheapest cluster that meets the targets of a sample. It is NaN if no cluster
    meets them, and that sample then counts for no option. A missed target is charged `missed_factor` times the price
    of the missing capacity, which is at least the price of one more node. Shapes: `outcomes` (samples, options),
    `cheapest_usd` (samples,).
    """

    options: Sequence[ClusterOption]
    outcomes: Sequence[Sequence[Outcome]]
    cheapest_usd: Floats
    missed_factor: float = MISSED_FACTOR

    def with_options(self, options: Sequence[ClusterOption], outcomes: Sequence[Sequence[Outcome]]) -> Decision:
        """Return the decision between these options and others, whose outcomes have shape (samples, others)."""
        return replace(
            self,
            options=(*self.options, *options),
            outcomes=[[*row, *others] for row, others in zip(self.outcomes, outcomes, strict=True)],
        )

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Return whether each sample counts, because some cluster meets its targets; shape (samples,)."""
        return np.isfinite(self.cheapest_usd)

    @cached_property
    def regrets(self) -> Floats:
        """Return the regret of each option in USD a month; shape (samples that count, options)."""
        counted = [(row, usd) for row, usd in zip(self.outcomes, self.cheapest_usd, strict=True) if np.isfinite(usd)]
        return np.array([[regret_usd(outcome, usd, self.missed_factor) for outcome in row] for row, usd in counted])

    @cached_property
    def missed(self) -> NDArray[np.bool_]:
        """Return whether each option misses a target; shape (samples, options)."""
        return np.array([[bool(outcome.missed) for outcome in row] for row in self.outcomes])

    @cached_property
    def mean_regrets(self) -> Floats:
        """Return the mean regret of each option in USD a month; shape (options,)."""
        return np.asarray(self.regrets.mean(axis=0))

    @cached_property
    def best(self) -> int:
        """Return the index of the option with the least mean regret; if several have it, that of the cheapest."""
        usd = np.array([[outcome.usd_per_month for outcome in row] for row in self.outcomes]).mean(axis=0)
        return int(np.lexsort((usd, np.round(self.mean_regrets, 6)))[0])

    @property
    def unserved(self) -> int:
        """Return the number of samples in which no cluster meets the targets."""
        return int((~self.counted).sum())

    @property
    def worst(self) -> int:
        """Return the index of the sample in which the best option has the greatest regret."""
        samples = np.flatnonzero(self.counted)
        return int(samples[np.argmax(self.regrets[:, self.best])])

    def best_of(self, family: str) -> int | None:
        """Return the index of the option with the least mean regret in an instance family; None if it has no option."""
        own = [number for number, option in enumerate(self.options) if option.family == family]
        return min(own, key=lambda number: self.mean_regrets[number], default=None)

    def worth(self, values: Mapping[str, Sequence[float]], seed: int) -> dict[str, float]:
        """Return what knowing each input before the purchase is worth, in USD a month.

        `values` has the values of each input, shape (samples,). The samples are split by the input into `PARTS` parts
        of equal size. With the best option for each part, the mean regret is lower. Any split lowers it by chance, so
        the mean gain of random splits is subtracted. This estimates the expected value of partial perfect information
        (Raiffa and Schlaifer, 1961). With so few parts it is too low rather than too high: by a tenth to a quarter in
        trials with a known value.
        """
        counts = self.counted
        rng = np.random.default_rng(seed)
        chance = float(np.mean([self._gain(parts(rng.random(int(counts.sum())))) for _ in range(SHUFFLES)]))
        return {name: max(0.0, self._gain(parts(np.asarray(value)[counts])) - chance) for name, value in values.items()}

    def _gain(self, split: Sequence[Indices]) -> float:
        """Return how much lower the mean regret is if each part of the samples has its best option."""
        least = sum(self.regrets[part].sum(axis=0).min() for part in split if len(part)) / len(self.regrets)
        return float(self.mean_regrets[self.best] - least)


def regret_usd(outcome: Outcome, cheapest_usd: float, missed_factor: float) -> float:
    """Return the regret of an option in a sample, in USD a month, given the bill of the cheapest cluster there.

    A pinned volume is filled further than a planned one, so an option may cost less than that; its regret is then 0.
    """
    extra = outcome.usd_per_month - cheapest_usd
    if outcome.missed:
        extra += missed_factor * max(-extra, outcome.node_usd_per_month)
    return max(0.0, extra)


def parts(values: Floats) -> list[Indices]:
    """Return the samples in parts of equal size, in the order of their values of an input."""
    return np.array_split(np.argsort(values), PARTS)
