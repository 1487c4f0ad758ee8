"""A function that remembers its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple, Unpack

__all__ = ["memoized"]

V = TypeVar("V")
Ts = TypeVarTuple("Ts")


def memoized(function: Callable[[Unpack[Ts]], V]) -> Callable[[Unpack[Ts]], V]:
    """Return a function that computes each value once, and remembers it for as long as the function lives.

    functools.cache does the same, but also copies the name and the docstring. A search makes thousands of candidates,
    and for each of them, the copy would take as long as the computation of many values.
    """
    values: dict[tuple[*Ts], V] = {}

    def value(*arguments: *Ts) -> V:
        if arguments not in values:
            values[arguments] = function(*arguments)
        return values[arguments]

    return value
