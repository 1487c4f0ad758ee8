"""The cluster to buy if inputs are ranges: the one with the least mean regret over many samples of the ranges.

A sample is one combination of values, one from each range. An option is a cluster that could be bought. Its regret in
a sample is its bill less the bill of the cheapest cluster that meets the targets there. An option that misses a
target is also charged several times the price of the capacity that it lacks. Options are compared within a sample,
never across samples. Source: the minimax regret of Savage, "The theory of statistical decision", 1951, with the mean
in place of the maximum, as in Netflix's service-capacity-modeling; the worst sample is reported beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from sizing.bill import billed_groups, candidate_bill
from sizing.candidate import FEWEST_SURVIVORS, Candidate
from sizing.cluster import Layout, Volume
from sizing.cost import Bill, bill_usd
from sizing.disks import hdfs_volumes, pinned_layout
from sizing.evaluation import budget_missed
from sizing.inputs import SizingInputs
from sizing.memoized import memoized
from sizing.memory import NotEnoughMemory
from sizing.popularity import Floats
from sizing.requirements import Requirements, World
from sizing.search import cheapest_serving, fewest_nodes
from sizing.shortfalls import shortfalls
from sizing.units import HOURS_PER_MONTH

__all__ = ["ClusterOption", "Decision", "Outcome", "Situation"]

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


class Situation(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The requirements that a cluster must meet, and what there is to buy, in one sample of the ranges or one month."""

    requirements: Requirements
    world: World

    @cached_property
    def question(self) -> SizingInputs:
        """Return what all candidates share."""
        return SizingInputs.new(self.requirements, self.world)

    @cached_property
    def cheapest(self) -> tuple[ClusterOption, float] | None:
        """Return the cheapest option that meets the targets, and its bill in USD a month; None if none does."""
        try:
            best = cheapest_serving(self.question)
        except NotEnoughMemory:
            return None
        if best is None or not best.serves:
            return None
        candidate = best.candidate
        option = ClusterOption(
            instance_type=candidate.instance.name, count=candidate.count, volumes=candidate.layout.volumes
        )
        return option, best.usd_per_month

    @cached_property
    def outcome(self) -> Callable[[ClusterOption], Outcome]:
        """Return a function of an option: its bill, and the targets that it misses."""
        return memoized(self._outcome)

    def _outcome(self, option: ClusterOption) -> Outcome:
        """Return the outcome of an option as if it were pinned; its cache is as large as its volumes allow."""
        question, prices = self.question, self.world.prices
        survivors = max(FEWEST_SURVIVORS, option.count - self.requirements.targets.lost_nodes)
        cache_mib = pinned_layout(question, option.volumes, survivors).cache_mib
        bill, missed = self._evaluation(
            option.instance_type, option.count, Layout(cache_mib=cache_mib, volumes=option.unsized_volumes)
        )
        groups = billed_groups(question, option.instance_type, option.count, option.volumes)
        usd_per_month = bill_usd(groups, bill, prices)
        return Outcome(
            usd_per_month=usd_per_month,
            node_usd_per_month=prices.compute[option.instance_type].usd_per_hour * HOURS_PER_MONTH,
            missed=(
                *_impossible(question, option),
                *missed,
                *(shortfall.target for shortfall in budget_missed(question, usd_per_month)),
            ),
        )

    @cached_property
    def _evaluation(self) -> Callable[[str, int, Layout], tuple[Bill, tuple[str, ...]]]:
        """Return a function of nodes and their layout: what is billed beside them, and the targets that they miss.

        The budget is not among these targets. Many options differ only in the size of their volumes, and where all data
        fit, their caches are equally large.
        """
        return memoized(self._evaluated)

    def _evaluated(self, instance_type: str, count: int, layout: Layout) -> tuple[Bill, tuple[str, ...]]:
        instance = self.world.instance_types[instance_type]
        candidate = Candidate(question=self.question, instance=instance, count=count, layout=layout)
        return candidate_bill(candidate), tuple(shortfall.target for shortfall in shortfalls(candidate))


def _impossible(question: SizingInputs, option: ClusterOption) -> Iterator[str]:
    """Yield the targets that no cluster of such nodes could meet, because it would lack nodes, regions or disks.

    A search proposes no such cluster, but the option is the cluster of another sample.
    """
    needs, fixed = question.requirements, question.requirements.cluster.core.count is not None
    if not fixed and option.count < fewest_nodes(question):
        yield "lost_nodes"
    if not fixed and option.count > max(fewest_nodes(question), needs.workload.regions + needs.targets.lost_nodes):
        yield "regions"
    data = next((volume for volume in option.volumes if volume.purpose == "data"), None)
    if data is not None:
        size_gib, count = hdfs_volumes(question, max(FEWEST_SURVIVORS, option.count - needs.targets.lost_nodes))
        if data.size_gib * data.count < size_gib * count:
            yield "volume"


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

    def with_options(self, other: Decision) -> Decision:
        """Return the decision between these options and those of another decision over the same samples."""
        return replace(
            self,
            options=(*self.options, *other.options),
            outcomes=[[*row, *others] for row, others in zip(self.outcomes, other.outcomes, strict=True)],
        )

    @cached_property
    def regrets(self) -> Floats:
        """Return the regret of each option in USD a month; shape (samples that count, options)."""
        counts = np.isfinite(self.cheapest_usd)
        usd, node_usd = (
            np.array([[getattr(outcome, name) for outcome in row] for row in self.outcomes], dtype=float)[counts]
            for name in ("usd_per_month", "node_usd_per_month")
        )
        # A pinned volume is filled further than a planned one, so an option may cost less than the search has found.
        serving = np.where(self.missed[counts], np.inf, usd).min(axis=1)
        cheapest = np.minimum(self.cheapest_usd[counts], serving)[:, None]
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
        """Return the index of the option with the least mean regret; if several have it, that of the cheapest."""
        usd = np.array([[outcome.usd_per_month for outcome in row] for row in self.outcomes]).mean(axis=0)
        return int(np.lexsort((usd, np.round(self.mean_regrets, 6)))[0])

    @property
    def unserved(self) -> int:
        """Return the number of samples in which no cluster meets the targets."""
        return int(np.isnan(self.cheapest_usd).sum())

    @property
    def worst(self) -> int:
        """Return the index of the sample in which the best option has the greatest regret."""
        samples = np.flatnonzero(np.isfinite(self.cheapest_usd))
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
        counts = np.isfinite(self.cheapest_usd)
        rng = np.random.default_rng(seed)
        chance = float(np.mean([self._gain(rng.permutation(int(counts.sum()))) for _ in range(SHUFFLES)]))
        return {
            name: max(0.0, self._gain(np.argsort(np.asarray(value)[counts])) - chance) for name, value in values.items()
        }

    def _gain(self, order: NDArray[np.intp]) -> float:
        """Return how much lower the mean regret is if each part of the samples, in this order, has its best option."""
        parts = np.array_split(self.regrets[order], PARTS)
        least = sum(len(part) * part.mean(axis=0).min() for part in parts if len(part)) / len(order)
        return float(self.mean_regrets[self.best] - least)
