"""Sizes, times, shares and rates as people write them, and back.

Sizes need a binary unit: `64GB` and `64G` are refused, because EC2, the JVM and HBase read them differently.
Each parser raises ValueError whose text says what was expected; whoever knows the file adds the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30
TIB: Final = 2**40
HOURS_PER_MONTH: Final = 730  # 8,760 hours a year over 12: AWS's own monthly figure
HOURS_PER_DAY: Final = 24
SECONDS_PER_HOUR: Final = 3_600
SECONDS_PER_MONTH: Final = HOURS_PER_MONTH * SECONDS_PER_HOUR

SIZE_UNITS: Final = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "PiB": 2**50}
TIME_UNITS: Final = {"ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600)}

PREFIXES: Final = "kmgtp"

_QUANTITY = re.compile(r"\s*(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z%]*)\s*")
MULTIPLE_UNITS: Final = {"x": 1}
_LARGER_FIRST = tuple(reversed(SIZE_UNITS.items()))


class AmbiguousUnit(ValueError):
    """A size in a unit such as TB, which is decimal to some programs and binary to others; `fix` names both sizes."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.fix = fix


def _ambiguous(number: str, unit: str, per: str) -> AmbiguousUnit | None:
    """Return the error of a size such as `3 TB` or `3 tib`; None where the unit resembles no binary one."""
    prefix, rest = unit[:1].lower(), unit[1:].lower()
    if not prefix or prefix not in PREFIXES or rest not in {"", "b", "ib"}:
        return None
    binary_unit = f"{prefix.upper()}iB{per}"
    binary = f"{number} {binary_unit}"
    if rest == "ib":
        return AmbiguousUnit(f"unit {unit!r} is not one of {', '.join(SIZE_UNITS)}", f"write {binary}")
    power = PREFIXES.index(prefix) + 1
    amount = Fraction(number.replace("_", "")) * Fraction(1000, 1024) ** power
    figures = str(round(amount)) if amount >= 1000 else f"{float(amount):.4g}"  # noqa: PLR2004 - four figures
    decimal = f"{figures} {binary_unit}"
    why = f"{number} {unit}{per} is {decimal}; did you mean that, or {binary}?"
    return AmbiguousUnit(why, f"write {decimal}, or {binary}")


def _quantity(text: str, units: Mapping[str, int | Fraction], example: str) -> Fraction:
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise ValueError(f"expected a number with a unit, such as {example}")
    number, unit = match.groups()
    if unit not in units:
        problem = f"unit {unit!r} is not one of" if unit else "no unit; write one of"
        raise ValueError(f"{problem} {', '.join(units)}, as in {example}")
    return Fraction(number.replace("_", "")) * units[unit]


def parse_size(text: str, per: str = "") -> int:
    """Return the bytes of a size such as `64 KiB` or `7.185 TiB`, to the nearest byte; `per` ends a rate's unit.

    Raises AmbiguousUnit for a size such as `3 TB`.
    """
    match = _QUANTITY.fullmatch(text)
    if match and match[2] not in SIZE_UNITS and (error := _ambiguous(match[1], match[2], per)):
        raise error
    return round(_quantity(text, SIZE_UNITS, "64 KiB"))


def parse_duration(text: str) -> float:
    """Return the seconds of a time such as `12 h` or `250 ms`."""
    return float(_quantity(text, TIME_UNITS, "12 h"))


def parse_rate(text: str) -> int:
    """Return the bytes per second of a rate such as `125 MiB/s`, to the nearest byte."""
    size, slash, per = text.partition("/")
    if not slash or per.strip() != "s":
        raise ValueError("expected a size per second, such as 125 MiB/s")
    return parse_size(size, "/s")


def parse_fraction(value: float | str) -> float:
    """Return a share between 0 and 1, from `0.95` or `95 %`."""
    share = float(_quantity(value, {"%": Fraction(1, 100)}, "95 %") if isinstance(value, str) else value)
    if not 0 <= share <= 1:
        raise ValueError(f"a share lies between 0 and 1 (or 0 % and 100 %), not {value}")
    return share


def parse_multiple(text: str) -> float:
    """Return the factor of a multiple: 2.5 for `2.5x`."""
    return float(_quantity(text, MULTIPLE_UNITS, "2.5x"))


def format_size(size_bytes: float) -> str:
    """Return at most four figures and a binary unit: `1.21 TiB`, `64 KiB`, `0 B`, `-8.28 GiB`."""
    if size_bytes < 0:
        return f"-{format_size(-size_bytes)}"
    for unit, factor in _LARGER_FIRST:
        if size_bytes >= factor or unit == "B":
            return f"{_figures(size_bytes / factor)} {unit}"
    raise AssertionError


def exact_size(size_bytes: int) -> str:
    """The size in the largest unit in which it is whole, so that parsing it gives it back."""
    for unit, factor in _LARGER_FIRST:
        if size_bytes % factor == 0 and size_bytes:
            return f"{size_bytes // factor} {unit}"
    return "0 B"


def format_rate(bytes_per_second: float) -> str:
    """Return a size per second: `125 MiB/s`."""
    return f"{format_size(bytes_per_second)}/s"


def format_duration(seconds: float) -> str:
    """Return at most three figures and the largest fitting unit: `2.3 h`, `41 s`, `1.2 ms`."""
    for unit, factor in reversed(TIME_UNITS.items()):
        if seconds >= factor or unit == "ms":
            return f"{_figures(seconds / float(factor))} {unit}"
    raise AssertionError


def format_percent(fraction: float) -> str:
    """Return a share as people read it: `95.3 %`."""
    return f"{_figures(100 * fraction)} %"


def format_usd(usd: float) -> str:
    """Return dollars, whole from a hundred up: `$3,412`, `$0.42`."""
    return f"${usd:,.0f}" if usd >= 100 else f"${usd:,.2f}"  # noqa: PLR2004 - where cents stop mattering


def format_number(value: float | str) -> str:
    """Return a number with four figures, a whole one or one from a thousand on without decimals; a name as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:  # noqa: PLR2004 - four figures
        return f"{value:,.0f}"
    return f"{value:,.4g}"


def _figures(value: float) -> str:
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2  # noqa: PLR2004 - three figures
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{value:,.0f}"


def amount_text(value: float, unit: str) -> str:
    """Return the amount that a resource has, or that a read needs."""
    if unit == "B/s":
        return format_rate(value)
    if unit == "B":
        return format_size(value)
    return f"{format_number(round(value, 4))} {unit}"


def printable(text: str) -> str:
    """Return the text with each character that a terminal may take for a command as a Python string writes it."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
