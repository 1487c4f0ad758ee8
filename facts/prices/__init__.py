"""Prices by region, from files whose names have the kind and the date: REGION.compute.DATE.csv.

A region without such files is estimated from those of us-east-1, where samples of its prices are known.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from facts.prices.estimate import BASE_REGION, estimated_prices, estimated_regions
from facts.table import HOME, rows
from sizing.prices import ComputePrice, PriceTable, ServicePrice

__all__ = ["PRICES", "listed_prices", "listed_regions", "newest_file", "price_table", "priced_regions"]

PRICES: Final = HOME / "prices"


def price_table(region: str) -> PriceTable:
    """Return the newest prices of a region, or an estimate. Raises KeyError for a region without either."""
    if region in listed_regions():
        return listed_prices(region)
    return estimated_prices(region, listed_prices(BASE_REGION))


@cache
def listed_prices(region: str, directory: Path = PRICES) -> PriceTable:
    """Return the newest price list of a region, with the date of the older of its two files.

    Raises KeyError when there is none.
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
    """Return the regions that have a price list, or whose prices can be estimated."""
    return tuple(sorted({*listed_regions(), *estimated_regions()}))


def listed_regions() -> tuple[str, ...]:
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
