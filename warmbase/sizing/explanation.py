"""An explanation: why a figure is what it is, as a sentence, a formula that gives the figure, its inputs and sources.

An input names its origin, which `constant`, `setting`, `figure` and `computed` write.

An explanation is checked, not trusted: `Explanation.value` computes the formula from the inputs, and a test holds
it against the plan's figure for every mode and for many workloads. `figure_at` finds a figure of a plan by its path.

A formula holds no number of its own: every number is an input with a name, a unit and a source, so a constant cannot be
written down a second time. `evaluate` reads the expression with `ast` and computes it; nothing is executed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import ModuleType
from typing import ClassVar, Final

from msgspec import Struct

from warmbase.ground.units import (
    GIB,
    MIB,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)
from warmbase.ground.values import EqualButFor
from warmbase.sizing.requirements import PINNED_BY, Pins

Value = float | str
"""A number (a truth value is one) or a name, such as an instance type."""

ROUNDING: Final = 1e-9  # relative: a comparison forgives what two orders of float64 arithmetic differ by
FORMULAS: Final = 1_024  # parsed formulas that are remembered; a plan has about fifty


def up_to(value: float, step: float) -> float:
    """The smallest multiple of the step that is at least the value."""
    return step * math.ceil(value / step)


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "ceil": math.ceil,
    "down_to": lambda value, step: step * math.floor(value / step),
    "floor": math.floor,
    "max": max,
    "min": min,
    "round": round,
    "up_to": up_to,
}
ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluate(formula: str, inputs: Mapping[str, Value], functions: Mapping[str, Callable[..., Value]]) -> Value:
    """The value of a formula: a number, a name, or for a comparison whether it holds.

    `functions` are those of the project that the formula calls by name, beside `ceil`, `max` and their like. Raises
    ValueError for anything but arithmetic, comparisons and a conditional over named inputs, TypeError for a name where
    a number must stand, and KeyError for one that is no input.
    """
    return _value(_parsed(formula), inputs, {**FUNCTIONS, **functions})


def names(formula: str) -> frozenset[str]:
    """Return the inputs and functions that a formula names."""
    return frozenset(node.id for node in ast.walk(_parsed(formula)) if isinstance(node, ast.Name))


@lru_cache(maxsize=FORMULAS)
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _value(node: ast.expr, inputs: Mapping[str, Value], functions: Mapping[str, Callable[..., Value]]) -> Value:
    def number(inner: ast.expr) -> float:
        value = _value(inner, inputs, functions)
        if isinstance(value, str):
            raise TypeError(f"{ast.unparse(inner)} is the name {value!r}, where the formula needs a number")
        return value

    match node:
        case ast.Name(id=name):
            return inputs[name]
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in ARITHMETIC:
            return ARITHMETIC[type(symbol)](number(left), number(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return functions[name](*(number(argument) for argument in arguments))
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return _value(body if number(test) else otherwise, inputs, functions)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(number(part) for part in parts)
        case ast.Compare(left=left, ops=symbols, comparators=others):
            sides = [number(left), *(number(other) for other in others)]
            return all(map(_holds, symbols, sides, sides[1:]))
    raise ValueError(f"a formula has no {type(node).__name__}: {ast.unparse(node)}")


def _holds(symbol: ast.cmpop, first: float, second: float) -> bool:
    near = math.isclose(first, second, rel_tol=ROUNDING)
    match symbol:
        case ast.LtE():
            return first < second or near
        case ast.GtE():
            return first > second or near
        case ast.Lt():
            return first < second and not near
        case ast.Gt():
            return first > second and not near
    raise ValueError(f"a formula compares with <, <=, > or >=, not with {type(symbol).__name__}")


FORMATS: Final[Mapping[str, Callable[[float], str]]] = {
    # A size in the unit that fits it, and below a MiB to the byte: blocks differ by bytes.
    "B": lambda size: format_size(size) if abs(size) >= MIB else f"{format_number(size)} B",
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


GIBIBYTE: Final = Quantity(value=GIB, unit="B", source=UNIT)
MEBIBYTE: Final = Quantity(value=MIB, unit="B", source=UNIT)
MILLISECONDS: Final = Quantity(value=1000, unit="ms/s", source=UNIT)
WHOLE: Final = Quantity(value=1, source=UNIT)
NOTHING: Final = Quantity(value=0, source=UNIT)
SETTING: Final = "environment file: "
"""The prefix of the source of a value that the environment file states."""


def constant(module: ModuleType, name: str, unit: str = "") -> Quantity:
    """A constant of the calculator, read from the module whose comment gives the argument for it."""
    return Quantity(value=getattr(module, name), unit=unit, source=f"{module.__name__}.{name}")


def setting(value: Value, unit: str, key: str) -> Quantity:
    """Return a value that the environment file states under that key."""
    return Quantity(value=value, unit=unit, source=f"{SETTING}{key}")


def figure(value: Value, unit: str, path: str) -> Quantity:
    """Another figure of the same plan, which has an explanation of its own where its path is one."""
    return Quantity(value=value, unit=unit, source=f"plan: {path}")


def computed(value: Value, unit: str, source: str) -> Quantity:
    """Return the result of a function of the calculator, or a property of an instance type or of a storage mode."""
    return Quantity(value=value, unit=unit, source=source)


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


def pinned(pins: Pins, name: str) -> Explanation | None:
    """Return the explanation of a figure that an override pins, None where the calculator chose it."""
    value = getattr(pins, name)
    if value is None:
        return None
    return explain(
        "stated",
        "Your override sets this to {stated}, and the plan uses it.",
        "the environment file",
        stated=setting(value, "", f"overrides.{PINNED_BY[name]}"),
    )


def figure_at(plan: object, path: str) -> object:
    """Return the figure at a path such as `heap.xmx_mib`, or `core.volumes.cache.size_gib` for one purpose.

    Raises LookupError where the plan has none.
    """
    value: object = plan
    for key in path.split("."):
        if isinstance(value, tuple):
            value = next((volume for volume in value if volume.purpose == key), None)
        else:
            value = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        if value is None:
            raise LookupError(f"the plan has no figure {path}")
    return value
