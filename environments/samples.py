"""From an environment whose inputs are ranges to samples of them, and to the cluster that suits them best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from environments.planning import requirements, world
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from sizing.deciding import Choice, choose
from sizing.problem import InvalidInput
from sizing.regret import MISSED_FACTOR
from sizing.requirements import Requirements
from sizing.spread_points import spread_points

__all__ = ["Samples", "Sampling", "choice_of", "samples_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How many samples of the ranges are drawn, from which seed, and what a missed target costs."""

    count: int = 128
    seed: int = 1
    missed_factor: float = MISSED_FACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The values of the ranges in every sample, in the order of the ranges, and what the cluster must then serve."""

    values: Sequence[Sequence[float]]
    requirements: Sequence[Requirements]


def choice_of(ranged: RangedDocument, cluster: str, samples: Samples, missed_factor: float = MISSED_FACTOR) -> Choice:
    """Return the cluster of least mean regret. Raises Infeasible where no cluster serves in any sample."""
    environment = environment_of(ranged.middle)
    middle = requirements(environment, environment.clusters[cluster])
    return choose(samples.requirements, middle, world(environment), missed_factor)


def samples_of(ranged: RangedDocument, cluster: str, sampling: Sampling) -> Samples:
    """Return samples of the ranges, which are independent of each other.

    Raises InvalidInput for values that no file may have, such as a cell that is larger than its row.
    """
    ranges = list(ranged.ranges.values())
    points = spread_points(sampling.count, len(ranges), sampling.seed).tolist()
    values = [[one.value(part) for one, part in zip(ranges, point, strict=True)] for point in points]
    return Samples(values=values, requirements=tuple(_requirements(ranged, cluster, values)))


def _requirements(ranged: RangedDocument, cluster: str, values: Sequence[Sequence[float]]) -> Iterator[Requirements]:
    for row in values:
        try:
            environment = environment_of(ranged.at(row))
        except InvalidInput as error:
            sampled = ", ".join(
                f"{one.key} {one.text(value)}" for one, value in zip(ranged.ranges.values(), row, strict=True)
            )
            raise InvalidInput(
                replace(
                    problem,
                    why=f"{problem.why} (in a sample with {sampled})",
                    fix="narrow the ranges, so that every combination of their values is possible",
                )
                for problem in error.problems
            ) from None
        yield requirements(environment, environment.clusters[cluster])
