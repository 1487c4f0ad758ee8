"""Finds the differences between two price tables of a region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from sizing.prices import PriceTable

__all__ = ["SMALLEST_CHANGE_FRACTION", "PriceChange", "changes", "figures"]

SMALLEST_CHANGE_FRACTION: Final = 0.005  # judgement: smaller differences come from rounding


class PriceChange(Struct, frozen=True, kw_only=True):
    """One price, before and after."""

    what: str
    per: str
    current_usd: float
    new_usd: float

    @property
    def fraction(self) -> float:
        """The rise of the price as a fraction of the current one; negative where it falls."""
        return self.new_usd / self.current_usd - 1


def changes(current: PriceTable, new: PriceTable) -> tuple[PriceChange, ...]:
    """Return the prices of both tables that differ by more than SMALLEST_CHANGE_FRACTION, largest change first."""
    before, after = dict(figures(current)), dict(figures(new))
    both = [
        PriceChange(what=what, per=per, current_usd=before[what, per], new_usd=after[what, per])
        for what, per in after
        if (what, per) in before
    ]
    changed = [change for change in both if abs(change.fraction) > SMALLEST_CHANGE_FRACTION]
    return tuple(sorted(changed, key=lambda change: -abs(change.fraction)))


def figures(table: PriceTable) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield every price of a table, by its subject and its unit."""
    for name, price in table.compute.items():
        yield (name, "hour"), price.ec2_usd_per_hour
        yield (f"{name} EMR fee", "hour"), price.emr_fee_usd_per_hour
    for item, service in table.services.items():
        yield (item, service.per), service.usd
