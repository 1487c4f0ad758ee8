"""The decision with the least mean regret: its arithmetic, its laws, and what knowing an input is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.sizing.ranges.regret import ClusterOption, Decision, Outcome
from warmbase.sizing.requirements import Volume

VOLUME = Volume(purpose="cache", type="gp3", count=1, size_gib=500, iops=3000, throughput_mib_s=125)


def option(count: int, instance_type: str = "r8g.xlarge") -> ClusterOption:
    return ClusterOption(instance_type=instance_type, count=count, volumes=(VOLUME,))


def decision_between(
    usd: list[list[float]], missed: list[list[bool]], cheapest: list[float], factor: float = 3.0
) -> Decision:
    """Return the decision between options with these bills and misses in each sample; a node costs 100 USD."""
    return Decision(
        options=[option(number + 1) for number in range(len(usd[0]))],
        outcomes=[
            [
                Outcome(usd_per_month=bill, node_usd_per_month=100, missed=("p99",) if miss else ())
                for bill, miss in zip(bills, misses, strict=True)
            ]
            for bills, misses in zip(usd, missed, strict=True)
        ],
        cheapest_usd=np.array(cheapest),
        missed_factor=factor,
    )


def test_regret_is_the_extra_bill_and_three_times_the_price_of_missing_capacity() -> None:
    decision = decision_between([[1000, 3000]] * 2, [[False, False], [True, False]], [1000, 2500])
    assert decision.regrets.tolist() == [[0, 2000], [-1500 + 3 * 1500, 500]]
    assert decision.mean_regrets.tolist() == [1500, 1250]
    assert decision.best == 1
    assert decision.worst == 0


def test_a_miss_is_charged_at_least_the_price_of_one_node() -> None:
    decision = decision_between([[1000, 990]], [[True, False]], [990])
    assert decision.regrets.tolist() == [[10 + 3 * 100, 0]]


def test_an_option_that_costs_less_than_the_cheapest_cluster_has_no_regret() -> None:
    assert decision_between([[980, 1000]], [[False, False]], [1000]).regrets.tolist() == [[0, 0]]


def test_a_sample_in_which_no_cluster_meets_the_targets_does_not_count() -> None:
    decision = decision_between([[1000, 2000], [1000, 2000]], [[False, False], [True, True]], [1000, float("nan")])
    assert decision.unserved == 1
    assert decision.mean_regrets.tolist() == [0, 1000]


def test_among_options_of_equal_regret_the_cheaper_one_is_best() -> None:
    decision = decision_between([[2000, 1500], [2000, 2500]], [[False, False]] * 2, [1500, 2000])
    assert decision.mean_regrets.tolist() == [250, 250]
    assert decision.best in {0, 1}
    assert decision_between([[2000, 2000]], [[False, False]], [2000]).best == 0


bills = st.lists(st.lists(st.floats(100, 10_000), min_size=3, max_size=3), min_size=2, max_size=12)


@given(usd=bills, data=st.data())
def test_no_option_has_less_regret_and_a_higher_factor_never_lowers_regret(
    usd: list[list[float]], data: st.DataObject
) -> None:
    missed = [[data.draw(st.booleans()) for _ in row[1:]] for row in usd]
    # The last option meets the targets in every sample, so every sample has a cheapest option that meets them.
    flags = [[*row, False] for row in missed]
    cheapest = [
        min(bill for bill, miss in zip(row, flag, strict=True) if not miss)
        for row, flag in zip(usd, flags, strict=True)
    ]
    decision = decision_between(usd, flags, cheapest)
    assert (decision.regrets >= -1e-6).all()
    assert decision.mean_regrets[decision.best] <= decision.mean_regrets.min() + 1e-6
    dearer = decision_between(usd, flags, cheapest, factor=10.0)
    assert (dearer.mean_regrets >= decision.mean_regrets - 1e-6).all()
    more = decision.with_options(
        [option(9)], decision_between([[20_000.0]] * len(usd), [[False]] * len(usd), cheapest).outcomes
    )
    assert more.mean_regrets[more.best] <= decision.mean_regrets[decision.best] + 1e-6


def two_worlds(samples: int = 64) -> tuple[Decision, np.ndarray, np.ndarray]:
    """Return a decision between a small and a large cluster that depends on the first input and not on the second."""
    rng = np.random.default_rng(7)
    deciding, other = rng.random(samples), rng.random(samples)
    large = deciding > 0.5
    decision = decision_between(
        [[1000.0, 3000.0]] * samples,
        [[bool(needs_large), False] for needs_large in large],
        [3000.0 if needs_large else 1000.0 for needs_large in large],
    )
    return decision, deciding, other


def test_only_the_input_that_decides_is_worth_measuring() -> None:
    decision, deciding, other = two_worlds()
    worth = decision.worth({"deciding": deciding.tolist(), "other": other.tolist()}, 1)
    assert worth["deciding"] == pytest.approx(decision.mean_regrets[decision.best], rel=0.25)
    assert worth["other"] < 0.15 * worth["deciding"]


def test_knowing_an_input_is_never_worth_more_than_the_mean_regret() -> None:
    decision, deciding, _ = two_worlds()
    assert decision.worth({"deciding": deciding.tolist()}, 1)["deciding"] <= decision.mean_regrets[decision.best]


def test_the_best_of_a_family() -> None:
    decision = Decision(
        options=[option(1, "m8g.xlarge"), option(2, "r8g.xlarge"), option(1, "r8g.2xlarge")],
        outcomes=[
            [Outcome(usd_per_month=bill, node_usd_per_month=100, missed=()) for bill in (1000.0, 3000.0, 2000.0)]
        ],
        cheapest_usd=np.array([1000.0]),
    )
    assert (decision.best, decision.best_of("r8g"), decision.best_of("i8g")) == (0, 2, None)
