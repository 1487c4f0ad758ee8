"""The base of every section of an environment file: unknown keys are errors, and all errors are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from environments.reader.raw_section import RawSection

__all__ = ["Refusal", "Rule", "Section", "refuse"]

OURS: Final = "warmbase"
"""The type of an error that brings its own why and fix; `wording` matches it."""


def refuse(why: str, fix: str) -> PydanticCustomError:
    """Return the error of a validator of ours, in the two sentences that a Problem needs."""
    return PydanticCustomError(OURS, "{why}", {"why": why, "fix": fix})


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
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

    `rules` are asked whether or not a field is wrong: pydantic's own model validators are skipped then, and a person
    would learn of the second mistake only after mending the first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
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
