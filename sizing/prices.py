"""Prices in one region, with the date of the price list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["ESTIMATE", "LIST", "ComputePrice", "PriceTable", "ServicePrice"]

LIST: Final = "list"
ESTIMATE: Final = "estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputePrice:
    """Hourly price of one instance; `emr_fee_confidence` is list or estimate."""

    ec2_usd_per_hour: float
    emr_fee_usd_per_hour: float
    emr_fee_confidence: str

    @property
    def usd_per_hour(self) -> float:
        """Return EC2's price and EMR's fee together, which is the price of a node without its disks."""
        return self.ec2_usd_per_hour + self.emr_fee_usd_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePrice:
    """Price of one unit of a service; `confidence` is list, secondary or estimate."""

    usd: float
    per: str
    confidence: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices of one region: instances by type, services by item."""

    region: str
    as_of: str
    compute: Mapping[str, ComputePrice]
    services: Mapping[str, ServicePrice]

    def usd(self, item: str) -> float:
        """Return the price of one unit of a service item, in the unit its row states."""
        return self.services[item].usd

    @property
    def described(self) -> str:
        """Say of which day the prices are, and whether EMR's fee is a list price."""
        estimated = any(price.emr_fee_confidence == ESTIMATE for price in self.compute.values())
        return f"prices of {self.as_of}; the EMR fee is {'an estimate' if estimated else 'a list price'}"
