"""Kinds of values: each checks the text of a property as the node reads it."""

from __future__ import annotations

import math
import re
from typing import Final, Protocol

from msgspec import Struct

INT: Final = 2**31 - 1
LONG: Final = 2**63 - 1
"""The largest int and long of Java, the limits of `Configuration.getInt` and `getLong`."""


class Values(Protocol):
    """One kind of value. Its `str()` says what is valid, and follows "must be" in a sentence."""

    @property
    def unit(self) -> str:
        """Return the unit of the value as written; it is empty for names and switches."""

    def refusal(self, text: str) -> str | None:
        """Return why the text is not such a value, None where it is one."""


def number(text: str) -> float | None:
    """Return the number that Hadoop's Configuration reads, None where the text is not one.

    Blanks around it are ignored; separators of thousands are not allowed.
    """
    trimmed = text.strip()
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", trimmed, re.ASCII):
        return None
    return float(trimmed)


def _whole(text: str) -> int | None:
    trimmed = text.strip()
    if re.fullmatch(r"[+-]?\d+", trimmed, re.ASCII):
        return int(trimmed)
    return int(trimmed, 16) if re.fullmatch(r"-?0[xX][0-9a-fA-F]+", trimmed) else None


def _beyond(value: float, least: float, most: float, unit: str) -> str | None:
    if value < least:
        return f"{_joined(value)} is below {_joined(least)}{unit and f' {unit}'}"
    if value > most:
        return f"{_joined(value)} is above {_joined(most)}{unit and f' {unit}'}"
    return None


def _joined(value: float) -> str:
    return f"{int(value):,}" if math.isfinite(value) and value == int(value) else f"{value:g}"


class Whole(Struct, frozen=True, kw_only=True):
    """A whole number that lies within bounds, both included."""

    unit: str = ""
    least: int = 0
    most: int = INT
    multiple_of: int = 1

    def refusal(self, text: str) -> str | None:
        """Return why Hadoop would raise a NumberFormatException, or the bound that is passed; hexadecimal is valid."""
        value = _whole(text)
        if value is None:
            return f"{text!r} is not a whole number"
        if value % self.multiple_of:
            return f"{text} is not a multiple of {self.multiple_of}"
        return _beyond(value, self.least, self.most, self.unit)

    def __str__(self) -> str:
        multiple = f", a multiple of {self.multiple_of}" if self.multiple_of > 1 else ""
        most = f" to {self.most:,}" if self.most < INT else " or more"
        return f"a whole number, {self.least:,}{most}{multiple}"


class Decimal(Struct, frozen=True, kw_only=True):
    """A number within bounds; `above` is itself outside."""

    unit: str = ""
    least: float = 0.0
    most: float = math.inf
    above: float | None = None

    def refusal(self, text: str) -> str | None:
        """Return why the text is not a number, or the bound that it passes."""
        value = number(text)
        if value is None:
            return f"{text!r} is not a number"
        if self.above is not None and value <= self.above:
            return f"{text} is not above {_joined(self.above)}"
        return _beyond(value, self.least, self.most, self.unit)

    def __str__(self) -> str:
        lower = f"{_joined(self.least)} or more" if self.above is None else f"above {_joined(self.above)}"
        if math.isinf(self.most):
            return f"a number, {lower}"
        return f"a number, {lower.removesuffix(' or more')} to {_joined(self.most)}"


class Switch(Struct, frozen=True, kw_only=True):
    """True or false. Hadoop silently uses the default for any other word."""

    unit: str = ""

    def refusal(self, text: str) -> str | None:
        """Return why the text is neither true nor false."""
        if text.strip().lower() in {"true", "false"}:
            return None
        return f"{text!r} is neither true nor false, and Hadoop silently takes the default"

    def __str__(self) -> str:
        return "true or false"


class OneOf(Struct, frozen=True, kw_only=True):
    """One of a few names; with `others`, the name of any other class is valid too."""

    names: tuple[str, ...]
    unit: str = ""
    others: bool = False
    any_case: bool = False

    def refusal(self, text: str) -> str | None:
        """Return why the text is not one of the names; whether another class exists is not checked."""
        name = text.strip()
        names = {allowed.lower() for allowed in self.names} if self.any_case else set(self.names)
        if (name.lower() if self.any_case else name) in names or (self.others and "." in name):
            return None
        return f"{text!r} is not one of {', '.join(self.names)}"

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}{', or a class' if self.others else ''}"


class Matching(Struct, frozen=True, kw_only=True):
    """Text that a regular expression matches."""

    form: str
    described: str
    unit: str = ""

    def refusal(self, text: str) -> str | None:
        """Return why the text does not match."""
        return None if re.fullmatch(self.form, text.strip()) else f"{text!r} is not {self.described}"

    def __str__(self) -> str:
        return self.described


class ListOf(Struct, frozen=True, kw_only=True):
    """A list of values that commas separate."""

    member: Values

    @property
    def unit(self) -> str:
        """Return the unit of each member."""
        return self.member.unit

    def refusal(self, text: str) -> str | None:
        """Return why the first invalid member is not valid."""
        if not text.strip():
            return "the list is empty"
        return next((why for part in text.split(",") if (why := self.member.refusal(part.strip()))), None)

    def __str__(self) -> str:
        return f"a list with commas, each {self.member}"


class AnyText(Struct, frozen=True, kw_only=True):
    """Any text that is not empty is valid."""

    described: str = "text"
    unit: str = ""

    def refusal(self, text: str) -> str | None:
        """Return why the text is not valid: it is empty."""
        return None if text.strip() else "it is empty"

    def __str__(self) -> str:
        return self.described
