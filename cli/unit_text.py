"""Types of command-line values that have a unit."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import click

from sizing.units import parse_duration, parse_fraction


class UnitText(click.ParamType[float]):
    """A command-line value with a unit, such as `4 GiB`."""

    def __init__(self, name: str, parse: Callable[[str], float], least: float = 0, most: float = inf) -> None:
        self.name = name
        self._parse = parse
        self._least = least
        self._most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; a default that is a number stays."""
        if isinstance(value, int | float):
            return value
        try:
            amount = float(self._parse(str(value)))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        if amount < self._least:
            self.fail(f"{value!r} is too small", param, ctx)
        if amount > self._most:
            self.fail(f"{value!r} is too large", param, ctx)
        return amount


def _share(text: str) -> float:
    """Return the share, which may also be a number without a unit, as in an environment file."""
    try:
        return parse_fraction(float(text))
    except ValueError:
        return parse_fraction(text)


def _growth(text: str) -> float:
    """Return a growth per month, which may end in `a month`, as in an environment file."""
    if ".." in text:
        raise ValueError(f"state a range of the growth in the file or with --set, such as {GROWTH_EXAMPLE}")
    return _share(text.strip().removesuffix("a month").strip())


GROWTH_EXAMPLE: Final = '"workload.growth=0..10 % a month"'
DURATION: Final = UnitText("time", parse_duration)
SHARE: Final = UnitText("share", _share)
GROWTH: Final = UnitText("growth", _growth)
