"""Prices by region, from files whose names have the kind and the date: REGION.compute.DATE.csv."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from facts.table import HOME, rows
from sizing.prices import ComputePrice, PriceTable, ServicePrice

__all__ = ["PRICES", "newest_file", "price_table", "priced_regions"]

PRICES: Final = HOME / "prices"


@cache
def price_table(region: str, directory: Path = PRICES) -> PriceTable:
    """Return the newest prices of a region, with the date of the older of its two files.

    Raises KeyError when there are none.
    """
    compute, services = newest_file(region, "compute", directory), newest_file(region, "services", directory)
    return PriceTable(
        region=region,
        as_of=min(_date(compute), _date(services)),
        compute={
            row["instance_type"]: ComputePrice(
                ec2_usd_per_hour=float(row["ec2_usd_per_hour"]),
                emr_fee_usd_per_hour=float(row["emr_fee_usd_per_hour"]),
                emr_fee_confidence=row["emr_fee_confidence"],
            )
            for row in rows(compute)
        },
        services={
            row["item"]: ServicePrice(
                usd=float(row["usd"]), per=row["per"], confidence=row["confidence"], source=row["source"]
            )
            for row in rows(services)
        },
    )


def priced_regions() -> tuple[str, ...]:
    """Return the regions that have a price list of instances."""
    return tuple(sorted({path.name.split(".")[0] for path in PRICES.glob("*.compute.*.csv")}))


def newest_file(region: str, kind: str, directory: Path = PRICES) -> Path:
    """Return the newest file of a region and kind, compute or services. Raises KeyError when there is none."""
    files = sorted(directory.glob(f"{region}.{kind}.*.csv"))
    if not files:
        raise KeyError(region)
    return files[-1]


def _date(file: Path) -> str:
    return file.name.split(".")[2]
