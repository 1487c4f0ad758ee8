"""The one right way to write a value that a property refuses, where there is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from configurations.properties.values import Decimal, ListOf, Switch, Values, Whole

AMOUNT: Final = re.compile(r"([0-9][0-9,_]*(?:\.[0-9]+)?)\s*([A-Za-z%]*)")
BINARY: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
BYTES: Final[Mapping[str, int]] = {
    suffix: 2**power for letter, power in BINARY.items() for suffix in (letter, f"{letter}b", f"{letter}ib") if suffix
}
"""HBase documents sizes in MB and means MiB, so every prefix is taken as binary, as HBase takes it."""
MILLISECONDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("ms", "msec", "millis"), 1),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), 1_000),
    **dict.fromkeys(("min", "mins", "minutes"), 60_000),
    **dict.fromkeys(("h", "hours"), 3_600_000),
}
UNITS: Final[Mapping[str, tuple[Mapping[str, int], int]]] = {
    "MiB": (BYTES, 2**20),
    "bytes": (BYTES, 1),
    "ms": (MILLISECONDS, 1),
    "s": (MILLISECONDS, 1_000),
}
"""The suffixes that a unit of a property can be converted from, and the size of that unit."""
SWITCHES: Final = {"yes": "true", "on": "true", "enabled": "true", "no": "false", "off": "false", "disabled": "false"}


def right_value(values: Values, text: str) -> str | None:
    """Return the value that a refused text certainly means; None where that is a decision, or there is no value."""
    value = _certain(values, text.strip())
    return value if value is not None and value != text and values.refusal(value) is None else None


def _certain(values: Values, text: str) -> str | None:
    if isinstance(values, ListOf):
        parts = [_member(values.member, part.strip()) for part in text.split(",")]
        return None if None in parts else ",".join(part for part in parts if part is not None)
    if isinstance(values, Switch):
        return SWITCHES.get(text.lower())
    amount = AMOUNT.fullmatch(text)
    if amount is None or not isinstance(values, Whole | Decimal) or _odd_groups(amount[1]):
        return None
    number = float(re.sub("[,_]", "", amount[1]))
    return _converted(number, amount[2], values)


def _member(values: Values, part: str) -> str | None:
    return part if values.refusal(part) is None else _certain(values, part)


def _odd_groups(digits: str) -> bool:
    """Return whether separators do not stand between groups of three digits."""
    return bool(re.search("[,_]", digits)) and not re.fullmatch(r"[0-9]{1,3}(?:[,_][0-9]{3})+(?:\.[0-9]+)?", digits)


def _converted(number: float, suffix: str, values: Whole | Decimal) -> str | None:
    if suffix == "%":
        return f"{number / 100:g}" if isinstance(values, Decimal) and values.most <= 1 else None
    if not suffix:
        return f"{number:.0f}" if number == int(number) else None
    suffixes, unit = UNITS.get(values.unit, ({}, 1))
    if suffix.lower() not in suffixes:
        return None
    return f"{int(number * suffixes[suffix.lower()] / unit)}"
