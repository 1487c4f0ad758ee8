"""Prices by region. Each file's name says what it prices and of which day: REGION.compute.DATE.csv."""

from __future__ import annotations

from functools import cache

from facts.table import HOME, rows
from sizing.prices import ComputePrice, PriceTable, ServicePrice


@cache
def price_table(region: str) -> PriceTable:
    """The newest prices of the region; dated by the older of its two files.

    Raises KeyError when there are none.
    """
    compute, services = _newest(region, "compute"), _newest(region, "services")
    return PriceTable(
        region=region,
        as_of=min(_date(compute), _date(services)),
        compute={
            row["instance_type"]: ComputePrice(
                ec2_usd_per_hour=float(row["ec2_od_usd_h"]),
                emr_fee_usd_per_hour=float(row["emr_fee_25pct_usd_h_est"]),
            )
            for row in rows(f"prices/{compute}")
        },
        services={
            row["item"]: ServicePrice(
                usd=float(row["usd"]), per=row["per"], confidence=row["confidence"], source=row["source"]
            )
            for row in rows(f"prices/{services}")
        },
    )


def priced_regions() -> tuple[str, ...]:
    """Regions for which there is a price list of instances."""
    return tuple(sorted({path.name.split(".")[0] for path in (HOME / "prices").glob("*.compute.*.csv")}))


def _newest(region: str, kind: str) -> str:
    found = sorted(path.name for path in (HOME / "prices").glob(f"{region}.{kind}.*.csv"))
    if not found:
        raise KeyError(region)
    return found[-1]


def _date(name: str) -> str:
    return name.split(".")[2]
