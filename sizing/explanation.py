"""Why a figure is what it is: a sentence, a formula that gives the figure, what goes into it, and where it comes from.

An explanation is checked and not believed: `Explanation.value` computes the formula from the inputs, and a test holds
it against the plan's figure for every mode and for many workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import ClassVar, Final

from msgspec import Struct

from sizing.equality import EqualButFor
from sizing.formula import Value, evaluate
from sizing.units import (
    MIB,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)

__all__ = ["Explanation", "Explanations", "Kind", "Quantity", "constraint", "explain"]


def _format_bytes(size_bytes: float) -> str:
    """A size in the unit that fits it, and below a MiB to the byte: blocks differ by bytes."""
    return format_size(size_bytes) if abs(size_bytes) >= MIB else f"{format_number(size_bytes)} B"


FORMATS: Final[Mapping[str, Callable[[float], str]]] = {
    "B": _format_bytes,
    "B/s": format_rate,
    "MiB": lambda mebibytes: format_size(mebibytes * MIB),
    "USD/month": lambda usd: f"{format_usd(usd)} a month",
    "fraction": format_percent,
    "ms": lambda milliseconds: format_duration(milliseconds / 1000),
    "s": format_duration,
}
"""How people read a number in that unit; one in any other unit is printed with it."""
UNIT: Final = "unit"
"""The source of a quantity that only converts one unit into another."""


class Quantity(Struct, frozen=True, kw_only=True):
    """A value with its unit and its source; the unit is empty for a pure number or a name."""

    value: Value
    unit: str = ""
    source: str = ""

    def __str__(self) -> str:
        """Return it as people read it: a share in percent, a time or a size in the unit that fits it."""
        if isinstance(self.value, str):
            return self.value
        if self.unit in FORMATS:
            return FORMATS[self.unit](self.value)
        unit = self.unit.removesuffix("s") if self.value == 1 and len(self.unit) > 1 else self.unit
        return f"{format_number(self.value)} {unit}".rstrip()


class Kind(StrEnum):
    """How a formula proves its figure."""

    EQUATION = "equation"
    """The formula's value is the figure."""
    CONSTRAINT = "constraint"
    """A search chose the figure, and the formula is the comparison that decided; it holds."""


class Explanation(EqualButFor, frozen=True, kw_only=True):
    """Why one figure is what it is.

    `sentence` says it in plain English, with every number taken from the inputs. `formula` holds no digit: its names
    are keys of `inputs`, or of `functions`, which are the project's own and are called when the formula is evaluated.
    `source` says where the rule comes from; each input has a source of its own.
    """

    UNCOMPARED: ClassVar[str] = "functions"

    sentence: str
    kind: Kind
    formula: str
    inputs: Mapping[str, Quantity]
    functions: Mapping[str, Callable[..., float]]
    source: str

    @property
    def facts(self) -> Mapping[str, Quantity]:
        """The inputs without those that only convert one unit into another."""
        return {name: quantity for name, quantity in self.inputs.items() if quantity.source != UNIT}

    @property
    def value(self) -> Value:
        """The formula, computed from the inputs: the figure itself, or True for a constraint that holds."""
        values = {name: quantity.value for name, quantity in self.inputs.items()}
        return evaluate(self.formula, values, self.functions)


Explanations = Mapping[str, Explanation]
"""Explanations by the path of the figure in the plan: `bucket_cache.size_mib`."""


def explain(
    formula: str,
    sentence: str,
    source: str,
    functions: Mapping[str, Callable[..., float]] | None = None,
    /,
    **inputs: Quantity,
) -> Explanation:
    """An explanation whose formula gives the figure. `{name}` in the sentence stands for that input."""
    return Explanation(
        sentence=sentence.format_map(inputs),
        kind=Kind.EQUATION,
        formula=formula,
        inputs=inputs,
        functions=functions or {},
        source=source,
    )


def constraint(formula: str, sentence: str, source: str, /, **inputs: Quantity) -> Explanation:
    """Explain a figure that a search chose by the comparison that decided."""
    return Explanation(
        sentence=sentence.format_map(inputs),
        kind=Kind.CONSTRAINT,
        formula=formula,
        inputs=inputs,
        functions={},
        source=source,
    )
