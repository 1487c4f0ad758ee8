"""Functions that remember their results, and structs in whose equality one field does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, TypeVarTuple, Unpack

from msgspec import Struct

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


class EqualButFor(Struct, frozen=True, kw_only=True, eq=False):
    """A struct whose field `UNCOMPARED` is left out where two of them are compared."""

    UNCOMPARED: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        """Compare the types, and the values of all other fields."""
        return type(self) is type(other) and self._compared() == other._compared()

    def __hash__(self) -> int:
        """Raises TypeError where a field is a mapping or a list."""
        return hash(self._compared())

    def _compared(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != self.UNCOMPARED)
