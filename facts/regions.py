"""AWS regions by name, from facts/regions.csv."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from facts.table import rows

__all__ = ["utc_offset_hours"]


@cache
def _offsets() -> Mapping[str, float]:
    return {row["region"]: float(row["utc_offset_hours"]) for row in rows("regions.csv")}


def utc_offset_hours(region: str) -> float:
    """Return the winter offset of a region from UTC in hours; 0 for a region that the table lacks."""
    return _offsets().get(region, 0.0)
