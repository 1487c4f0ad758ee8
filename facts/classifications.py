"""Configuration classifications that EMR documents, from facts/classifications.csv."""

from __future__ import annotations

from functools import cache

from facts.table import rows

__all__ = ["classifications"]


@cache
def classifications() -> frozenset[str]:
    """Paths of all, names from the outside in: `hbase-site`, `hbase-env/export`; those of older releases too."""
    return frozenset(row["classification"] for row in rows("classifications.csv"))
