"""An input that is known only as a range, such as 3 to 12 TiB, and the distribution of its values."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

from msgspec import Struct

from sizing.units import MULTIPLE_UNITS, SIZE_UNITS, TIME_UNITS

LOGARITHMIC_RATIO: Final = 10.0
"""If the ends differ by this factor or more, the logarithm is uniform: 1 to 2 is as likely as 10 to 20."""
COUNTS: Final = frozenset({"regions", "rows", "concurrency", "lost_nodes", "cells_per_put"})
"""The keys of an environment file whose values are counts."""
ITERATIONS: Final = 60
"""Twice as many as the ends of a triangle need to agree to twelve digits at a confidence of 30 %."""


def with_unit(number: str, unit: str) -> str:
    """Return a number with its unit, which may be empty; a multiple has no space before it: `2.5x`."""
    return f"{number}{unit}" if unit in MULTIPLE_UNITS else f"{number} {unit}".rstrip()


class InputRange(Struct, frozen=True, kw_only=True, dict=True):
    """A range at a key of an environment file, such as `workload.stored`; `where` is its line.

    `low`, `mid` and `high` are bytes, seconds, per cent or plain numbers; `unit` says which. Without `mid`, every
    value from `low` to `high` is equally likely, or every factor if they differ tenfold or more. With `mid`, the
    distribution is triangular: the density rises to `mid` and then falls, both in a straight line. `confidence` is the
    probability that the value lies between `low` and `high`; it is equally likely to lie below and above them.
    `follows` is the key of another range: the input then has the same quantile as that one in every sample.
    """

    key: str
    where: str
    low: float
    high: float
    unit: str
    mid: float | None = None
    confidence: float = 1.0
    follows: str | None = None

    @property
    def least(self) -> float:
        """Return the least value that the input may have."""
        return self.value(0.0)

    @property
    def middle(self) -> float:
        """Return the value that represents the range where one value is needed: the mid, or else the median."""
        return self.value(0.5) if self.mid is None else self.mid

    def value(self, probability: float) -> float:
        """Return the value below which the input lies with this probability: the quantile."""
        value = self._value(probability)
        return float(round(value)) if self.is_whole else value

    def _value(self, probability: float) -> float:
        low, high = self._ends
        if self.mid is None:
            if self._is_logarithmic:
                return math.exp(math.log(low) + probability * (math.log(high) - math.log(low)))
            return low + probability * (high - low)
        rising = (self.mid - low) / (high - low)
        if probability < rising:
            return low + math.sqrt(probability * (high - low) * (self.mid - low))
        return high - math.sqrt((1 - probability) * (high - low) * (high - self.mid))

    def text(self, value: float) -> str:
        """Return a value as it is written in an environment file."""
        if self.unit in SIZE_UNITS:
            return f"{round(value)} B"
        if self.unit in TIME_UNITS:
            return f"{value:.6f} s"
        number = str(round(value)) if self.is_whole else f"{value:.9g}"
        return with_unit(number, self.unit)

    @property
    def is_whole(self) -> bool:
        """Return whether the values are counts."""
        return self.key.rpartition(".")[2] in COUNTS

    @property
    def _is_logarithmic(self) -> bool:
        return 0 < self.low * LOGARITHMIC_RATIO <= self.high

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return the least and greatest possible values; below full confidence, they lie outside `low` and `high`."""
        outside = (1 - self.confidence) / 2
        if self.mid is not None:
            return self._triangle(outside) if outside else (self.low, self.high)
        if self._is_logarithmic:
            reach = (self.high / self.low) ** (outside / self.confidence)
            return self.low / reach, self.high * reach
        # Numbers from half below a count to half above it are rounded to it, so that each count is equally likely.
        half = 0.5 if self.is_whole else 0.0
        reach = half + (self.high - self.low + 2 * half) * outside / self.confidence
        return self.low - reach, self.high + reach

    def _triangle(self, outside: float) -> tuple[float, float]:
        """Return the ends of the triangle that has the probability `outside` below `low`, and again above `high`.

        Each end follows from the other by a quadratic equation. The two equations are solved in turn until the ends
        stay the same.
        """
        mid = self.low if self.mid is None else self.mid
        low, high = self.low, self.high
        for _ in range(ITERATIONS):
            low = mid - _reach(mid - self.low, high - mid, outside)
            high = mid + _reach(self.high - mid, mid - low, outside)
        return low, high


def _reach(inner: float, other: float, outside: float) -> float:
    """Return the distance from the mode of a triangle to one end, if `other` is the distance to the other end.

    On this side, the triangle has the probability `outside` beyond the distance `inner`, so that
    (reach - inner)² = outside x reach x (reach + other).
    """
    a, b, c = 1 - outside, -(2 * inner + outside * other), inner * inner
    return (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)
