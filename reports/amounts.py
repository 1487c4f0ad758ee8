"""Amounts with their unit, as people read them."""

from __future__ import annotations

from sizing.explanation import Quantity
from sizing.units import MIB, format_rate, format_size

__all__ = ["amount_text", "number_text", "printable", "quantity_text"]

WHOLE_FROM = 1000
"""From here on a number is told without decimals."""


def number_text(value: float | str) -> str:
    """A number with four figures, a whole one whole, a name as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= WHOLE_FROM:
        return f"{value:,.0f}"
    return f"{value:,.4g}"


def quantity_text(quantity: Quantity) -> str:
    """Return a quantity of a reason; bytes from a MiB on in a binary unit."""
    if quantity.unit == "B" and not isinstance(quantity.value, str) and quantity.value >= MIB:
        return format_size(quantity.value)
    return f"{number_text(quantity.value)} {quantity.unit}".rstrip()


def amount_text(value: float, unit: str) -> str:
    """Return what a resource has, or a read needs of it."""
    if unit == "B/s":
        return format_rate(value)
    if unit == "B":
        return format_size(value)
    return f"{number_text(round(value, 4))} {unit}"


def printable(text: str) -> str:
    """The text without anything that a terminal would take for a command."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
