"""The search for the least mean regret over samples whose outcomes are given: it leaves out nothing that matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from tests.sizing.clusters import WORLD
from warmbase.ground.prices import PriceTable
from warmbase.sizing.ranges.regret import ClusterOption, Decision, Outcome, Proposal, Situation, proposal

NODE_USD = 100.0
CHEAP = replace(WORLD.prices.compute["r8g.xlarge"], ec2_usd_per_hour=0.001, emr_fee_usd_per_hour=0.0)
PRICES = replace(WORLD.prices, compute={"r8g.xlarge": CHEAP})
"""Prices at which the nodes of an option cost less than any of its bills."""
Rows = Sequence[Sequence[tuple[float, bool]]]


def option(number: int) -> ClusterOption:
    return ClusterOption(instance_type="r8g.xlarge", count=number + 1, volumes=())


class Sample(Struct, frozen=True, kw_only=True, eq=False):
    """A sample in which each option has a bill and may miss a target; no other cluster can be bought."""

    outcomes: Mapping[ClusterOption, Outcome]
    environment: str = "stated"
    count_is_fixed: bool = True
    most_nodes: int = 200
    fixed_usd: float = 0.0

    @property
    def prices(self) -> PriceTable:
        return PRICES

    @property
    def cheapest(self) -> tuple[ClusterOption, float] | None:
        """Return the cheapest option that misses nothing."""
        served = [(one.usd_per_month, number) for number, one in enumerate(self.outcomes.values()) if not one.missed]
        return (list(self.outcomes)[min(served)[1]], min(served)[0]) if served else None

    @property
    def outcome(self) -> Callable[[ClusterOption], Outcome]:
        """Return a function of an option."""
        return lambda option: self.outcomes[option]

    def target(self, field: str) -> float | None:
        raise NotImplementedError

    def with_target(self, field: str, value: float) -> Situation:
        raise NotImplementedError


def samples_of(rows: Rows) -> list[Sample]:
    """Return samples, given the bill of each option in each of them and whether the option misses a target."""
    return [
        Sample(
            outcomes={
                option(number): Outcome(
                    usd_per_month=usd, node_usd_per_month=NODE_USD, missed=("p99",) if missed else ()
                )
                for number, (usd, missed) in enumerate(row)
            }
        )
        for row in rows
    ]


def proposed(rows: Rows, **inputs: list[float]) -> Proposal:
    samples = samples_of(rows)
    return proposal(samples, samples[0], inputs)


def with_all(rows: Rows) -> Decision:
    """Return the decision between all options that are the cheapest of a sample."""
    samples = samples_of(rows)
    optima = [sample.cheapest for sample in samples]
    options = tuple(dict.fromkeys(one[0] for one in optima if one))
    return Decision(
        options=options,
        outcomes=[[sample.outcome(option) for option in options] for sample in samples],
        cheapest_usd=np.array([np.nan if one is None else one[1] for one in optima]),
    )


@given(data=st.data())
def test_no_option_has_less_mean_regret(data: st.DataObject) -> None:
    options = data.draw(st.integers(1, 7))
    outcome = st.tuples(st.floats(200, 10_000), st.booleans())
    rows = data.draw(st.lists(st.lists(outcome, min_size=options, max_size=options), min_size=1, max_size=9))
    if not any(not missed for row in rows for _, missed in row):
        return
    found, everything = proposed(rows).decision, with_all(rows)
    assert found.mean_regrets[found.best] == pytest.approx(everything.mean_regrets.min())


def test_the_best_option_for_each_part_of_an_input_is_kept() -> None:
    """The third option suits all samples, and another one suits each end of the input better."""
    low, high = (
        [(1_000.0, False), (9_000.0, False), (2_000.0, False)],
        [(9_000.0, False), (1_000.0, False), (2_000.0, False)],
    )
    rows = [*[low] * 4, *[high] * 4, *[[(9_000.0, False), (9_000.0, False), (1_500.0, False)]]]
    decision = proposed(rows, deciding=[float(number) for number in range(9)]).decision
    assert decision.options[decision.best] == option(2)
    assert set(decision.options) == {option(number) for number in range(3)}


def test_the_best_option_that_is_safe_enough_is_kept() -> None:
    """The first option misses a target in 4 of 20 samples, the second in 2, and the third in none."""
    rows = [[(1_000.0, sample < 4), (1_300.0, sample < 2), (3_000.0, False)] for sample in range(20)]
    decision = proposed(rows).decision
    assert decision.options[decision.best] == option(0)
    assert option(1) in decision.options


def test_a_sample_that_no_option_serves_is_missed_by_all() -> None:
    rows = [[(1_000.0, sample < 4), (1_300.0, sample < 2), (3_000.0, sample < 1)] for sample in range(20)]
    decision = proposed(rows).decision
    assert decision.unserved == 1
    assert option(1) in decision.options
    assert option(2) not in decision.options
