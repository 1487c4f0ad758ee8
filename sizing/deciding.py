"""The decision for the cluster with the least mean regret.

The options are the cheapest cluster of each sample, and neighbours of the best of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from sizing.problem import Infeasible
from sizing.regret import MISSED_FACTOR, ClusterOption, Decision, Situation, parts
from sizing.regret_search import RegretSearch

__all__ = ["Proposal", "proposal"]

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
    decision = _undecided(samples, missed_factor)
    if decision.unserved == len(samples):
        raise _none_serves(middle.environment, len(samples))
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


def _undecided(samples: Sequence[Situation], missed_factor: float) -> Decision:
    """Return the decision before it has an option."""
    optima = [sample.cheapest for sample in samples]
    return Decision(
        options=(),
        outcomes=[()] * len(samples),
        cheapest_usd=np.array([np.nan if optimum is None else optimum[1] for optimum in optima]),
        missed_factor=missed_factor,
    )


def _with(decision: Decision, options: Iterable[ClusterOption], samples: Sequence[Situation]) -> Decision:
    """Return the decision between its options and others, each of which is evaluated in every sample."""
    others = [option for option in dict.fromkeys(options) if option not in decision.options]
    return decision.with_options(others, [[sample.outcome(option) for option in others] for sample in samples])


def _none_serves(environment: str, count: int) -> Infeasible:
    return Infeasible.of(
        where=f"environment {environment}",
        what="no cluster meets the targets",
        why=f"in none of {count} samples of the ranges",
        fix="relax the targets, or correct the ranges; with one value for each input, warmbase plan says which resource"
        " is missing",
    )
