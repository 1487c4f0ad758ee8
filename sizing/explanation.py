"""Why a figure is what it is: the formula, what went into it, and where the rule comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Explanation", "Quantity", "Reasons"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A value with its unit; the unit is empty for a pure number or a name."""

    value: float | str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The formula of one figure, its inputs by the names the formula uses, and its source."""

    formula: str
    inputs: Mapping[str, Quantity]
    source: str


Reasons = Mapping[str, Explanation]
"""Reasons by the path of the figure in the plan: `bucket_cache.size_mib`."""


def explain(formula: str, source: str, /, **inputs: tuple[float | str, str]) -> Explanation:
    """A Because from (value, unit) pairs, which is how a rule's module writes it down."""
    quantities = {name: Quantity(value=value, unit=unit) for name, (value, unit) in inputs.items()}
    return Explanation(formula=formula, inputs=quantities, source=source)
