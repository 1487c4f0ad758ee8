"""The reads that the hit ratio of a plan is about, in words."""

from __future__ import annotations

from sizing.plan import Plan


def block_reads(plan: Plan) -> str:
    """Return the reads that the hit ratio is about: all, or those of cached tables."""
    return "block reads" if all(table.cached for table in plan.tables) else "the block reads of cached tables"
