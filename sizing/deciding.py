"""The search for the cluster of least mean regret: the cheapest of each sample, then what they cost in all samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from sizing.popularity import Floats
from sizing.problem import Infeasible
from sizing.regret import MISSED_FACTOR, ClusterOption, Decision, Outcome, cheapest_option, outcomes
from sizing.requirements import Requirements, World

__all__ = ["Choice", "choose"]

FEWEST_FOR_PROCESSES: Final = 24  # judgement: to start processes takes as long as some samples do
SCREENED: Final = 4  # judgement: a quarter of the samples shows which options are out of the question
FINALISTS: Final = 24  # judgement: those that a quarter of the samples ranks lower than 24 others do not win in all
LEADERS: Final = 4
"""The options whose neighbours are tried."""
ROUNDS: Final = 3
"""How often they are tried at most; in most cases the first round ends the search."""

T = TypeVar("T")
Application = Callable[[Callable[[Requirements], T], Sequence[Requirements]], Iterable[T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A decision, and the option that the middle of every range would choose.

    `middle` is None if no cluster meets the targets at the middles. `tried` counts the options that were looked at;
    those of the decision were evaluated in every sample.
    """

    decision: Decision
    middle: int | None
    tried: int


def choose(
    samples: Sequence[Requirements], middle: Requirements, world: World, missed_factor: float = MISSED_FACTOR
) -> Choice:
    """Return the cluster of least mean regret over the samples. Raises Infeasible where no cluster serves in any."""
    with _mapping(len(samples)) as apply:
        optima = list(apply(partial(cheapest_option, world=world), samples))
        if not any(optima):
            raise _none_serves(middle, len(samples))
        expected = cheapest_option(middle, world)
        options = tuple(dict.fromkeys(option for option, _ in filter(None, [expected, *optima])))
        trials = _Trials(
            apply=apply,
            world=world,
            samples=samples,
            cheapest_usd=np.array([np.nan if optimum is None else optimum[1] for optimum in optima]),
            missed_factor=missed_factor,
        )
        decision = trials.improved(trials.finalists(options))
    return Choice(
        decision=decision,
        middle=None if expected is None else decision.options.index(expected[0]),
        tried=len({*options, *decision.options}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trials:
    """Evaluates options in samples, which takes some milliseconds for one option in one sample."""

    apply: Application[list[Outcome]]
    world: World
    samples: Sequence[Requirements]
    cheapest_usd: Floats
    missed_factor: float

    def decision(self, options: Sequence[ClusterOption], step: int = 1) -> Decision:
        """Return the decision between these options in every sample, or in one of so many."""
        rows = list(self.apply(partial(outcomes, world=self.world, options=options), self.samples[::step]))
        return Decision(
            options=options,
            outcomes=rows,
            cheapest_usd=self.cheapest_usd[::step],
            missed_factor=self.missed_factor,
        )

    def finalists(self, options: Sequence[ClusterOption]) -> Decision:
        """Return the decision between the options that do best in some of the samples, and the first one."""
        if len(options) <= FINALISTS:
            return self.decision(options)
        coarse = self.decision(options, SCREENED)
        if not np.isfinite(coarse.cheapest_usd).any():
            return self.decision(options)
        families = [number for option in options if (number := coarse.best_of(option.family)) is not None]
        best = [int(number) for number in np.argsort(coarse.mean_regrets)[:FINALISTS]]
        return self.decision(tuple(options[number] for number in sorted({0, *best, *families})))

    def improved(self, decision: Decision) -> Decision:
        """Return the decision with neighbours of the best options, as long as one of them is better.

        The cheapest cluster of one sample has nothing to spare there. One with a node more, or with the volumes of
        another option, may suit more samples.
        """
        for _ in range(ROUNDS):
            before, others = decision.best, _neighbours(decision)
            if not others:
                break
            decision = decision.with_options(self.decision(others))
            if decision.best == before:
                break
        return decision


def _neighbours(decision: Decision) -> tuple[ClusterOption, ...]:
    leaders = [decision.options[number] for number in np.argsort(decision.mean_regrets)[:LEADERS]]
    others = [replace(one, count=one.count + more) for one in leaders for more in (1, 2)]
    others += [
        replace(one, volumes=other.volumes)
        for one in leaders
        for other in leaders
        if one.instance_type == other.instance_type
    ]
    return tuple(dict.fromkeys(option for option in others if option not in decision.options))


@contextmanager
def _mapping(count: int) -> Iterator[Application[Any]]:
    """Yield what applies a function to many samples, in a process for each processor where that pays."""
    processors = os.cpu_count() or 1
    if count < FEWEST_FOR_PROCESSES or processors == 1:
        yield map
        return
    with ProcessPoolExecutor(processors) as pool:
        yield partial(pool.map, chunksize=max(1, count // (4 * processors)))


def _none_serves(middle: Requirements, count: int) -> Infeasible:
    return Infeasible.of(
        where=f"environment {middle.environment}",
        what="no cluster meets the targets",
        why=f"in none of {count} samples of the ranges",
        fix="relax the targets, or correct the ranges; warmbase plan with a single value for each input says what is"
        " missing",
    )
