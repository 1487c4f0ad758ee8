"""A key of an environment file is one row: a field with its type, its default, its bounds, and whatever else is known.

The schema for editors, the reader, the environment page, new files, messages and the inputs of `warmbase explore` come
from that row; docs/add-a-key.md shows how to add one. `Bounds` says between which values a number makes sense, and why:
without it, a slip of a few zeros would become a plan, or an arithmetic error far from the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import refuse
from warmbase.ground.units import exact_size

PRINTED: Final = 10**24
"""Beyond it a number is not worth the digits; NaN is not below it either."""


def size_text(size_bytes: float) -> str:
    """Return a bound as a person would write it."""
    return exact_size(int(size_bytes))


class Bounds(Struct, frozen=True, kw_only=True):
    """Bounds of a number, with their reason. NaN and infinity lie outside any; `above` is itself outside."""

    reason: str
    most: float
    least: float | None = None
    above: float = 0
    text: Callable[[float], str] = "{:,}".format

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the field, followed by the check of the bounds."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema for editors, with the bounds of a number that is written without a unit."""
        described = handler(schema)
        lower = {"exclusiveMinimum": self.above} if self.least is None else {"minimum": self.least}
        for form in (described, *described.get("anyOf", ())):
            if form.get("type") in {"integer", "number"} and "maximum" not in form:
                form |= {**lower, "maximum": self.most}
        return described

    def _checked(self, value: float | None) -> float | None:
        if value is None:
            return None
        reaches = value > self.above if self.least is None else value >= self.least
        if reaches and value <= self.most:
            return value
        lower = f"above {self.text(self.above)}" if self.least is None else f"at least {self.text(self.least)}"
        most = self.text(self.most)
        number_text = self.text(value) if -PRINTED < value < PRINTED else quoted(value)
        mend = f"use {most} or less" if value > self.most else f"use a value {lower}"
        raise refuse(f"must be {lower} and at most {most}, not {number_text}: {self.reason}", mend.replace(",", ""))


Kind = Literal["size", "count", "share", "time", "usd", "ratio", "multiple", "skew", "choice"]
SKEWS: Final = ("uniform", "0.7", "0.9", "0.99", "1.1")


class Slider(Struct, frozen=True):
    """The input of a key on the page of `warmbase explore`, in one of the page's sections.

    `least` and `most` are the ends of the slider, in bytes, seconds, dollars or plain numbers. The text field accepts
    values beyond them. The field of an `optional` input may be empty. In a report, the slider stops at the value in the
    file and at these `stops`, and at multiples of that value if `is_scaled`. If the choice that it `needs`, a key of
    the same section, is `none`, the input means nothing, and its value is that `without` the choice.
    """

    section: str
    title: str
    kind: Kind
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    optional: bool = False
    stops: tuple[str, ...] = ()
    is_scaled: bool = False
    needs: str = ""
    without: str = ""


class Key(Struct, frozen=True, kw_only=True):
    """The row of a key: what is known of it besides its type, its bounds and its default.

    `text` describes it in editors, in drafts and on the environment page. `effect` names what it moves in a plan; the
    keys in a section have the effect of the section if they have none themselves. `decides` follows the value in the
    list of what a plan assumes. `assumed` is the reason with which a draft states the default.
    """

    text: str
    effect: str = ""
    decides: str = ""
    assumed: str = ""
    slider: Slider | None = None

    @classmethod
    def of(cls, field: FieldInfo) -> Key:
        """Return the key that `yaml_key` has put on a field."""
        return next(entry for entry in field.metadata if isinstance(entry, cls))


def yaml_key(  # noqa: PLR0913 - the columns of a row
    text: str,
    default: object = ...,
    *,
    form: str | None = None,
    bounds: Bounds | None = None,
    examples: Sequence[object] = (),
    effect: str = "",
    decides: str = "",
    assumed: str = "",
    slider: Slider | None = None,
    **constraints: Any,  # noqa: ANN401 - as pydantic's Field
) -> Any:  # noqa: ANN401 - as pydantic's Field
    """Return the field of a key; without a default, the key is required.

    `form` is a phrase that ends the message about a value of another form. `constraints` are those of pydantic's Field.
    """
    field = Field(default, description=form, examples=list(examples) or None, **constraints)
    facts = Key(text=text, effect=effect, decides=decides, assumed=assumed, slider=slider)
    field.metadata += [facts, bounds] if bounds else [facts]
    return field
