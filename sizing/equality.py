"""Equality of structs of which one field does not count."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

__all__ = ["EqualButFor"]


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
