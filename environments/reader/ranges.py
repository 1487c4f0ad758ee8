"""Ranges in an environment file: `stored: 3..12 TiB`, or `{low: 3 TiB, mid: 5 TiB, high: 12 TiB, confidence: 90 %}`.

Ranges are independent of each other, except for one that `follows` another.

Only `warmbase plan ENV`, alone or with --tornado, --months or --report, and `warmbase explore` accept a file with
ranges. Everything else needs one value for each input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from environments.environment import Environment
from environments.input_range import InputRange
from environments.reader.assignment import Assignment, assigned
from environments.reader.document import Document, YamlPath, path_text
from environments.reader.messages import flow
from sizing.problem import InvalidInput, Problem
from sizing.units import SIZE_UNITS, TIME_UNITS, parse_fraction

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
