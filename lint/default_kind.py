"""The kind of value that a key takes, as far as HBase's own default shows it: a whole number, a number, or a switch."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from lint.finding import Consequence


class ValueKind(Struct, frozen=True):
    """A kind of value by its name, the form that Hadoop's Configuration accepts, and what another value does."""

    name: str
    form: re.Pattern[str]
    consequence: Consequence

    def accepts(self, value: str) -> bool:
        """Return whether Configuration reads the value; one that names another property may be of any kind."""
        return "${" in value or self.form.fullmatch(value.strip()) is not None


SWITCH: Final = ValueKind("true or false", re.compile("true|false", re.IGNORECASE), Consequence.IGNORED)
WHOLE: Final = ValueKind("a whole number", re.compile(r"[+-]?(\d+|0[xX][0-9a-fA-F]+)"), Consequence.WILL_NOT_START)
NUMBER: Final = ValueKind(
    "a number", re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?"), Consequence.WILL_NOT_START
)


def default_kind(default: str | None) -> ValueKind | None:
    """Return the kind of a default; None where it is a text, or unknown."""
    if default is None:
        return None
    return next((kind for kind in (SWITCH, WHOLE, NUMBER) if kind.form.fullmatch(default.strip())), None)
