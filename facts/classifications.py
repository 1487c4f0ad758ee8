"""Configuration classifications that EMR documents, from facts/classifications.csv."""

from __future__ import annotations

from functools import cache

from facts.table import rows

__all__ = ["classifications"]


@cache
def classifications() -> frozenset[str]:
    """Return the paths of all classifications, such as `hbase-env/export`, with those of older releases."""
    return frozenset(row["classification"] for row in rows("classifications.csv"))
