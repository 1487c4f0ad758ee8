"""The base of every section of an environment file, its rules, and its scalars: text with a unit, and `auto`.

Unknown keys are errors, and all errors of a file are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from warmbase.environments.reader.messages import quoted
from warmbase.ground.units import (
    AmbiguousUnit,
    parse_duration,
    parse_fraction,
    parse_multiple,
    parse_rate,
    parse_size,
)

OURS: Final = "warmbase"
"""The type of an error that brings its own why and fix; `messages` matches it."""


def refuse(why: str, fix: str) -> PydanticCustomError:
    """Return the error of a validator of ours, in the two sentences that a Problem needs."""
    return PydanticCustomError(OURS, "{why}", {"why": why, "fix": fix})


class Refusal(Struct, frozen=True, kw_only=True):
    """A value that a rule refuses; `at` is the path from the rule's section to the value."""

    at: tuple[str | int, ...] = ()
    why: str
    fix: str


class AbsentField(Exception):
    """A rule has read a field that its section does not have, because it is wrong by itself."""


known_values: Final = suppress(AbsentField)
"""A block `with known_values` is one rule. It ends in silence if it reads a field that is wrong by itself."""


class Section(BaseModel):
    """One mapping of the file. Unknown keys are errors; texts and numbers are not mixed up.

    A section that is a default is made by `model_construct`, because pydantic then compiles the schemas of all sections
    only once, when the first file is read.

    A section has no attribute for a field that is wrong, so the rules that need the field are skipped, and all others
    are asked. With validators of pydantic's, a person would learn of the second mistake only after mending the first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raise AbsentField for a field without a value."""
            if name in type(self).model_fields:
                raise AbsentField(name)
            return super().__getattr__(name)

    def gives(self, name: str) -> bool:
        """Return whether the file has a value for a key, right or wrong."""
        return name in self.model_fields_set and vars(self).get(name, True) is not None

    def rules(self) -> Iterator[Refusal]:
        """Yield the refusals of rules about several values of this section, each in a block `with known_values`."""
        yield from ()


def refusals(value: object) -> Iterator[Refusal]:
    """Yield what the rules of a section, and before them the rules of the sections in it, refuse."""
    parts: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, (Section, dict)):
        parts = (vars(value) if isinstance(value, Section) else value).items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for name, part in parts:
        for refusal in refusals(part):
            yield Refusal(at=(name, *refusal.at), why=refusal.why, fix=refusal.fix)
    if isinstance(value, Section):
        yield from value.rules()


GROWTH_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s+a\s+month\s*")


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

Auto = BeforeValidator(lambda value: None if value == "auto" else value)
"""Turns the word `auto` into None, which is how the types say that the calculator chooses."""
