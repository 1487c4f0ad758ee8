"""Our types as JSON: field names are keys, and what JSON cannot say is null."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import asdict

from warmbase.sizing.modes import Mode
from warmbase.sizing.service.resource import Resource

SCALARS: Final = frozenset({str, int, bool, type(None)})
COMMANDING: Final = re.compile(r"[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters of Latin-1, marks that reverse the direction of text, and halves of surrogate pairs."""


@runtime_checkable
class HasJsonFields(Protocol):
    """A type whose JSON has other keys than its fields, for the sake of those who read it already."""

    def json_fields(self) -> dict[str, object]:
        """Return the keys with their values."""
        ...


def plain(value: object) -> Any:  # noqa: ANN401 - JSON has no type
    """Return structs, mappings, tuples and sets as dicts and lists, times in ISO 8601, infinite bounds as None."""
    # Nearly all values of a plan are scalars, and a check against a protocol takes longer than all the others.
    if type(value) in SCALARS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [plain(inner) for inner in value] if type(value) is tuple else _plain_object(value)


def _plain_object(value: object) -> Any:  # noqa: ANN401 - as above
    if isinstance(value, HasJsonFields) or _has_fields(value):
        return {name: plain(inner) for name, inner in _fields(value).items()}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list, frozenset)):
        inner_values = [plain(inner) for inner in value]
        return sorted(inner_values) if isinstance(value, frozenset) else inner_values
    if isinstance(value, datetime):
        return value.isoformat()
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return str(value) if isinstance(value, Mode) else value


def _has_fields(value: object) -> bool:
    return isinstance(value, Struct) and not isinstance(value, Mode) and not callable(value)


def _fields(value: Any) -> dict[str, object]:  # noqa: ANN401 - any struct
    if isinstance(value, HasJsonFields):
        return value.json_fields()
    fields = asdict(value)
    if isinstance(value, Resource):
        fields["max_reads_per_second"] = value.max_reads_per_second
    return fields


def json_text(value: object) -> str:
    """Return the document, indented, keys in the order of their fields; no character of it commands a terminal."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False)
    # json escapes C0 itself. Outside the strings there are only blanks and line feeds.
    return COMMANDING.sub(lambda character: json.dumps(character.group())[1:-1], text)
