"""Figures, ratios and targets as text, the same on every page."""

from __future__ import annotations

import math
from typing import Final

from lab.hbase.result import Measurement, MeasurementTarget, TargetKind
from sizing.units import format_percent, format_rate, format_size

NOTHING: Final = "-"
"""The text in place of a missing prediction, ratio or target."""
FIGURES: Final = 4
WHOLE_FROM: Final = 1000
"""Numbers from this size on have no decimals."""
FINE_FROM: Final = 0.1
FINE_BELOW: Final = 10
"""Ratios between these have two decimals, larger ones have one."""


def number_text(value: float) -> str:
    """Return a number with four figures and never an exponent, a whole one whole."""
    if not math.isfinite(value):
        return "no number"
    if abs(value) >= WHOLE_FROM or value == round(value):
        return f"{value:,.0f}"
    decimals = FIGURES - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def amount_text(value: float | str, unit: str) -> str:
    """Return a number with its unit, bytes with a binary one; text stays unchanged."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return number_text(value)
    match unit:
        case "B":
            return format_size(value)
        case "B/s":
            return format_rate(value)
        case "x":
            return f"{number_text(value)}x"
    return f"{number_text(value)} {unit}".rstrip()


def measured_text(figure: Measurement) -> str:
    """Return the measured figure with its unit."""
    return amount_text(figure.measured, figure.unit)


def predicted_text(figure: Measurement) -> str:
    """Return the predicted figure with its unit; a dash without a prediction."""
    return NOTHING if figure.predicted is None else amount_text(figure.predicted, figure.unit)


def ratio_text(figure: Measurement) -> str:
    """Return measured over predicted; a dash where one of them is no number, or nothing was predicted."""
    measured, predicted = figure.measured, figure.predicted
    if isinstance(measured, str) or isinstance(predicted, str) or not predicted:
        return NOTHING
    ratio = measured / predicted
    if not math.isfinite(ratio):
        return NOTHING
    if FINE_FROM <= abs(ratio) < FINE_BELOW:
        return f"{ratio:.2f}"
    return f"{ratio:,.1f}" if abs(ratio) >= FINE_BELOW else f"{ratio:.2g}"


def target_text(figure: Measurement) -> str:
    """Return the target of the measurement, such as `at least 0.95` or `within 10 %`; a dash without one."""
    return NOTHING if figure.target is None else _target_text(figure.target, figure.unit)


def _target_text(target: MeasurementTarget, unit: str) -> str:
    match target.kind:
        case TargetKind.SAME:
            return "as predicted"
        case TargetKind.WITHIN_FRACTION:
            return f"within {format_percent(target.bound)}"
        case TargetKind.WITHIN_FACTOR:
            return f"within a factor of {number_text(target.bound)}"
        case TargetKind.WITHIN_DIFFERENCE:
            return f"within ± {amount_text(target.bound, unit)}"
        case TargetKind.AT_LEAST | TargetKind.AT_MOST:
            return f"{target.kind} {amount_text(target.bound, unit)}"
