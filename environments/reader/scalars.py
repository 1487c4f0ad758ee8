"""The scalars of an environment file: text with a unit, `auto`, bounds, and values that are not honoured yet."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Struct
from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from environments.reader.messages import quoted
from environments.reader.section import refuse
from sizing.units import (
    AmbiguousUnit,
    exact_size,
    parse_duration,
    parse_fraction,
    parse_multiple,
    parse_rate,
    parse_size,
)

GROWTH_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s+a\s+month\s*")
PRINTED = 10**24
"""Beyond it a number is not worth the digits; NaN is not below it either."""


def _text(parse: Callable[[str], float], example: str) -> BeforeValidator:
    def parsed(value: object) -> float | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise refuse(f"{quoted(value)} has no unit", f"write it with a unit, such as {example}")
        try:
            return parse(value)
        except AmbiguousUnit as error:
            raise refuse(str(error), error.fix) from None
        except (ValueError, OverflowError) as error:
            raise refuse(f"{quoted(value)}: {error}", f"write it like {example}") from None

    return BeforeValidator(parsed)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise refuse(f"{quoted(value)} is not a share", "write it like 0.95 or 95 %")
    try:
        return parse_fraction(value)
    except (ValueError, OverflowError):
        raise refuse(
            f"a share lies between 0 and 1 (or 0 % and 100 %), not {quoted(value)}", "write it like 0.95 or 95 %"
        ) from None


def _auto(value: object) -> object:
    return None if value == "auto" else value


def not_a_switch(value: object) -> object:
    """Refuses `yes` for 1: to Python they are equal."""
    if isinstance(value, bool):
        raise refuse(f"{quoted(value)} is not a number", "write the number")
    return value


def size_text(size_bytes: float) -> str:
    """A bound as one would write it."""
    return exact_size(int(size_bytes))


class Bounds(Struct, frozen=True, kw_only=True):
    """Bounds of a number, with their reason. NaN and infinity lie outside any; `above` is itself outside."""

    reason: str
    most: float
    least: float | None = None
    above: float = 0
    text: Callable[[float], str] = "{:,}".format

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what there is, then the bounds."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The bounds, for a number that is written as one."""
        described = handler(schema)
        if described.get("type") in {"integer", "number"}:
            lower = {"exclusiveMinimum": self.above} if self.least is None else {"minimum": self.least}
            described |= {**lower, "maximum": self.most}
        return described

    def _checked(self, value: float | None) -> float | None:
        if value is None or self._holds(value):
            return value
        lower = f"above {self.text(self.above)}" if self.least is None else f"at least {self.text(self.least)}"
        most = self.text(self.most)
        number_text = self.text(value) if -PRINTED < value < PRINTED else quoted(value)
        mend = f"use {most} or less" if value > self.most else f"use a value {lower}"
        raise refuse(f"must be {lower} and at most {most}, not {number_text}: {self.reason}", mend.replace(",", ""))

    def _holds(self, value: float) -> bool:
        return (value > self.above if self.least is None else value >= self.least) and value <= self.most


def _growth(value: object) -> float | None:
    if value is None:
        return None
    share = GROWTH_TEXT.fullmatch(value) if isinstance(value, str) else None
    if share is None:
        raise refuse(f"{quoted(value)} is not a growth per month", "write it like this: 8 % a month")
    return float(share[1]) / 100


def _without_per_second(value: object) -> object:
    if isinstance(value, str) and value.replace(" ", "").endswith("/s"):
        size = value.rpartition("/")[0].strip()
        raise refuse(f"{quoted(value)}: the key says per second already", f"write {size}")
    return value


Size = Annotated[
    int,
    _text(parse_size, "64 KiB"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?([KMGTP]iB|B)$", "examples": ["64 KiB"]}),
]
"""Bytes, written with a binary unit."""

PerSecond = Annotated[Size, BeforeValidator(_without_per_second)]
"""Bytes, where the key says that they are per second."""

Rate = Annotated[
    int,
    _text(parse_rate, "125 MiB/s"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?([KMGTP]iB|B)/s$", "examples": ["125 MiB/s"]}),
]
"""Bytes per second, written with a binary unit."""

Duration = Annotated[
    float,
    _text(parse_duration, "12 h"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?(ms|s|min|h)$", "examples": ["12 h"]}),
]
"""Seconds, written with a unit."""

Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}),
]
"""0 to 1, or a percentage."""

Growth = Annotated[
    float,
    BeforeValidator(_growth),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?% a month$", "examples": ["8 % a month"]}),
]
"""The growth per month as a fraction; it is written as a percentage."""

Multiple = Annotated[
    float,
    _text(parse_multiple, "2.5x"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?x$", "examples": ["2.5x"]}),
]
"""A multiple, written with an `x`, such as `2.5x`."""

Auto = BeforeValidator(_auto)
"""Turns the word `auto` into None, which is how the types say that the calculator chooses."""
