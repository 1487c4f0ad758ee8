"""What every mapping of an environment file has in common: no unknown keys, and all that is wrong reported at once."""

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
    """What a rule finds wrong; `at` leads from its section to the value."""

    at: tuple[str | int, ...] = ()
    why: str
    fix: str

    def details(self) -> InitErrorDetails:
        """As pydantic takes it."""
        return InitErrorDetails(type=refuse(self.why, self.fix), loc=self.at, input=None)


Rule = Callable[[RawSection], Iterator[Refusal]]
"""What several values together can get wrong. Silent where one that it needs is missing, or wrong by itself."""


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
        said = RawSection.of(values)
        refused = [refusal.details() for rule in cls.rules for refusal in rule(said)] if said else []
        try:
            section = handler(values)
        except ValidationError as error:
            refused = [*map(_again, error.errors(include_url=False)), *refused]
        if refused:
            raise ValidationError.from_exception_data(cls.__name__, refused)
        return section


def _again(details: ErrorDetails) -> InitErrorDetails:
    """An error that was raised, as one to raise."""
    context = details.get("ctx", {})
    kind = PydanticCustomError(OURS, "{why}", context) if details["type"] == OURS else details["type"]
    return InitErrorDetails(type=kind, loc=details["loc"], input=details["input"], ctx=context)
