"""The search for the options with the least sum of regrets.

It is a best-first branch and bound: it takes the option whose sum of regrets has the lowest bound, and evaluates it in
one more sample, until that option has been evaluated in every sample. It therefore drops no option that could win.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import groupby
from operator import attrgetter
from typing import Final, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from sizing.cluster import Volume
from sizing.cost import BilledGroup, nodes_usd
from sizing.gp3 import least_gib
from sizing.popularity import Floats
from sizing.regret import ClusterOption, Decision, Indices, Situation, regret_usd

__all__ = ["SAFER_SHARES", "RegretSearch"]

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

    def unknown(self, order: Indices) -> list[int]:
        """Return the samples that are not known, in the reverse of this order."""
        samples: list[int] = order[~self.known[order]][::-1].tolist()
        return samples


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

    @property
    def _everywhere(self) -> Indices:
        return np.arange(len(self.samples))

    def finalists(self) -> Iterator[ClusterOption]:
        """Yield the best options of all, and of each instance family."""
        optima = dict.fromkeys(self.cheapest)
        yield from self._least(optima, self._everywhere)
        for _, family in groupby(sorted(optima, key=attrgetter("family")), key=attrgetter("family")):
            yield from self._least(tuple(family), self._everywhere)

    def specialists(self, split: Iterable[Indices]) -> Iterator[ClusterOption]:
        """Yield the best option for each of these parts of the samples, among the cheapest clusters of its samples."""
        for part in split:
            yield from self._least(dict.fromkeys(self.cheapest[sample] for sample in part), part)

    def safer(self) -> Iterator[ClusterOption]:
        """Yield, for each of `SAFER_SHARES`, the best of the options that meet all targets in this share of samples."""
        for share in SAFER_SHARES:
            most_missed = (1 - share) * (len(self.samples) + self.unserved) - self.unserved
            yield from self._least(tuple(self._courses), self._everywhere, most_missed + ROUNDING)

    def improvements(self, decision: Decision) -> tuple[ClusterOption, ...]:
        """Return neighbours of the best options that are at least as good as the best one.

        The cheapest cluster of one sample has no capacity to spare there. With one more node, or with larger or faster
        volumes, it may suit more samples.
        """
        best = decision.options[decision.best]
        others = (best, *self._neighbours(decision), *self._variants(best))
        least = self._least(dict.fromkeys(others), self._everywhere)
        return tuple(option for option in least if option not in decision.options)

    def _least(
        self, options: Iterable[ClusterOption], part: Indices, most_missed: float = math.inf
    ) -> Iterator[ClusterOption]:
        """Yield the options with the least sum of regrets over a part of the samples.

        They miss a target in at most `most_missed` samples of the part.
        """
        hardest = part[np.argsort(-self.cheapest_usd[part])]
        courses = [(option, course := self._course(option), course.unknown(hardest)) for option in options]
        queue = [(float(course.regrets[part].sum()), number) for number, (_, course, _) in enumerate(courses)]
        heapify(queue)
        limit = math.inf
        while queue and queue[0][0] <= limit:
            total, number = heappop(queue)
            option, course, unknown = courses[number]
            if course.missed[part].sum() > most_missed:
                continue
            if unknown:
                heappush(queue, (total + self._evaluate(option, course, unknown.pop()), number))
            else:
                limit = min(limit, total + TIE_USD)
                yield option

    def _course(self, option: ClusterOption) -> _Course:
        """Return what is known of an option: at first, only the lower bound that the price of its nodes gives."""
        if option not in self._courses:
            least_usd = self._fixed_usd + self._nodes_usd(option)
            self._courses[option] = _Course(
                regrets=np.maximum(0.0, least_usd - self.cheapest_usd),
                known=np.zeros(len(self.samples), dtype=bool),
                missed=np.zeros(len(self.samples), dtype=bool),
            )
        return self._courses[option]

    def _evaluate(self, option: ClusterOption, course: _Course, sample: int) -> float:
        """Enter the outcome of an option in a sample, and return how much its regret exceeds the lower bound."""
        outcome = self.samples[sample].outcome(option)
        regret = regret_usd(outcome, float(self.cheapest_usd[sample]), self.missed_factor)
        more = regret - float(course.regrets[sample])
        course.regrets[sample], course.known[sample], course.missed[sample] = regret, True, bool(outcome.missed)
        return more

    @cached_property
    def _fixed_usd(self) -> Floats:
        return np.array([sample.fixed_usd for sample in self.samples])

    def _nodes_usd(self, option: ClusterOption) -> Floats:
        """Return the bill of an option's nodes in each sample; most samples have the same prices."""
        group = BilledGroup(role="core", instance_type=option.instance_type, count=option.count, volumes=option.volumes)
        tables = {id(sample.prices): sample.prices for sample in self.samples}
        usd = {number: nodes_usd((group,), prices) for number, prices in tables.items()}
        return np.array([usd[id(sample.prices)] for sample in self.samples])

    def _neighbours(self, decision: Decision) -> Iterator[ClusterOption]:
        """Yield the best options with one or two more nodes, and with the volumes of each other."""
        leaders = [decision.options[number] for number in np.argsort(decision.mean_regrets)[:LEADERS]]
        for option in leaders:
            yield from (replace(option, count=option.count + more) for more in (() if self.count_is_fixed else (1, 2)))
            alike = (other for other in leaders if other.instance_type == option.instance_type)
            yield from (replace(option, volumes=other.volumes) for other in alike)

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
        for volumes in (sorted(sizes, key=_size), sorted(rates, key=_rates)):
            for volume in _spread(volumes):
                if volume.size_gib >= least_gib(volume.iops):
                    others = (other if other is not cache else volume for other in best.volumes)
                    yield replace(best, volumes=tuple(others))


def _size(volume: Volume) -> int:
    return volume.size_gib


def _rates(volume: Volume) -> tuple[int, int]:
    return volume.throughput_mib_s, volume.iops


def _spread(volumes: Sequence[Volume]) -> Iterator[Volume]:
    """Yield at most `VARIANTS` of the volumes, spread evenly over their order."""
    step = max(1.0, (len(volumes) - 1) / (VARIANTS - 1))
    for number in range(min(VARIANTS, len(volumes))):
        yield volumes[round(number * step)]
