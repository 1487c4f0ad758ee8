"""Amounts with their unit, as people read them."""

from __future__ import annotations

from warmbase.ground.units import format_number, format_rate, format_size


def amount_text(value: float, unit: str) -> str:
    """Return the amount that a resource has, or that a read needs."""
    if unit == "B/s":
        return format_rate(value)
    if unit == "B":
        return format_size(value)
    return f"{format_number(round(value, 4))} {unit}"


def printable(text: str) -> str:
    """Return the text with each character that a terminal may take for a command as a Python string writes it."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
