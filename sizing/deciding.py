"""The search for the cluster with the least mean regret.

The options are the cheapest cluster of each sample, and neighbours of the best of them. The best options are evaluated
in every sample.
"""

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

__all__ = ["Proposal", "Questions", "proposal"]

FEWEST_FOR_PROCESSES: Final = 24  # judgement: the start of the processes takes as long as a few samples
SCREENED: Final = 4  # judgement: every fourth sample shows which options cannot win
FINALISTS: Final = 24  # judgement: an option behind 24 others in a quarter of the samples does not win in all of them
LEADERS: Final = 4
"""The number of best options whose neighbours are tried."""
ROUNDS: Final = 3
"""The most times that neighbours are tried; the first round usually ends the search."""

CHUNKS: Final = 16
"""The shares of the samples that each process works on one after another; a command that is ended waits for one."""

T = TypeVar("T")
Application = Callable[[Callable[[Requirements, World], T], Sequence[Requirements], Sequence[World]], Iterable[T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The requirements in each sample, and what there is to buy then."""

    requirements: Sequence[Requirements]
    worlds: Sequence[World]

    def every(self, step: int) -> Questions:
        """Return every `step`th sample."""
        return Questions(requirements=self.requirements[::step], worlds=self.worlds[::step])


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A decision, and the index of the option that a plan for the middle of every range would buy.

    `middle` is None if no cluster meets the targets there. `tried` is the number of options that were evaluated at
    all; those of the decision were evaluated in every sample.
    """

    decision: Decision
    middle: int | None
    tried: int


def proposal(samples: Questions, middle: Requirements, world: World, missed_factor: float = MISSED_FACTOR) -> Proposal:
    """Return the decision for the cluster with the least mean regret over the samples.

    Raises Infeasible where no cluster meets the targets in any sample.
    `middle` and `world` are the sample in which every range has its middle.
    """
    count = len(samples.requirements)
    with _mapping(count) as apply:
        optima = list(apply(cheapest_option, samples.requirements, samples.worlds))
        if not any(optima):
            raise _none_serves(middle, count)
        expected = cheapest_option(middle, world)
        options = tuple(dict.fromkeys(option for option, _ in filter(None, [expected, *optima])))
        trials = _Trials(
            apply=apply,
            samples=samples,
            cheapest_usd=np.array([np.nan if optimum is None else optimum[1] for optimum in optima]),
            missed_factor=missed_factor,
        )
        decision = trials.improved(trials.finalists(options))
    return Proposal(
        decision=decision,
        middle=None if expected is None else decision.options.index(expected[0]),
        tried=len({*options, *decision.options}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trials:
    """The evaluation of options in samples; one option in one sample takes some milliseconds."""

    apply: Application[list[Outcome]]
    samples: Questions
    cheapest_usd: Floats
    missed_factor: float

    def decision(self, options: Sequence[ClusterOption], step: int = 1) -> Decision:
        """Return the decision between these options over every sample, or over every `step`th one."""
        samples = self.samples.every(step)
        rows = list(self.apply(partial(outcomes, options=options), samples.requirements, samples.worlds))
        return Decision(
            options=options,
            outcomes=rows,
            cheapest_usd=self.cheapest_usd[::step],
            missed_factor=self.missed_factor,
        )

    def finalists(self, options: Sequence[ClusterOption]) -> Decision:
        """Return the decision between the options that may win, over every sample.

        They are the first option, those that do best in a quarter of the samples, and the best of each family there.
        """
        if len(options) <= FINALISTS:
            return self.decision(options)
        coarse = self.decision(options, SCREENED)
        if not np.isfinite(coarse.cheapest_usd).any():
            return self.decision(options)
        families = [number for option in options if (number := coarse.best_of(option.family)) is not None]
        best = [int(number) for number in np.argsort(coarse.mean_regrets)[:FINALISTS]]
        return self.decision(tuple(options[number] for number in sorted({0, *best, *families})))

    def improved(self, decision: Decision) -> Decision:
        """Return the decision with the neighbours of its best options, repeated while a neighbour is the best.

        The cheapest cluster of one sample has no capacity to spare there. With one more node, or with the volumes of
        another option, it may suit more samples.
        """
        for _ in range(ROUNDS):
            before, others = decision.best, self._neighbours(decision)
            if not others:
                break
            decision = decision.with_options(self.decision(others))
            if decision.best == before:
                break
        return decision

    def _neighbours(self, decision: Decision) -> tuple[ClusterOption, ...]:
        """Return the best options with one or two more nodes, and with the volumes of each other."""
        leaders = [decision.options[number] for number in np.argsort(decision.mean_regrets)[:LEADERS]]
        more_nodes = (1, 2) if self.samples.requirements[0].cluster.core.count is None else ()
        others = [replace(option, count=option.count + more) for option in leaders for more in more_nodes]
        others += [
            replace(option, volumes=other.volumes)
            for option in leaders
            for other in leaders
            if option.instance_type == other.instance_type
        ]
        return tuple(dict.fromkeys(option for option in others if option not in decision.options))


@contextmanager
def _mapping(count: int) -> Iterator[Application[Any]]:
    """Yield a `map` over samples; where it saves time, it uses one process for each processor."""
    processors = os.cpu_count() or 1
    if count < FEWEST_FOR_PROCESSES or processors == 1:
        yield map
        return
    with ProcessPoolExecutor(processors) as pool:
        yield partial(pool.map, chunksize=max(1, count // (CHUNKS * processors)))


def _none_serves(middle: Requirements, count: int) -> Infeasible:
    return Infeasible.of(
        where=f"environment {middle.environment}",
        what="no cluster meets the targets",
        why=f"in none of {count} samples of the ranges",
        fix="relax the targets, or correct the ranges; with one value for each input, warmbase plan says which resource"
        " is missing",
    )
