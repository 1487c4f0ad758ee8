"""The arithmetic of an explanation: an expression over named inputs, evaluated and never trusted.

A formula holds no number of its own: every number is an input with a name, a unit and a source, so a constant cannot
be written down a second time. `evaluate` reads the expression with `ast` and computes it here; nothing is executed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

__all__ = ["Value", "evaluate", "names"]

Value = float | str
"""A number (a truth value is one) or a name, such as an instance type."""

ROUNDING: Final = 1e-9  # relative: a comparison forgives what two orders of float64 arithmetic differ by
FORMULAS: Final = 1_024  # parsed formulas that are remembered; a plan has about fifty


def up_to(value: float, step: float) -> float:
    """The smallest multiple of the step that is at least the value."""
    return step * math.ceil(value / step)


def down_to(value: float, step: float) -> float:
    """The largest multiple of the step that is at most the value."""
    return step * math.floor(value / step)


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "ceil": math.ceil,
    "down_to": down_to,
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
