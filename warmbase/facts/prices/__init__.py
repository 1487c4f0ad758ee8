"""Prices by region, from files whose names have the kind and the date: REGION.compute.DATE.csv.

A region without such files is estimated from those of us-east-1, where samples of its prices are known. A family's
sizes cost in proportion in every region, so one sampled type gives the ratio of its family. A family without a sample,
and every service, has the region's highest ratio, which is the one to budget with. EMR's fee is that of us-east-1: in
the price list of 2026-07-20 it is the same amount of dollars in every commercial region, where it is listed at all, and
a quarter of what the type costs in us-east-1 (x2iedn.32xlarge, $6.669 in 16 regions; GitHub
vantage-sh/ec2instances.info, next/utils/mocks/ec2_single_instance.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from warmbase.facts import HOME, rows
from warmbase.ground.prices import ESTIMATE, ComputePrice, PriceTable, ServicePrice

BASE_REGION: Final = "us-east-1"


@cache
def _samples() -> Mapping[str, Mapping[str, float]]:
    """Return the sampled price of each family in each region, from the newest file of samples."""
    file = max((HOME / "prices").glob("regional-samples.*.csv"))
    regions: dict[str, dict[str, float]] = {}
    for row in rows(file):
        regions.setdefault(row["region"], {})[row["instance_type"].partition(".")[0]] = float(row["ec2_usd_per_hour"])
    return regions


def estimated_prices(region: str, base: PriceTable) -> PriceTable:
    """Return the table of a region, with every figure an estimate. Raises KeyError for a region without samples."""
    here, there = _samples()[region], _samples()[BASE_REGION]
    ratios = {family: usd / there[family] for family, usd in here.items()}
    highest = max(ratios.values())
    source = f"ESTIMATE: {BASE_REGION} x {highest:.2f}"
    return PriceTable(
        region=region,
        as_of=base.as_of,
        compute={
            name: replace(
                price,
                ec2_usd_per_hour=price.ec2_usd_per_hour * ratios.get(family, highest),
                ec2_confidence=ESTIMATE,
                emr_fee_confidence=ESTIMATE,
            )
            for name, price in base.compute.items()
            if (family := name.partition(".")[0]) in ratios or family not in there
        },
        services={
            item: replace(
                price, usd=float(f"{price.usd * highest:.3g}"), confidence=ESTIMATE, source=f"{source}; {price.source}"
            )
            for item, price in base.services.items()
        },
        basis=f"{BASE_REGION}'s prices of {base.as_of} x {min(ratios.values()):.2f} to {highest:.2f}",
    )


PRICES: Final = HOME / "prices"


def price_table(region: str) -> PriceTable:
    """Return the newest prices of a region, or an estimate. Raises KeyError for a region without either."""
    try:
        return listed_prices(region)
    except KeyError:
        return estimated_prices(region, listed_prices(BASE_REGION))


@cache
def listed_prices(region: str, directory: Path = PRICES) -> PriceTable:
    """Return the newest price list of a region, with the date of the older of its two files.

    Raises KeyError when there is none.
    """
    compute, services = newest_file(region, "compute", directory), newest_file(region, "services", directory)
    return PriceTable(
        region=region,
        as_of=min(file.name.split(".")[2] for file in (compute, services)),
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
    """Return the regions that have a price list of instances, or whose prices can be estimated."""
    listed = (path.name.split(".")[0] for path in PRICES.glob("*.compute.*.csv"))
    return tuple(sorted({*listed, *_samples()}))


def newest_file(region: str, kind: str, directory: Path = PRICES) -> Path:
    """Return the newest file of a region and kind, compute or services. Raises KeyError when there is none."""
    files = sorted(directory.glob(f"{region}.{kind}.*.csv"))
    if not files:
        raise KeyError(region)
    return files[-1]
