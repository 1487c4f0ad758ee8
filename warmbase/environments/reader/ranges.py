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
    def middle(self) -> float:
        """Return the value that represents the range where one value is needed: the mid, or else the median."""
        return self.value(0.5) if self.mid is None else self.mid

    def value(self, probability: float) -> float:
        """Return the value below which the input lies with this probability: the quantile."""
        low, high = self._ends
        if self.mid is not None:
            rising = (self.mid - low) / (high - low)
            if probability < rising:
                value = low + math.sqrt(probability * (high - low) * (self.mid - low))
            else:
                value = high - math.sqrt((1 - probability) * (high - low) * (high - self.mid))
        elif self._is_logarithmic:
            value = math.exp(math.log(low) + probability * (math.log(high) - math.log(low)))
        else:
            value = low + probability * (high - low)
        return float(round(value)) if self.is_whole else value

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
            if not outside:
                return self.low, self.high
            # The ends of the triangle that has the probability `outside` below `low`, and again above `high`. Each end
            # follows from the other, and they are computed in turn until they stay the same.
            least, greatest = self.low, self.high
            for _ in range(ITERATIONS):
                least = self.mid - _reach(self.mid - self.low, greatest - self.mid, outside)
                greatest = self.mid + _reach(self.high - self.mid, self.mid - least, outside)
            return least, greatest
        if self._is_logarithmic:
            reach = (self.high / self.low) ** (outside / self.confidence)
            return self.low / reach, self.high * reach
        # Numbers from half below a count to half above it are rounded to it, so that each count is equally likely.
        half = 0.5 if self.is_whole else 0.0
        reach = half + (self.high - self.low + 2 * half) * outside / self.confidence
        return self.low - reach, self.high + reach


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
        assignments = []
        for (path, one), value in zip(self.ranges.items(), values, strict=True):
            assignments.append(Assignment.at(path, one.text(value), one.where))
        return assigned(self.document, assignments)

    def of_cluster(self, environment: Environment, name: str) -> RangedDocument:
        """Return the file with the ranges that the plan of a cluster depends on, and the middle of all others.

        The plan of an analytics cluster does not depend on what HBase serves.
        """
        others = {"clusters", "workload", "targets"} if name in environment.analytics else {"clusters"}
        depends = {path for path in self.ranges if path[:2] == ("clusters", name) or path[0] not in others}
        followed = {self.ranges[path].follows for path in depends}
        return self._with_middles(
            path for path, one in self.ranges.items() if path not in depends and one.key not in followed
        )

    @property
    def today(self) -> RangedDocument:
        """Return the file with the middle of each growth, which changes no figure of a plan for today."""
        return self._with_middles(path for path in self.ranges if path[-1] == GROWTH)

    @property
    def middle(self) -> Document:
        """Return the file with the middle of each range in its place."""
        return self._with_middles(self.ranges).document

    def _with_middles(self, paths: Iterable[YamlPath]) -> RangedDocument:
        ranges, middles = dict(self.ranges), []
        for path in paths:
            one = ranges.pop(path)
            middles.append(Assignment.at(path, one.text(one.middle), one.where))
        return RangedDocument(document=assigned(self.document, middles), ranges=ranges)


def ranges_in(document: Document) -> RangedDocument:
    """Return a file with its ranges; one with equal ends is a value. Raises InvalidInput with each invalid range."""
    ranges: dict[YamlPath, InputRange] = {}
    values: list[Assignment] = []
    problems: list[Problem] = []
    for path, value in _range_entries(document.values, ()):
        where, key = document.where(path), path_text(path)
        try:
            one = _range(where, key, value)
        except ValueError as error:
            what, fix = f"{key} is not a valid range", f"write it like {EXAMPLE}"
            problems.append(Problem(where=where, what=what, why=str(error), fix=fix))
            continue
        if one.low == one.high:
            values.append(Assignment.at(path, one.text(one.low), one.where))
        else:
            ranges[path] = one
    if problems:
        raise InvalidInput(problems)
    independent = sorted(one.key for one in ranges.values() if one.follows is None)
    for one in ranges.values():
        if one.follows is not None and one.follows not in independent:
            raise InvalidInput.of(
                where=one.where,
                what=f"{one.key} follows {one.follows}",
                why=f"{one.follows} is not a range, or it follows another range itself",
                fix=f"follow one of: {', '.join(independent)}; or remove follows" if independent else "remove follows",
            )
    return RangedDocument(document=assigned(document, values), ranges=ranges)


