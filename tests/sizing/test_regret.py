"""The decision of least mean regret: its arithmetic, its laws, and what knowing an input is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.cluster import Volume
from sizing.regret import ClusterOption, Decision, Outcome

VOLUME = Volume(purpose="cache", type="gp3", count=1, size_gib=500, iops=3000, throughput_mib_s=125)


def option(count: int, instance_type: str = "r8g.xlarge") -> ClusterOption:
    return ClusterOption(instance_type=instance_type, count=count, volumes=(VOLUME,))


def decision(usd: list[list[float]], missed: list[list[bool]], cheapest: list[float], factor: float = 3.0) -> Decision:
    """Return the decision between clusters whose bills and misses are given by sample; a node costs 100 USD."""
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


def test_regret_is_what_is_paid_too_much_or_three_times_what_is_missing() -> None:
    choice = decision([[1000, 3000]] * 2, [[False, False], [True, False]], [1000, 2500])
    assert choice.regrets.tolist() == [[0, 2000], [-1500 + 3 * 1500, 500]]
    assert choice.mean_regrets.tolist() == [1500, 1250]
    assert choice.best == 1
    assert choice.worst == 0


def test_a_miss_costs_another_node_at_least() -> None:
    choice = decision([[1000, 990]], [[True, False]], [990])
    assert choice.regrets.tolist() == [[10 + 3 * 100, 0]]


def test_a_sample_that_no_cluster_serves_does_not_count() -> None:
    choice = decision([[1000, 2000], [1000, 2000]], [[False, False], [True, True]], [1000, float("nan")])
    assert choice.unserved == 1
    assert choice.mean_regrets.tolist() == [0, 1000]


def test_of_equal_regret_the_cheaper_one_is_bought() -> None:
    choice = decision([[2000, 1500], [2000, 2500]], [[False, False]] * 2, [1500, 2000])
    assert choice.mean_regrets.tolist() == [250, 250]
    assert choice.best in {0, 1}
    assert decision([[2000, 2000]], [[False, False]], [2000]).best == 0


bills = st.lists(st.lists(st.floats(100, 10_000), min_size=3, max_size=3), min_size=2, max_size=12)


@given(usd=bills, data=st.data())
def test_no_option_has_less_regret_and_a_dearer_miss_never_regrets_less(
    usd: list[list[float]], data: st.DataObject
) -> None:
    missed = [[data.draw(st.booleans()) for _ in row[1:]] for row in usd]
    # The last option serves every sample, as the cheapest of a sample serves that one.
    flags = [[*row, False] for row in missed]
    cheapest = [
        min(bill for bill, miss in zip(row, flag, strict=True) if not miss)
        for row, flag in zip(usd, flags, strict=True)
    ]
    choice = decision(usd, flags, cheapest)
    assert (choice.regrets >= -1e-6).all()
    assert choice.mean_regrets[choice.best] <= choice.mean_regrets.min() + 1e-6
    dearer = decision(usd, flags, cheapest, factor=10.0)
    assert (dearer.mean_regrets >= choice.mean_regrets - 1e-6).all()
    more = choice.with_options(decision([[9999.0]] * len(usd), [[False]] * len(usd), cheapest))
    assert more.mean_regrets[more.best] <= choice.mean_regrets[choice.best] + 1e-6


def two_worlds(samples: int = 64) -> tuple[Decision, np.ndarray, np.ndarray]:
    """Return a choice between a small and a large cluster, which one input decides and another does not."""
    rng = np.random.default_rng(7)
    deciding, other = rng.random(samples), rng.random(samples)
    large = deciding > 0.5
    choice = decision(
        [[1000.0, 3000.0]] * samples,
        [[bool(one), False] for one in large],
        [3000.0 if one else 1000.0 for one in large],
    )
    return choice, deciding, other


def test_the_input_that_decides_is_worth_measuring_and_another_one_is_not() -> None:
    choice, deciding, other = two_worlds()
    worth = choice.worth({"deciding": deciding.tolist(), "other": other.tolist()}, 1)
    assert worth["deciding"] == pytest.approx(choice.mean_regrets[choice.best], rel=0.25)
    assert worth["other"] < 0.15 * worth["deciding"]


def test_knowing_is_never_worth_more_than_all_regret() -> None:
    choice, deciding, _ = two_worlds()
    assert choice.worth({"deciding": deciding.tolist()}, 1)["deciding"] <= choice.mean_regrets[choice.best]


def test_the_best_of_a_family() -> None:
    choice = Decision(
        options=[option(1, "m8g.xlarge"), option(2, "r8g.xlarge"), option(1, "r8g.2xlarge")],
        outcomes=[
            [Outcome(usd_per_month=bill, node_usd_per_month=100, missed=()) for bill in (1000.0, 3000.0, 2000.0)]
        ],
        cheapest_usd=np.array([1000.0]),
    )
    assert (choice.best, choice.best_of("r8g"), choice.best_of("i8g")) == (0, 2, None)
