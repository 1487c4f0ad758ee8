"""A value that hbase-env.sh exports: `export NAME=value`, a line of the shell."""

from __future__ import annotations

import re
import shlex
from typing import Final

from emr.cluster_spec import PLACEHOLDER

__all__ = ["shell_word_count", "without_quotes"]

SUBSTITUTED: Final = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}")
"""What a command prints, or a variable holds, is one word in an assignment, whatever blanks it is written with."""


def shell_word_count(value: str) -> int:
    """How many words a shell sees; a gap is one letter. 0 for a quote that is never closed."""
    try:
        return len(shlex.split(SUBSTITUTED.sub("x", PLACEHOLDER.sub("x", value))))
    except ValueError:
        return 0


def without_quotes(value: str) -> str | None:
    """The value as it goes between double quotes; None where quotes or backslashes in it mean something."""
    stripped = value.strip()
    for quote in ('"', "'"):
        if stripped.startswith(quote) and stripped.endswith(quote) and stripped.count(quote) == 2:  # noqa: PLR2004
            stripped = stripped[1:-1].strip()
    plain = stripped if re.search(r"[\"'\\\\`]", stripped) is None else None
    return plain or None
