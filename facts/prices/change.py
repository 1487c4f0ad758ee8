"""What differs between two price tables of a region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sizing.prices import PriceTable

__all__ = ["SMALLEST_CHANGE_FRACTION", "PriceChange", "changes", "figures"]

SMALLEST_CHANGE_FRACTION: Final = 0.005  # judgement: below, it is how somebody rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """One price, before and after."""

    what: str
    per: str
    current_usd: float
    new_usd: float

    @property
    def fraction(self) -> float:
        """By how much of itself the price rises; negative where it falls."""
        return self.new_usd / self.current_usd - 1


def changes(current: PriceTable, new: PriceTable) -> tuple[PriceChange, ...]:
    """Prices in both tables that differ by more than SMALLEST_CHANGE_FRACTION, the largest change first."""
    before, after = dict(figures(current)), dict(figures(new))
    both = [
        PriceChange(what=what, per=per, current_usd=before[what, per], new_usd=after[what, per])
        for what, per in after
        if (what, per) in before
    ]
    changed = [each for each in both if abs(each.fraction) > SMALLEST_CHANGE_FRACTION]
    return tuple(sorted(changed, key=lambda each: -abs(each.fraction)))


def figures(table: PriceTable) -> Iterator[tuple[tuple[str, str], float]]:
    """Every price of the table by what it is for and per what."""
    for name, price in table.compute.items():
        yield (name, "hour"), price.ec2_usd_per_hour
        yield (f"{name} EMR fee", "hour"), price.emr_fee_usd_per_hour
    for item, service in table.services.items():
        yield (item, service.per), service.usd
