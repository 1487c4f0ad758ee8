"""Ranges in an environment file: `stored: 3..12 TiB`, or `{low: 3 TiB, mid: 5 TiB, high: 12 TiB, confidence: 90 %}`.

A range stands for an input that nobody knows exactly, and gives the distribution of its values. Ranges are independent
of each other, except for one that `follows` another.

Only `warmbase plan ENV`, alone or with --tornado, --months or --report, and `warmbase explore` accept a file with
ranges. Everything else needs one value for each input.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Final

from msgspec import Struct

from warmbase.environments.environment import Environment
from warmbase.environments.reader.assignment import Assignment, assigned
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.environments.reader.messages import flow
from warmbase.environments.reader.schema_keys import schema_keys
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import MULTIPLE_UNITS, SIZE_UNITS, TIME_UNITS, parse_fraction

LOGARITHMIC_RATIO: Final = 10.0
"""If the ends differ by this factor or more, the logarithm is uniform: 1 to 2 is as likely as 10 to 20."""
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
        return self.key.rpartition(".")[2] in _counts()

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


@cache
def _counts() -> frozenset[str]:
    """Return the names of the keys whose values are counts."""
    return frozenset(path.rpartition(".")[2] for path, key in schema_keys().items() if key.is_count)


def _reach(inner: float, other: float, outside: float) -> float:
    """Return the distance from the mode of a triangle to one end, if `other` is the distance to the other end.

    On this side, the triangle has the probability `outside` beyond the distance `inner`, so that
    (reach - inner)² = outside x reach x (reach + other).
    """
    a, b, c = 1 - outside, -(2 * inner + outside * other), inner * inner
    return (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)


SECTIONS: Final = frozenset({"workload", "targets", "discount"})
OF_CLUSTER: Final = frozenset({"workload", "targets"})
"""The sections of one cluster that may have ranges."""
CLUSTER_DEPTH: Final = 3
"""The keys of a path down to a section of a cluster: `clusters.NAME.workload`."""
QUANTITY: Final = r"\s*(\d[\d_]*(?:\.\d+)?)\s*(% a month|[A-Za-z%]*)\s*"
RANGE: Final = re.compile(rf"{QUANTITY}\.\.{QUANTITY}")
END: Final = re.compile(QUANTITY)
GROWTH: Final = "growth"
KEYS: Final = frozenset({"low", "mid", "high"})
EXAMPLE: Final = "3..12 TiB or {low: 3 TiB, mid: 5 TiB, high: 12 TiB, confidence: 90 %}"


class RangedDocument(Struct, frozen=True, kw_only=True):
    """An environment file in which some inputs are ranges; `ranges` has each of them by its path."""

    document: Document
    ranges: Mapping[YamlPath, InputRange]

    def at(self, values: Iterable[float]) -> Document:
        """Return the file with these values in place of its ranges, in the order of the ranges."""
        return assigned(
            self.document,
            (
                Assignment.at(path, input_range.text(value), input_range.where)
                for (path, input_range), value in zip(self.ranges.items(), values, strict=True)
            ),
        )

    def of_cluster(self, environment: Environment, name: str) -> RangedDocument:
        """Return the file with the ranges that the plan of a cluster depends on, and the middle of all others.

        The plan of an analytics cluster does not depend on what HBase serves.
        """
        own = "clusters", name
        others = {"workload", "targets"} if name in environment.analytics else set()
        depends = {
            path: one for path, one in self.ranges.items() if path[:2] == own or path[0] not in {"clusters", *others}
        }
        followed = {one.follows for one in depends.values()}
        ranges = {path: one for path, one in self.ranges.items() if path in depends or one.key in followed}
        middles = [
            Assignment.at(path, one.text(one.middle), one.where)
            for path, one in self.ranges.items()
            if path not in ranges
        ]
        return RangedDocument(document=assigned(self.document, middles), ranges=ranges)

    @property
    def today(self) -> RangedDocument:
        """Return the file with the middle of each growth, which changes no figure of a plan for today."""
        growths = {path: entry for path, entry in self.ranges.items() if path[-1] == GROWTH}
        values = (Assignment.at(path, entry.text(entry.middle), entry.where) for path, entry in growths.items())
        ranges = {path: entry for path, entry in self.ranges.items() if path not in growths}
        return RangedDocument(document=assigned(self.document, values), ranges=ranges)

    @property
    def middle(self) -> Document:
        """Return the file with the middle of each range in its place."""
        return self.at(input_range.middle for input_range in self.ranges.values())


def ranges_in(document: Document) -> RangedDocument:
    """Return a file with its ranges; one with equal ends is a value. Raises InvalidInput with each invalid range."""
    entries: dict[YamlPath, InputRange] = {}
    problems: list[Problem] = []
    for path, value in _range_entries(document.values, ()):
        try:
            entries[path] = _range(document, path, value)
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    ranges = {path: entry for path, entry in entries.items() if entry.low != entry.high}
    _check_followed(ranges.values())
    values = [
        Assignment.at(path, entry.text(entry.low), entry.where) for path, entry in entries.items() if path not in ranges
    ]
    return RangedDocument(document=assigned(document, values), ranges=ranges)


def range_keys(document: Document) -> frozenset[str]:
    """Return the keys whose values are written as ranges, valid or not."""
    return frozenset(path_text(path) for path, _ in _range_entries(document.values, ()))


def range_error(ranges: Iterable[InputRange]) -> InvalidInput:
    """Return the error of a command that needs one value for each input."""
    return InvalidInput(
        Problem(
            where=input_range.where,
            what=input_range.key,
            why=f"is a range, which only {_accepting(input_range)} accept",
            fix=_one_value(input_range.key),
        )
        for input_range in ranges
    )


def _accepting(input_range: InputRange) -> str:
    """Return the commands that accept a range of this input."""
    if input_range.key.endswith(f".{GROWTH}"):
        return "`warmbase plan ENV` and `warmbase plan ENV --months N`"
    return "`warmbase plan ENV` (alone or with --tornado, --months or --report) and `warmbase explore ENV`"


def _one_value(key: str) -> str:
    section, _, rest = key.partition(".")
    cluster = rest.partition(".")[0]
    named = f"; to plan from its range: warmbase plan ENV --cluster {cluster}" if section == "clusters" else ""
    return f"state one value{named}"


def _range_entries(value: object, path: YamlPath) -> Iterator[tuple[YamlPath, object]]:
    """Yield the entries that are written as ranges, in the sections that may have ranges."""
    if not _may_have_ranges(path):
        return
    if isinstance(value, str) and ".." in value and RANGE.fullmatch(value):
        yield path, value
    elif isinstance(value, Mapping):
        if "low" in value and "high" in value:
            yield path, value
        else:
            for key, inner in value.items():
                yield from _range_entries(inner, (*path, str(key)))


def _may_have_ranges(path: YamlPath) -> bool:
    if path[:1] == ("clusters",):
        return len(path) < CLUSTER_DEPTH or path[CLUSTER_DEPTH - 1] in OF_CLUSTER
    return not path or path[0] in SECTIONS


def _check_followed(ranges: Iterable[InputRange]) -> None:
    """Raise InvalidInput for a range that follows something other than an independent range."""
    independent = sorted(entry.key for entry in ranges if entry.follows is None)
    for entry in ranges:
        if entry.follows is not None and entry.follows not in independent:
            raise InvalidInput.of(
                where=entry.where,
                what=f"{entry.key} follows {entry.follows}",
                why=f"{entry.follows} is not a range, or it follows another range itself",
                fix=f"follow one of: {', '.join(independent)}; or remove follows" if independent else "remove follows",
            )


def _range(document: Document, path: YamlPath, value: object) -> InputRange:
    where, key = document.where(path), path_text(path)
    parts = _parts(value)
    confidence = _confidence(where, key, parts.pop("confidence", 1))
    follows = parts.pop("follows", None)
    quantities = {name: END.fullmatch(str(text)) for name, text in parts.items()}
    matches = {name: match for name, match in quantities.items() if match}
    if len(matches) != len(parts) or not parts.keys() <= KEYS:
        why = "its keys must be low, mid, high, confidence and follows, and its ends must be numbers with their units"
        raise _invalid(where, key, why)
    numbers = {name: _number(match[1], match[2]) for name, match in matches.items()}
    units = {_family(match[2]) for match in matches.values()}
    if len(units) != 1:
        raise _invalid(where, key, "its ends have units of different kinds")
    low, mid, high = numbers["low"], numbers.get("mid"), numbers["high"]
    if not low <= (low if mid is None else mid) <= high:
        raise _invalid(where, key, f"{_written(value)} is not in ascending order")
    input_range = InputRange(
        key=key,
        where=where,
        low=low,
        mid=mid,
        high=high,
        unit=units.pop(),
        confidence=confidence,
        follows=None if follows is None else str(follows),
    )
    if low < high and input_range.least < 0:
        raise _invalid(where, key, "with this confidence, it may be less than 0")
    return input_range


def _written(value: object) -> str:
    return flow(value) if isinstance(value, Mapping) else str(value)


def _confidence(where: str, key: str, value: object) -> float:
    try:
        confidence = parse_fraction(value if isinstance(value, int | float) else str(value))
    except ValueError as error:
        raise _invalid(where, key, str(error)) from None
    if not confidence:
        raise _invalid(
            where, key, "confidence must be more than 0: it is the probability of a value between low and high"
        )
    return confidence


def _parts(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return {str(name): text for name, text in value.items()}
    match = RANGE.fullmatch(str(value))
    assert match is not None  # noqa: S101 - found by this pattern
    low, low_unit, high, high_unit = match.groups()
    return {"low": f"{low} {low_unit or high_unit}", "high": f"{high} {high_unit}"}


def _family(unit: str) -> str:
    """Return the unit to which numbers of that kind are converted."""
    return "B" if unit in SIZE_UNITS else "s" if unit in TIME_UNITS else unit


def _number(number: str, unit: str) -> float:
    return float(number.replace("_", "")) * float(SIZE_UNITS.get(unit) or TIME_UNITS.get(unit) or 1)


def _invalid(where: str, key: str, why: str) -> InvalidInput:
    return InvalidInput.of(where=where, what=f"{key} is not a valid range", why=why, fix=f"write it like {EXAMPLE}")
