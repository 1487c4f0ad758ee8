"""Methods that remember their results, and structs in whose equality one field does not count."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from types import MethodType
from typing import Any, ClassVar, TypeVar, TypeVarTuple, Unpack, cast

from msgspec import Struct

S = TypeVar("S")
V = TypeVar("V")
Ts = TypeVarTuple("Ts")


def memoized(method: Callable[[S, Unpack[Ts]], V]) -> cached_property[Callable[[Unpack[Ts]], V]]:
    """Return a method that computes each value once, and remembers it for as long as its object lives.

    `functools.cache` on the method itself would keep every object alive.
    """
    return cached_property(lambda owner: cast("Callable[[Unpack[Ts]], V]", cache(MethodType(method, owner))))


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
