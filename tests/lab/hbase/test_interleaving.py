"""Ratios with a control in turn: a machine that grows slower does not change them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.hbase.experiment import Turns, in_turn


def _on(speed: Callable[[int], float], factors: tuple[float, ...], rounds: int) -> Turns[float]:
    """Return results of a control of 100/s, and of cases faster by these factors, at the machine's speed then."""
    moments = count()

    def result(factor: float) -> Callable[[], float]:
        return lambda: 100 * factor * speed(next(moments))

    return in_turn(result(1.0), [result(factor) for factor in factors], rounds)


def test_the_control_runs_first_last_and_in_between() -> None:
    order: list[str] = []

    def named(name: str) -> Callable[[], int]:
        def place() -> int:
            order.append(name)
            return len(order)

        return place

    turns = in_turn(named("control"), [named("a"), named("b")], rounds=2)
    assert order == ["control", "a", "b", "control", "a", "b", "control"]
    assert turns == Turns((1, 4, 7), ((2, 3), (5, 6)))
    assert turns.of(1) == (3, 6)


@given(factor=st.floats(0.2, 5), drift=st.floats(-0.1, 0.1))
def test_a_steady_drift_does_not_change_the_ratio(factor: float, drift: float) -> None:
    turns = _on(lambda moment: 1 + drift * moment, (factor,), 3)
    assert turns.ratio(0, float) == pytest.approx(factor)


def test_a_single_control_would_have_been_wrong_by_a_third() -> None:
    turns = _on(lambda moment: 1 if moment < 1 else 2 / 3, (1.0,), 2)
    assert turns.rounds[1][0] / turns.controls[0] == pytest.approx(2 / 3)
    assert turns.ratio(0, float) == pytest.approx((2 / 3 / (5 / 6) + 1) / 2)
