"""The cluster to buy where inputs are known as ranges: the one of least mean regret over many samples of them.

The regret of a cluster in a sample is what it costs more than the cheapest cluster that meets the targets there. A
cluster that misses a target is charged several times the money that would have met it, as well. Clusters are
compared within a sample, never between two. Source of the rule: minimax regret of Savage, "The theory of statistical
decision", 1951, with the mean in place of the maximum, as in Netflix's service-capacity-modeling; the worst sample is
reported beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sizing.bill import candidate_cost
from sizing.candidate import FEWEST_SURVIVORS, Candidate
from sizing.cluster import Volume
from sizing.disks import pinned_layout
from sizing.inputs import SizingInputs
from sizing.memory import NotEnoughMemory
from sizing.popularity import Floats
from sizing.requirements import Requirements, World
from sizing.search import cheapest_serving
from sizing.shortfalls import shortfalls
from sizing.units import HOURS_PER_MONTH

__all__ = ["ClusterOption", "Decision", "Outcome", "cheapest_option", "outcomes"]

MISSED_FACTOR: Final = 3.0
"""judgement: an outage, a night's work and a hasty purchase cost several times what the capacity would have."""
PARTS: Final = 4
"""Parts into which the samples are split by one input, to see what knowing it is worth: 32 of 128 in each."""
SHUFFLES: Final = 25  # judgement: splits at random, whose apparent worth is chance; 25 settle the mean to a tenth


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOption:
    """Core nodes that could be bought, whatever the inputs turn out to be."""

    instance_type: str
    count: int
    volumes: tuple[Volume, ...]

    @property
    def family(self) -> str:
        """Return the instance family, such as r8g."""
        return self.instance_type.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One option in one sample: its bill, the price of another node, and the targets that it misses."""

    usd_per_month: float
    node_usd_per_month: float
    missed: tuple[str, ...]


def cheapest_option(requirements: Requirements, world: World) -> tuple[ClusterOption, float] | None:
    """Return the cheapest cluster that meets the targets, and its bill in USD a month; None if none does."""
    try:
        best = cheapest_serving(SizingInputs.new(requirements, world))
    except NotEnoughMemory:
        return None
    if best is None or not best.serves:
        return None
    candidate = best.candidate
    option = ClusterOption(
        instance_type=candidate.instance.name, count=candidate.count, volumes=candidate.layout.volumes
    )
    return option, best.usd_per_month


def outcomes(requirements: Requirements, world: World, options: Sequence[ClusterOption]) -> list[Outcome]:
    """Return what the options would cost and miss under these requirements."""
    question = SizingInputs.new(requirements, world)
    return [_outcome(question, option) for option in options]


def _outcome(question: SizingInputs, option: ClusterOption) -> Outcome:
    """Evaluate the option as a cluster that the environment file pins: its volumes hold the cache that then fits."""
    world, survivors = question.world, max(FEWEST_SURVIVORS, option.count - question.requirements.targets.lost_nodes)
    candidate = Candidate(
        question=question,
        instance=world.instance_types[option.instance_type],
        count=option.count,
        layout=pinned_layout(question, option.volumes, survivors),
    )
    return Outcome(
        usd_per_month=candidate_cost(candidate).usd_per_month,
        node_usd_per_month=world.prices.compute[option.instance_type].usd_per_hour * HOURS_PER_MONTH,
        missed=tuple(shortfall.target for shortfall in shortfalls(candidate)),
    )


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The options, and how each fares in every sample.

    `cheapest_usd` is the bill of the cheapest cluster that meets the targets of a sample; NaN if none does, and then
    the sample says nothing about the options. A missed target is charged `missed_factor` times the money that would
    have met it, which is at least the price of another node. Shapes: `outcomes` (samples, options), `cheapest_usd`
    (samples,).
    """

    options: Sequence[ClusterOption]
    outcomes: Sequence[Sequence[Outcome]]
    cheapest_usd: Floats
    missed_factor: float = MISSED_FACTOR

    def with_options(self, other: Decision) -> Decision:
        """Return the decision between these options and those of another one about the same samples."""
        return replace(
            self,
            options=(*self.options, *other.options),
            outcomes=[[*mine, *theirs] for mine, theirs in zip(self.outcomes, other.outcomes, strict=True)],
        )

    @cached_property
    def regrets(self) -> Floats:
        """Return the regret of each option in USD a month; shape (samples that count, options)."""
        counts = np.isfinite(self.cheapest_usd)
        usd, node_usd = (
            np.array([[getattr(outcome, name) for outcome in row] for row in self.outcomes], dtype=float)[counts]
            for name in ("usd_per_month", "node_usd_per_month")
        )
        cheapest = self.cheapest_usd[counts, None]
        short = np.maximum(cheapest - usd, node_usd)
        return np.asarray(usd - cheapest + np.where(self.missed[counts], self.missed_factor * short, 0.0))

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
        """Return the number of the option of least mean regret; of equal ones, the cheaper one."""
        usd = np.array([[outcome.usd_per_month for outcome in row] for row in self.outcomes]).mean(axis=0)
        return int(np.lexsort((usd, np.round(self.mean_regrets, 6)))[0])

    @property
    def unserved(self) -> int:
        """Return the number of samples in which no cluster meets the targets."""
        return int(np.isnan(self.cheapest_usd).sum())

    @property
    def worst(self) -> int:
        """Return the number of the sample in which the chosen option has the greatest regret."""
        counting = np.flatnonzero(np.isfinite(self.cheapest_usd))
        return int(counting[np.argmax(self.regrets[:, self.best])])

    def best_of(self, family: str) -> int | None:
        """Return the option of least mean regret in an instance family; None if no option is of it."""
        own = [number for number, option in enumerate(self.options) if option.family == family]
        return min(own, key=lambda number: self.mean_regrets[number], default=None)

    def worth(self, values: Mapping[str, Sequence[float]], seed: int) -> dict[str, float]:
        """Return what knowing each input before the purchase is worth, in USD a month; `values` has shape (samples,).

        The samples are split by the input into `PARTS` of equal size. With the best option for each part, the mean
        regret is lower; by chance it is lower for any split, so the mean of random splits is taken off. This is an
        estimate of the expected value of partial perfect information (Raiffa and Schlaifer, 1961).
        """
        counts = np.isfinite(self.cheapest_usd)
        rng = np.random.default_rng(seed)
        chance = float(np.mean([self._gain(rng.permutation(int(counts.sum()))) for _ in range(SHUFFLES)]))
        return {
            name: max(0.0, self._gain(np.argsort(np.asarray(value)[counts])) - chance) for name, value in values.items()
        }

    def _gain(self, order: NDArray[np.intp]) -> float:
        """Return how much lower the mean regret is if each part of the samples, in this order, has its own option."""
        parts = np.array_split(self.regrets[order], PARTS)
        least = sum(len(part) * part.mean(axis=0).min() for part in parts if len(part)) / len(order)
        return float(self.mean_regrets[self.best] - least)
