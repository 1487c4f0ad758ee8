"""Amounts with their unit, as people read them."""

from __future__ import annotations

from sizing.units import format_number, format_rate, format_size


def amount_text(value: float, unit: str) -> str:
    """Return the amount that a resource has, or that a read needs."""
    if unit == "B/s":
        return format_rate(value)
    if unit == "B":
        return format_size(value)
    return f"{format_number(round(value, 4))} {unit}"


def printable(text: str) -> str:
    """The text without anything that a terminal would take for a command."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
