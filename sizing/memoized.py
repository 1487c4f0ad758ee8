"""A function that remembers its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple, Unpack

__all__ = ["memoized"]

V = TypeVar("V")
Ts = TypeVarTuple("Ts")


def memoized(function: Callable[[Unpack[Ts]], V]) -> Callable[[Unpack[Ts]], V]:
    """Return the function with its values kept for as long as it lives.

    functools.cache does the same and also copies name and documentation, which takes as long as many of the values
    of a candidate, of which a search makes thousands.
    """
    values: dict[tuple[*Ts], V] = {}

    def value(*arguments: *Ts) -> V:
        if arguments not in values:
            values[arguments] = function(*arguments)
        return values[arguments]

    return value
