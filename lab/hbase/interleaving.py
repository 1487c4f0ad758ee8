"""Measurements in turn with a control, so that a ratio holds on a machine that others make busy at times.

A ratio compares a case with the control just before it and just after it, and not with one that was measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Final, Generic, TypeVar

from msgspec import Struct

ROUNDS: Final = 2
IN_TURN: Final = (
    f"the control ran before and after each of {ROUNDS} windows, and each window is compared with the mean of both "
    "controls"
)

T = TypeVar("T")


class Turns(Struct, Generic[T], frozen=True):
    """The results of a control and of the cases between its runs: the control ran first, last, and in between."""

    controls: tuple[T, ...]
    rounds: tuple[tuple[T, ...], ...]

    def of(self, case: int) -> tuple[T, ...]:
        """Return the results of one case, a round each."""
        return tuple(results[case] for results in self.rounds)

    def ratio(self, case: int, figure: Callable[[T], float]) -> float:
        """Return a figure of a case over that of the controls on both sides; the mean of the rounds."""
        both = zip(self.controls, self.controls[1:], strict=False)
        return mean(
            figure(result) / mean((figure(before), figure(after)))
            for result, (before, after) in zip(self.of(case), both, strict=True)
        )


def in_turn(control: Callable[[], T], cases: Sequence[Callable[[], T]], rounds: int = ROUNDS) -> Turns[T]:
    """Run the control, each case, the control again, and so on for so many rounds."""
    controls, results = [control()], []
    for _ in range(rounds):
        results.append(tuple(case() for case in cases))
        controls.append(control())
    return Turns(tuple(controls), tuple(results))
