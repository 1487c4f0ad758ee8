"""The base of every section of an environment file, and its scalars: text with a unit, shares, and `auto`.

Unknown keys are errors, and all errors of a file are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar, Final, Self, TypeVar

from msgspec import Struct
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from warmbase.environments.reader.messages import quoted
from warmbase.ground.units import (
    AmbiguousUnit,
    parse_duration,
    parse_fraction,
    parse_multiple,
    parse_rate,
    parse_size,
)

Number = TypeVar("Number", int, float)
ABSURD: Final = 2**63
"""Every bound is far below; a rule need not print more."""


class RawSection(Struct, frozen=True):
    """The values as the file has them, before any validator runs. A default replaces a missing value."""

    values: Mapping[str, object]

    @classmethod
    def of(cls, values: object) -> Self | None:
        """Return None for a value that is not a mapping."""
        return cls(values) if isinstance(values, dict) else None

    def gives(self, key: str) -> bool:
        """Return whether the key has a value, right or wrong."""
        return self.values.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str | None:
        """Return the value if it is text."""
        value = self.values.get(key, default)
        return value if isinstance(value, str) else None

    def whole(self, key: str, default: int | None = None) -> int | None:
        """Return the value if it is a whole number."""
        value = self.values.get(key, default)
        return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= ABSURD else None

    def number(self, key: str, default: float | None = None) -> float | None:
        """Return the value if it is a number."""
        value = self.values.get(key, default)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def size(self, key: str, default: int | None = None) -> int | None:
        """Return a size, in bytes."""
        return self._parsed(key, parse_size, default)

    def rate(self, key: str, default: int | None = None) -> int | None:
        """Return a rate, in bytes per second."""
        return self._parsed(key, parse_rate, default)

    def share(self, key: str) -> float | None:
        """Return a share, from 0 to 1."""
        number = self.number(key)
        if number is not None:
            return number if 0 <= number <= 1 else None
        return self._parsed(key, parse_fraction, None)

    def multiple(self, key: str) -> float | None:
        """Return a multiple: 2.5 for `2.5x`."""
        return self._parsed(key, parse_multiple, None)

    def section(self, key: str) -> RawSection:
        """Return the mapping at that key, or an empty one where there is none."""
        return RawSection.of(self.values.get(key)) or RawSection({})

    def sections(self) -> Iterator[tuple[str, RawSection]]:
        """Return every mapping within, by its key."""
        return ((key, section) for key, value in self.values.items() if (section := RawSection.of(value)))

    def entries(self, key: str) -> list[RawSection]:
        """Return the mappings of a list."""
        values = self.values.get(key)
        return [section for value in values if (section := RawSection.of(value))] if isinstance(values, list) else []

    def _parsed(self, key: str, parse: Callable[[str], Number], default: Number | None) -> Number | None:
        value = self.values.get(key)
        if value is None:
            return default
        try:
            parsed = parse(value) if isinstance(value, str) else None
        except (ValueError, OverflowError):
            return None
        return parsed if parsed is not None and parsed <= ABSURD else None


OURS: Final = "warmbase"
"""The type of an error that brings its own why and fix; `wording` matches it."""


def refuse(why: str, fix: str) -> PydanticCustomError:
    """Return the error of a validator of ours, in the two sentences that a Problem needs."""
    return PydanticCustomError(OURS, "{why}", {"why": why, "fix": fix})


class Refusal(Struct, frozen=True, kw_only=True):
    """A value that a rule refuses; `at` is the path from the rule's section to the value."""

    at: tuple[str | int, ...] = ()
    why: str
    fix: str

    def details(self) -> InitErrorDetails:
        """Return the refusal in the form that pydantic takes."""
        return InitErrorDetails(type=refuse(self.why, self.fix), loc=self.at, input=None)


Rule = Callable[[RawSection], Iterator[Refusal]]
"""Checks several values together. A rule is silent where a value that it needs is missing or invalid by itself."""


class Section(BaseModel):
    """One mapping of the file. Unknown keys are errors; texts and numbers are not mixed up.

    A section that is a default is made by `model_construct`, because pydantic then compiles the schemas of all sections
    only once, when the first file is read.

    `rules` are asked whether or not a field is wrong: pydantic's own model validators are skipped then, and a person
    would learn of the second mistake only after mending the first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="wrap")
    @classmethod
    def fields_and_rules(cls, values: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raises one ValidationError with what the fields and what the rules refuse."""
        raw = RawSection.of(values)
        refused = [refusal.details() for rule in cls.rules for refusal in rule(raw)] if raw else []
        try:
            section = handler(values)
        except ValidationError as error:
            refused = [*map(_again, error.errors(include_url=False)), *refused]
        if refused:
            raise ValidationError.from_exception_data(cls.__name__, refused)
        return section


def _again(details: ErrorDetails) -> InitErrorDetails:
    """Return an error that pydantic raised in the form in which it can be raised once more."""
    context = details.get("ctx", {})
    kind = PydanticCustomError(OURS, "{why}", context) if details["type"] == OURS else details["type"]
    return InitErrorDetails(type=kind, loc=details["loc"], input=details["input"], ctx=context)


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


def _auto(value: object) -> object:
    return None if value == "auto" else value


def not_a_switch(value: object) -> object:
    """Refuses `yes` for 1: to Python they are equal."""
    if isinstance(value, bool):
        raise refuse(f"{quoted(value)} is not a number", "write the number")
    return value


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
