"""What an alarm is: a threshold on one series, and a rule on the states of others by which somebody is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dashboards.graph import Exact

__all__ = ["Alarm", "Comparison", "CompositeAlarm", "Missing"]

Comparison = Literal[
    "GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold"
]
Missing = Literal["breaching", "notBreaching"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A threshold on what is watched: one series by its exact dimensions, or a Metrics Insights query.

    It calls nobody: its state is a `Call`'s to reckon with. In ALARM where `breaching` of the last `periods` breach; a
    period without data counts as `missing` says.
    """

    name: str
    description: str
    watched: Exact | str
    period_seconds: int
    periods: int
    breaching: int
    comparison: Comparison
    threshold: float
    missing: Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeAlarm:
    """A composite alarm: calls when its rule begins to hold, and again when it ends. One for each kind of cause."""

    name: str
    description: str
    rule: str
    """Of `ALARM("name")`, AND, OR, NOT and brackets. Source: CloudWatch API Reference, PutCompositeAlarm."""