def range_keys(document: Document) -> frozenset[str]:
    """Return the keys whose values are written as ranges, valid or not."""
    return frozenset(path_text(path) for path, _ in _range_entries(document.values, ()))


def range_error(ranges: Iterable[InputRange]) -> InvalidInput:
    """Return the error of a command that needs one value for each input."""
    problems = []
    for one in ranges:
        accepting = "`warmbase plan ENV` (alone or with --tornado, --months or --report) and `warmbase explore ENV`"
        if one.key.endswith(f".{GROWTH}"):
            accepting = "`warmbase plan ENV` and `warmbase plan ENV --months N`"
        section, _, rest = one.key.partition(".")
        cluster = rest.partition(".")[0]
        named = f"; to plan from its range: warmbase plan ENV --cluster {cluster}" if section == "clusters" else ""
        why, fix = f"is a range, which only {accepting} accept", f"state one value{named}"
        problems.append(Problem(where=one.where, what=one.key, why=why, fix=fix))
    return InvalidInput(problems)


def _range_entries(value: object, path: YamlPath) -> Iterator[tuple[YamlPath, object]]:
    """Yield the entries that are written as ranges, in the sections that may have ranges."""
    if path[:1] == ("clusters",):
        may_have_ranges = len(path) < CLUSTER_DEPTH or path[CLUSTER_DEPTH - 1] in OF_CLUSTER
    else:
        may_have_ranges = not path or path[0] in SECTIONS
    if not may_have_ranges:
        return
    if isinstance(value, Mapping) and not ("low" in value and "high" in value):
        for key, inner in value.items():
            yield from _range_entries(inner, (*path, str(key)))
    elif isinstance(value, Mapping) or (isinstance(value, str) and ".." in value and RANGE.fullmatch(value)):
        yield path, value


def _range(where: str, key: str, value: object) -> InputRange:
    """Return the range of a key. Raises ValueError with the reason if the value is no range."""
    if isinstance(value, Mapping):
        parts: dict[str, object] = {str(name): text for name, text in value.items()}
        written = flow(value)
    else:
        written = str(value)
        low_text, low_unit, high_text, high_unit = re.fullmatch(RANGE, written).groups()  # type: ignore[union-attr]
        parts = {"low": f"{low_text} {low_unit or high_unit}", "high": f"{high_text} {high_unit}"}
    stated = parts.pop("confidence", 1)
    confidence = parse_fraction(stated if isinstance(stated, int | float) else str(stated))
    if not confidence:
        raise ValueError("confidence must be more than 0: it is the probability of a value between low and high")
    follows = parts.pop("follows", None)
    numbers: dict[str, float] = {}
    units: set[str] = set()
    for name, text in parts.items():
        match = END.fullmatch(str(text))
        if match is None or name not in KEYS:
            raise ValueError(
                "its keys must be low, mid, high, confidence and follows, and its ends must be numbers with their units"
            )
        number, unit = match.groups()
        numbers[name] = float(number.replace("_", "")) * float(SIZE_UNITS.get(unit) or TIME_UNITS.get(unit) or 1)
        # The unit to which numbers of that kind are converted.
        units.add("B" if unit in SIZE_UNITS else "s" if unit in TIME_UNITS else unit)
    if len(units) != 1:
        raise ValueError("its ends have units of different kinds")
    low, mid, high = numbers["low"], numbers.get("mid"), numbers["high"]
    if not low <= (low if mid is None else mid) <= high:
        raise ValueError(f"{written} is not in ascending order")
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
    if low < high and input_range.value(0.0) < 0:
        raise ValueError("with this confidence, it may be less than 0")
    return input_range
