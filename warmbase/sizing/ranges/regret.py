"""The cluster to buy if inputs are ranges: the one with the least mean regret over many samples of the ranges.

A sample is one combination of values, one from each range. An option is a cluster that could be bought: the cheapest
cluster of each sample, and neighbours of the best of them. Its regret in a sample is its bill less the bill of the
cheapest cluster that meets the targets there. An option that misses a target is also charged several times the price of
the capacity that it lacks. Options are compared within a sample, never across samples. Source: the minimax regret of
Savage, "The theory of statistical decision", 1951, with the mean in place of the maximum, as in Netflix's
service-capacity-modeling; the worst sample is reported beside it.

`spread_points` fill a cube more evenly than random points do; each stands for one sample of several inputs.

`RegretSearch` is a best-first branch and bound: it takes the option whose sum of regrets has the lowest bound, and
evaluates it in one more sample, until that option has been evaluated in every sample. It therefore drops no option that
could win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.ground.errors import Infeasible
from warmbase.ground.prices import PriceTable
from warmbase.sizing.cost import BilledGroup, nodes_usd
from warmbase.sizing.gp3 import least_gib
from warmbase.sizing.requirements import Volume
from warmbase.sizing.workload.popularity import Floats

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


HALVINGS: Final = 64
"""The iterations that find the ratio; each of them at least halves its error."""


def spread_points(count: int, dimensions: int, seed: int) -> Floats:
    """Return points in the unit cube, shape (count, dimensions); the seed shifts all of them by the same vector.

    The first coordinate takes equal steps, and the others are an additive recurrence with the powers of the generalised
    golden ratio. Then each coordinate is replaced by its rank, so that neighbours are equally far apart. Sources:
    Hammersley, "Monte Carlo methods for solving multivariable problems", 1960; Roberts, "The unreasonable effectiveness
    of quasirandom sequences", 2018; McKay, Beckman and Conover, "A comparison of three methods for selecting values of
    input variables", 1979.
    """
    ratio = 2.0
    for _ in range(HALVINGS):
        ratio = (1 + ratio) ** (1 / max(1, dimensions))
    steps = np.append(1 / count, ratio ** -np.arange(1.0, dimensions))[:dimensions]
    shift, offset = np.random.default_rng(seed).random((2, dimensions))
    points = (shift + np.arange(count)[:, None] * steps) % 1.0
    order = np.argsort(np.argsort(points, axis=0), axis=0)
    return np.asarray((order + offset) / count)


LEADERS: Final = 4
"""The number of best options whose neighbours are tried."""
VARIANTS: Final = 8  # judgement: sizes and rates of a cache volume that are tried, out of a hundred that differ little
SAFER_SHARES: Final = (0.75, 0.9)
"""The shares of the samples in which a safer cluster meets all targets."""
ROUNDING: Final = 1e-9
TIE_USD: Final = 1e-6
"""Sums of regrets that differ by less are equal; in floating point, the sum depends on the order of the samples."""


class _Course(Struct, frozen=True, kw_only=True):
    """The regret of one option in each sample that counts, in USD a month; a lower bound where it is not known."""

    regrets: Floats
    known: NDArray[np.bool_]
    missed: NDArray[np.bool_]


class RegretSearch(Struct, frozen=True, kw_only=True, dict=True):
    """The options that were compared in the samples that count; one option in one sample takes about 40 microseconds.

    `cheapest` is the cheapest cluster of each of these samples, and `cheapest_usd` its bill in USD a month.
    """

    samples: Sequence[Situation]
    cheapest: Sequence[ClusterOption]
    cheapest_usd: Floats
    unserved: int
    """The number of samples that do not count, because no cluster meets the targets there; every option misses them."""
    count_is_fixed: bool
    missed_factor: float

    @classmethod
    def of(cls, samples: Sequence[Situation], decision: Decision, *, count_is_fixed: bool) -> Self:
        """Return a search over the samples of a decision, before any option has been compared."""
        served = [(sample, sample.cheapest[0]) for sample in samples if sample.cheapest is not None]
        return cls(
            samples=[sample for sample, _ in served],
            cheapest=[option for _, option in served],
            cheapest_usd=decision.cheapest_usd[decision.counted],
            unserved=decision.unserved,
            count_is_fixed=count_is_fixed,
            missed_factor=decision.missed_factor,
        )

    @cached_property
    def _courses(self) -> dict[ClusterOption, _Course]:
        return {}

    @property
    def tried(self) -> int:
        """Return the number of options that were compared."""
        return len(self._courses)

    def finalists(self) -> Iterator[ClusterOption]:
        """Yield the best options of all, and of each instance family."""
        optima = dict.fromkeys(self.cheapest)
        yield from self._least(optima)
        for _, family in groupby(sorted(optima, key=attrgetter("family")), key=attrgetter("family")):
            yield from self._least(tuple(family))

    def specialists(self, split: Iterable[Indices]) -> Iterator[ClusterOption]:
        """Yield the best option for each of these parts of the samples, among the cheapest clusters of its samples."""
        for part in split:
            yield from self._least(dict.fromkeys(self.cheapest[sample] for sample in part), part)

    def safer(self) -> Iterator[ClusterOption]:
        """Yield, for each of `SAFER_SHARES`, the best of the options that meet all targets in this share of samples."""
        for share in SAFER_SHARES:
            most_missed = (1 - share) * (len(self.samples) + self.unserved) - self.unserved
            yield from self._least(tuple(self._courses), most_missed=most_missed + ROUNDING)

    def improvements(self, decision: Decision) -> tuple[ClusterOption, ...]:
        """Return neighbours of the best options that are at least as good as the best one.

        The cheapest cluster of one sample has no capacity to spare there. With one more node, or with larger or faster
        volumes, it may suit more samples.
        """
        best = decision.options[decision.best]
        neighbours = [best]
        leaders = [decision.options[number] for number in np.argsort(decision.mean_regrets)[:LEADERS]]
        for leader in leaders:
            if not self.count_is_fixed:
                neighbours += [replace(leader, count=leader.count + more) for more in (1, 2)]
            alike = (other for other in leaders if other.instance_type == leader.instance_type)
            neighbours += [replace(leader, volumes=other.volumes) for other in alike]
        least = self._least(dict.fromkeys((*neighbours, *self._variants(best))))
        return tuple(option for option in least if option not in decision.options)

    def _least(
        self, options: Iterable[ClusterOption], part: Indices | None = None, most_missed: float = math.inf
    ) -> Iterator[ClusterOption]:
        """Yield the options with the least sum of regrets over a part of the samples, or over all of them.

        They miss a target in at most `most_missed` samples of the part.
        """
        part = np.arange(len(self.samples)) if part is None else part
        easiest = part[np.argsort(-self.cheapest_usd[part])][::-1]  # the hardest sample is evaluated first
        courses = [
            (option, course := self._course(option), easiest[~course.known[easiest]].tolist()) for option in options
        ]
        queue = [(float(course.regrets[part].sum()), number) for number, (_, course, _) in enumerate(courses)]
        heapify(queue)
        limit = math.inf
        while queue and queue[0][0] <= limit:
            total, number = heappop(queue)
            option, course, unknown = courses[number]
            if course.missed[part].sum() > most_missed:
                continue
            if unknown:
                sample = unknown.pop()
                outcome = self.samples[sample].outcome(option)
                regret = regret_usd(outcome, float(self.cheapest_usd[sample]), self.missed_factor)
                more = regret - float(course.regrets[sample])  # the regret exceeds its lower bound by this
                course.regrets[sample], course.known[sample] = regret, True
                course.missed[sample] = bool(outcome.missed)
                heappush(queue, (total + more, number))
            else:
                limit = min(limit, total + TIE_USD)
                yield option

    def _course(self, option: ClusterOption) -> _Course:
        """Return what is known of an option: at first, only the lower bound that the price of its nodes gives."""
        if option not in self._courses:
            group = BilledGroup(
                role="core", instance_type=option.instance_type, count=option.count, volumes=option.volumes
            )
            # Most samples share one price table, so each table is priced once.
            tables = {id(sample.prices): sample.prices for sample in self.samples}
            usd = {number: nodes_usd((group,), prices) for number, prices in tables.items()}
            least_usd = self._fixed_usd + np.array([usd[id(sample.prices)] for sample in self.samples])
            self._courses[option] = _Course(
                regrets=np.maximum(0.0, least_usd - self.cheapest_usd),
                known=np.zeros(len(self.samples), dtype=bool),
                missed=np.zeros(len(self.samples), dtype=bool),
            )
        return self._courses[option]

    @cached_property
    def _fixed_usd(self) -> Floats:
        return np.array([sample.fixed_usd for sample in self.samples])

    def _variants(self, best: ClusterOption) -> Iterator[ClusterOption]:
        """Yield the best option with other sizes, or other rates, of its cache volume.

        The sizes and rates are those of the samples' cheapest clusters with such nodes. The volume of one sample's
        cluster is seldom both large enough and fast enough for the others.
        """
        cache = next((volume for volume in best.volumes if volume.purpose == "cache" and volume.type == "gp3"), None)
        if cache is None:
            return
        alike = [
            volume
            for option in self.cheapest
            if option.instance_type == best.instance_type
            for volume in option.volumes
            if (volume.purpose, volume.type, volume.count) == (cache.purpose, cache.type, cache.count)
        ]
        sizes = {replace(cache, size_gib=volume.size_gib) for volume in alike}
        rates = {replace(cache, iops=volume.iops, throughput_mib_s=volume.throughput_mib_s) for volume in alike}
        for volumes in (
            sorted(sizes, key=attrgetter("size_gib")),
            sorted(rates, key=attrgetter("throughput_mib_s", "iops")),
        ):
            # Try at most VARIANTS of them, spread evenly over their order.
            step = max(1.0, (len(volumes) - 1) / (VARIANTS - 1))
            for number in range(min(VARIANTS, len(volumes))):
                volume = volumes[round(number * step)]
                if volume.size_gib >= least_gib(volume.iops):
                    others = (other if other is not cache else volume for other in best.volumes)
                    yield replace(best, volumes=tuple(others))


ROUNDS: Final = 3
"""The most times that neighbours are tried; the first round usually ends the search."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A decision, and the index of the option that a plan for the middle of every range would buy.

    `middle` is None if no cluster meets the targets there. `tried` is the number of options that were compared; those
    of the decision were evaluated in every sample.
    """

    decision: Decision
    middle: int | None
    tried: int


def proposal(
    samples: Sequence[Situation],
    middle: Situation,
    inputs: Mapping[str, Sequence[float]],
    missed_factor: float = MISSED_FACTOR,
) -> Proposal:
    """Return the decision for the cluster with the least mean regret over the samples.

    `middle` is the sample in which every range has its middle. `inputs` has the values of each input, shape (samples,).
    For each input, the decision also has the best option for each part of the samples, which `Decision.worth` needs.
    Over nine random workloads, the worth differed from that with all options by at most 9 %, or by at most $8 a month.
    Raises Infeasible where no cluster meets the targets in any sample.
    """
    optima = [sample.cheapest for sample in samples]
    decision = Decision(
        options=(),
        outcomes=[()] * len(samples),
        cheapest_usd=np.array([np.nan if optimum is None else optimum[1] for optimum in optima]),
        missed_factor=missed_factor,
    )
    if decision.unserved == len(samples):
        raise Infeasible.of(
            where=f"environment {middle.environment}",
            what="no cluster meets the targets",
            why=f"in none of {len(samples)} samples of the ranges",
            fix="relax the targets, or correct the ranges; with one value for each input, warmbase plan says which"
            " resource is missing",
        )
    search = RegretSearch.of(samples, decision, count_is_fixed=middle.count_is_fixed)
    split = [part for values in inputs.values() for part in parts(np.asarray(values)[decision.counted])]
    expected = () if middle.cheapest is None else (middle.cheapest[0],)
    decision = _with(decision, (*expected, *search.finalists(), *search.specialists(split)), samples)
    for _ in range(ROUNDS):
        better = search.improvements(decision)
        if not better:
            break
        decision = _with(decision, better, samples)
    decision = _with(decision, search.safer(), samples)
    return Proposal(
        decision=decision,
        middle=decision.options.index(expected[0]) if expected else None,
        tried=search.tried,
    )


def _with(decision: Decision, options: Iterable[ClusterOption], samples: Sequence[Situation]) -> Decision:
    """Return the decision between its options and others, each of which is evaluated in every sample."""
    others = [option for option in dict.fromkeys(options) if option not in decision.options]
    return decision.with_options(others, [[sample.outcome(option) for option in others] for sample in samples])
