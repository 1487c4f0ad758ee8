"""The scalars of an environment file: text with a unit, `auto`, and values that are not honoured yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from sizing.units import parse_fraction, parse_rate, parse_size

__all__ = ["Auto", "Rate", "Share", "Size", "only", "refuse"]


def refuse(why: str, fix: str) -> PydanticCustomError:
    """The error of a validator of ours, in the two sentences that a Problem needs."""
    return PydanticCustomError("warmbase", "{why}", {"why": why, "fix": fix})


def _text(parse: Callable[[str], int], example: str) -> BeforeValidator:
    def parsed(value: object) -> int:
        if not isinstance(value, str):
            raise refuse(f"{value!r} has no unit", f"write it with a binary unit, such as {example}")
        try:
            return parse(value)
        except ValueError as error:
            raise refuse(f"{value!r}: {error}", f"write it like {example}") from None

    return BeforeValidator(parsed)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise refuse(f"{value!r} is not a share", "write it like 0.95 or 95 %")
    try:
        return parse_fraction(value)
    except ValueError as error:
        raise refuse(str(error), "write it like 0.95 or 95 %") from None


def _auto(value: object) -> object:
    return None if value == "auto" else value


def only(*honoured: object) -> AfterValidator:
    """Refuses a value that the schema knows and that nothing behind it honours yet."""

    def checked(value: Any) -> Any:  # noqa: ANN401 - any field may use it
        if value in honoured:
            return value
        names = " or ".join("null" if one is None else str(one) for one in honoured)
        raise refuse(f"{value!r} is not supported yet", f"use {names}")

    return AfterValidator(checked)


Size = Annotated[
    int,
    _text(parse_size, "64 KiB"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?([KMGTP]iB|B)$", "examples": ["64 KiB"]}),
]
"""Bytes, written with a binary unit."""

Rate = Annotated[
    int,
    _text(parse_rate, "125 MiB/s"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+ ?([KMGTP]iB|B)/s$", "examples": ["125 MiB/s"]}),
]
"""Bytes per second, written with a binary unit."""

Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}),
]
"""0 to 1, or a percentage."""

Auto = BeforeValidator(_auto)
"""Turns the word `auto` into None, which is how the types say that the calculator chooses."""
