"""Values of a file as a message shows them: short, in YAML's own words, and never a crash."""

from __future__ import annotations

from typing import Final

__all__ = ["flow", "quoted"]

LONGEST: Final = 40  # judgement: a message of a terminal's width has room for half a line of it
LONGEST_BITS: Final = 128  # Python refuses to print a number of more than 4,300 digits


def quoted(value: object) -> str:
    """A text in quotes, a number or a word as it is, `a list` or `a mapping`."""
    if isinstance(value, str):
        return _short(repr(value))
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and value.bit_length() > LONGEST_BITS:
        return "so large a number"
    return _short(flow(value))


def flow(value: object) -> str:
    """An example as one would write it on one line: `{per_second: 900}`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return f'"{value}"' if isinstance(value, str) and value.isdigit() else str(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
