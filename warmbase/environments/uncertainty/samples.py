"""Samples of the ranges in an environment file, and the cluster that suits all samples best.

`situation_of` is the situation of one cluster of an environment, whatever its engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.planning import world
from warmbase.environments.reader.ranges import InputRange, RangedDocument
from warmbase.environments.reader.read import environment_of
from warmbase.environments.uncertainty.engine_facet import planning_of
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.ranges.regret import MISSED_FACTOR, Proposal, Situation, proposal, spread_points
from warmbase.sizing.requirements import World


class Sampling(Struct, frozen=True, kw_only=True):
    """The number of samples, their seed, and how many times the price of the missing capacity a miss costs."""

    count: int = 128
    seed: int = 1
    missed_factor: float = MISSED_FACTOR


class Samples(Struct, frozen=True, kw_only=True):
    """The values of the ranges in every sample, in the order of the ranges.

    `situations` has what the cluster must serve in each sample, and what there is to buy at its discount.
    """

    values: Sequence[Sequence[float]]
    situations: Sequence[Situation]


def proposal_of(
    ranged: RangedDocument, cluster: str, samples: Samples, missed_factor: float = MISSED_FACTOR
) -> Proposal:
    """Return the decision for the cluster with the least mean regret.

    Raises Infeasible where no cluster meets the targets in any sample.
    """
    environment = environment_of(ranged.middle)
    middle = situation_of(environment, cluster)
    return proposal(samples.situations, middle, independent_inputs(ranged.ranges.values(), samples), missed_factor)


def independent_inputs(ranges: Iterable[InputRange], samples: Samples) -> dict[str, Sequence[float]]:
    """Return the values of each input in the samples, without inputs that follow another, which tell nothing more."""
    columns = zip(*samples.values, strict=True)
    return {
        input_range.key: column
        for input_range, column in zip(ranges, columns, strict=True)
        if input_range.follows is None
    }


def samples_of(ranged: RangedDocument, cluster: str, sampling: Sampling) -> Samples:
    """Return samples in which the inputs vary independently of each other, except for those that follow another.

    Raises InvalidInput for values that are invalid together, such as a cell that is larger than its row.
    """
    values, environments = sampled_environments(ranged, sampling)
    # All of a file's environments offer the same at the same discount.
    discounts = {environment.discount: environment for environment in environments}
    worlds = {discount: world(environment) for discount, environment in discounts.items()}
    return Samples(
        values=values,
        situations=tuple(
            situation_of(environment, cluster, worlds[environment.discount]) for environment in environments
        ),
    )


def sampled_environments(
    ranged: RangedDocument, sampling: Sampling
) -> tuple[Sequence[Sequence[float]], tuple[Environment, ...]]:
    """Return the values of the ranges in every sample, and the environment with these values.

    Raises InvalidInput for values that are invalid together.
    """
    ranges = list(ranged.ranges.values())
    independent = [input_range.key for input_range in ranges if input_range.follows is None]
    points = spread_points(sampling.count, len(independent), sampling.seed).tolist()
    columns = [independent.index(input_range.follows or input_range.key) for input_range in ranges]
    values = [
        [input_range.value(point[column]) for input_range, column in zip(ranges, columns, strict=True)]
        for point in points
    ]
    return values, tuple(_environments(ranged, values))


def _environments(ranged: RangedDocument, values: Sequence[Sequence[float]]) -> Iterator[Environment]:
    for row in values:
        try:
            yield environment_of(ranged.at(row))
        except InvalidInput as error:
            sample = ", ".join(
                f"{input_range.key} {input_range.text(value)}"
                for input_range, value in zip(ranged.ranges.values(), row, strict=True)
            )
            raise InvalidInput(
                replace(
                    problem,
                    why=f"{problem.why} (in a sample with {sample})",
                    fix="narrow the ranges, so that every combination of their values is valid",
                )
                for problem in error.problems
            ) from None


def situation_of(environment: Environment, cluster: str, offered: World | None = None) -> Situation:
    """Return what a cluster must serve and what there is to buy for it; `offered` is the environment's world.

    Raises InvalidInput if no instance type can be a worker of an analytics cluster.
    """
    offered = world(environment) if offered is None else offered
    return planning_of(engine_of(environment, cluster)).situation(environment, cluster, offered)
