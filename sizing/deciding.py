"""The search for the cluster with the least mean regret.

The options are the cheapest cluster of each sample, and neighbours of the best of them. The best options are evaluated
in every sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sizing.cluster import Volume
from sizing.gp3 import least_gib
from sizing.popularity import Floats
from sizing.problem import Infeasible
from sizing.regret import MISSED_FACTOR, ClusterOption, Decision, Situation

__all__ = ["Proposal", "proposal"]

SCREENS: Final = ((16, 64), (4, 40))
"""judgement: an option that 64 others beat over every 16th sample, or 40 over every fourth, does not win over all."""
FEWEST_SCREENED: Final = 8  # judgement: fewer samples say too little about an option
LEADERS: Final = 4
"""The number of best options whose neighbours are tried."""
ROUNDS: Final = 3
"""The most times that neighbours are tried; the first round usually ends the search."""
VARIANTS: Final = 8  # judgement: sizes and rates of a cache volume that are tried, out of a hundred that differ little
COARSE: Final = 4
"""Variants of a volume are compared over every fourth sample; the best of them are evaluated in all."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A decision, and the index of the option that a plan for the middle of every range would buy.

    `middle` is None if no cluster meets the targets there. `tried` is the number of options that were evaluated at
    all; those of the decision were evaluated in every sample.
    """

    decision: Decision
    middle: int | None
    tried: int


def proposal(samples: Sequence[Situation], middle: Situation, missed_factor: float = MISSED_FACTOR) -> Proposal:
    """Return the decision for the cluster with the least mean regret over the samples.

    Raises Infeasible where no cluster meets the targets in any sample.
    `middle` is the sample in which every range has its middle.
    """
    optima = [sample.cheapest for sample in samples]
    if not any(optima):
        raise _none_serves(middle.environment, len(samples))
    expected = middle.cheapest
    options = tuple(dict.fromkeys(option for option, _ in filter(None, [expected, *optima])))
    trials = _Trials(
        samples=samples,
        cheapest_usd=np.array([np.nan if optimum is None else optimum[1] for optimum in optima]),
        optima=options,
        count_is_fixed=middle.count_is_fixed,
        missed_factor=missed_factor,
    )
    decision = trials.improved(trials.finalists(options))
    return Proposal(
        decision=decision,
        middle=None if expected is None else decision.options.index(expected[0]),
        tried=len({*options, *decision.options}),
    )


class _Trials(Struct, frozen=True, kw_only=True):
    """The evaluation of options in samples; one option in one sample takes about a tenth of a millisecond."""

    samples: Sequence[Situation]
    cheapest_usd: Floats
    optima: Sequence[ClusterOption]
    """The cheapest cluster of each sample, without repetitions."""
    count_is_fixed: bool
    missed_factor: float

    def decision(self, options: Sequence[ClusterOption], step: int = 1) -> Decision:
        """Return the decision between these options over every sample, or over every `step`th one."""
        return Decision(
            options=options,
            outcomes=[[sample.outcome(option) for option in options] for sample in self.samples[::step]],
            cheapest_usd=self.cheapest_usd[::step],
            missed_factor=self.missed_factor,
        )

    def finalists(self, options: Sequence[ClusterOption]) -> Decision:
        """Return the decision between the options that may win, over every sample.

        They are the first option, those that do best in some of the samples, and the best of each family there.
        """
        for step, most in SCREENS:
            if len(options) > most and len(self.cheapest_usd) >= step * FEWEST_SCREENED:
                options = self._screened(options, step, most)
        return self.decision(options)

    def _screened(self, options: Sequence[ClusterOption], step: int, most: int) -> Sequence[ClusterOption]:
        coarse = self.decision(options, step)
        if not np.isfinite(coarse.cheapest_usd).any():
            return options
        families = [number for option in options if (number := coarse.best_of(option.family)) is not None]
        best = [int(number) for number in np.argsort(coarse.mean_regrets)[:most]]
        return tuple(options[number] for number in sorted({0, *best, *families}))

    def improved(self, decision: Decision) -> Decision:
        """Return the decision with the neighbours of its best options, repeated while a neighbour is the best.

        The cheapest cluster of one sample has no capacity to spare there. With one more node, or with larger or faster
        volumes, it may suit more samples.
        """
        for _ in range(ROUNDS):
            before, others = decision.best, (*self._neighbours(decision), *self._best_variants(decision))
            if not others:
                break
            decision = decision.with_options(self.decision(others))
            if decision.best == before:
                break
        return decision

    def _neighbours(self, decision: Decision) -> tuple[ClusterOption, ...]:
        """Return the best options with one or two more nodes, and with the volumes of each other."""
        leaders = [decision.options[number] for number in np.argsort(decision.mean_regrets)[:LEADERS]]
        more_nodes = () if self.count_is_fixed else (1, 2)
        others = [replace(option, count=option.count + more) for option in leaders for more in more_nodes]
        others += [
            replace(option, volumes=other.volumes)
            for option in leaders
            for other in leaders
            if option.instance_type == other.instance_type
        ]
        return tuple(dict.fromkeys(option for option in others if option not in decision.options))

    def _best_variants(self, decision: Decision) -> tuple[ClusterOption, ...]:
        """Return the best option with the best few other sizes, or other rates, of its cache volume.

        They are those of the cheapest clusters with such nodes. The volume of one sample's cluster is seldom both
        large enough and fast enough for the others.
        """
        best = decision.options[decision.best]
        variants = [option for option in self._variants(best) if option not in decision.options]
        if not variants:
            return ()
        coarse = self.decision((best, *variants), COARSE if len(self.cheapest_usd) >= COARSE * FEWEST_SCREENED else 1)
        order = [number for number in np.argsort(coarse.mean_regrets)[:LEADERS] if number]
        return tuple(coarse.options[number] for number in order)

    def _variants(self, best: ClusterOption) -> Iterator[ClusterOption]:
        cache = next((volume for volume in best.volumes if volume.purpose == "cache" and volume.type == "gp3"), None)
        if cache is None:
            return
        alike = [
            volume
            for option in self.optima
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


def _none_serves(environment: str, count: int) -> Infeasible:
    return Infeasible.of(
        where=f"environment {environment}",
        what="no cluster meets the targets",
        why=f"in none of {count} samples of the ranges",
        fix="relax the targets, or correct the ranges; with one value for each input, warmbase plan says which resource"
        " is missing",
    )
