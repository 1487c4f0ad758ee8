"""Prices in one region, with the date of the price list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.units import format_percent

__all__ = ["ESTIMATE", "LIST", "ComputePrice", "PriceNote", "PriceTable", "ServicePrice"]

LIST: Final = "list"
ESTIMATE: Final = "estimate"


class ComputePrice(Struct, frozen=True, kw_only=True):
    """Hourly price of one instance; a confidence is list or estimate."""

    ec2_usd_per_hour: float
    emr_fee_usd_per_hour: float
    emr_fee_confidence: str
    ec2_confidence: str = LIST

    @property
    def usd_per_hour(self) -> float:
        """Return EC2's price and EMR's fee together, which is the price of a node without its disks."""
        return self.ec2_usd_per_hour + self.emr_fee_usd_per_hour


class ServicePrice(Struct, frozen=True, kw_only=True):
    """Price of one unit of a service; `confidence` is list, secondary or estimate."""

    usd: float
    per: str
    confidence: str
    source: str


class PriceNote(Struct, frozen=True, kw_only=True):
    """Where the prices of a plan come from; `estimate` is true where no price list of the region was read.

    `refresh` is the command that reads the region's price list.
    """

    region: str
    as_of: str
    estimate: bool
    described: str
    refresh: str
    discount: float


class PriceTable(Struct, frozen=True, kw_only=True):
    """Prices of one region: instances by type, services by item.

    `basis` says from what all of them were estimated; it is empty for a price list of the region. `discount` is the
    fraction that was taken off EC2's price of instances.
    """

    region: str
    as_of: str
    compute: Mapping[str, ComputePrice]
    services: Mapping[str, ServicePrice]
    basis: str = ""
    discount: float = 0

    @property
    def note(self) -> PriceNote:
        """Return what a plan says about its prices."""
        return PriceNote(
            region=self.region,
            as_of=self.as_of,
            estimate=bool(self.basis),
            described=self.described,
            refresh=f"warmbase prices refresh --region {self.region}",
            discount=self.discount,
        )

    def discounted(self, fraction: float) -> PriceTable:
        """Return the table with this fraction off EC2's price of instances; EMR's fee and services stay."""
        compute = {
            name: replace(price, ec2_usd_per_hour=price.ec2_usd_per_hour * (1 - fraction))
            for name, price in self.compute.items()
        }
        return replace(self, compute=compute, discount=fraction)

    def usd(self, item: str) -> float:
        """Return the price of one unit of a service item, in the unit its row states."""
        return self.services[item].usd

    @property
    def described(self) -> str:
        """Return the source of the prices in words: date or basis of the estimate, discount, and EMR fee."""
        less = f", less {format_percent(self.discount)} on EC2 instances" if self.discount else ""
        if self.basis:
            return f"ESTIMATE: {self.basis}{less}"
        estimated = any(price.emr_fee_confidence == ESTIMATE for price in self.compute.values())
        return f"prices of {self.as_of}{less}; the EMR fee is {'an estimate' if estimated else 'a list price'}"
