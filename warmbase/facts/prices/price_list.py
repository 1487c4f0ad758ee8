"""The AWS price list: the products that are searched for, one price from each, and the price files made from all.

A product is JSON text, as GetProducts of the Pricing API returns it. It has a SKU, attributes, and terms. Each
on-demand term has dimensions: a tier of usage from `beginRange` on, with a unit and a price in USD. Reserved terms need
a commitment, so they are not read. Source: AWS Billing User Guide, "Reading the service price list file"; the same
shape is in each element of PriceList.

Service codes, attributes and usage types are those of the Pricing API. A usage type carries its region's code in front
(`USE2-Requests-Tier2`, `us-east-1-KMS-Keys`) except where us-east-1 has none. Products whose usage type only contains
ours are others: `USE1-Tables-Requests-Tier2` is S3 Tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from warmbase.facts.ec2 import instance_types
from warmbase.facts.prices.file import PriceFile, compute_rows, service_rows
from warmbase.ground.errors import OperationFailed
from warmbase.ground.prices import LIST, ComputePrice, PriceTable, ServicePrice


class Tier(Struct, frozen=True, kw_only=True):
    """The price of one unit from an amount of usage on; free tiers cost nothing."""

    begin: float
    unit: str
    usd: float


class Offer(Struct, frozen=True, kw_only=True):
    """A product with its on-demand tiers, which may be none, and dates as the price list writes them."""

    service: str
    sku: str
    attributes: Mapping[str, str]
    published: str
    effective: str
    tiers: tuple[Tier, ...]


class Quote(Struct, frozen=True, kw_only=True):
    """The price of one unit, with the product that has it."""

    usd: float
    offer: Offer


class Unpriced(Struct, frozen=True, kw_only=True):
    """The reason why there is no price."""

    why: str


def offer(text: str) -> Offer:
    """Return one element of PriceList. Raises ValueError where it is not a product of the documented shape."""
    try:
        document = json.loads(text)
        product, published = document["product"], document["publicationDate"]
        # The term that is in force when the list is published; dates of one form compare as text.
        terms = document.get("terms", {}).get("OnDemand", {}).values()
        begun = [term for term in terms if term["effectiveDate"] <= published]
        term: Mapping[str, Any] = max(begun, key=lambda term: str(term["effectiveDate"]), default={})
        return Offer(
            service=document["serviceCode"],
            sku=product["sku"],
            attributes=product["attributes"],
            published=published,
            effective=term.get("effectiveDate", ""),
            tiers=tuple(
                Tier(
                    begin=float(dimension.get("beginRange", 0)),
                    unit=dimension["unit"],
                    usd=float(dimension["pricePerUnit"]["USD"]),
                )
                for dimension in term.get("priceDimensions", {}).values()
                if "USD" in dimension["pricePerUnit"]
            ),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a product of the price list ({error!r}): {text[:200]}") from error


def quote(offers: Iterable[Offer], units: Mapping[str, float]) -> Quote | Unpriced:
    """Return the price in our unit that all offers agree on.

    `units` maps the accepted units, in lower case, to the number of our units in one. The price is that of the first
    tier that is not free, because a cluster soon uses up a free tier.
    """
    quotes: list[Quote] = []
    whys: list[str] = []
    for product in offers:
        understood = [tier for tier in product.tiers if tier.unit.lower() in units]
        paid = [tier for tier in understood if tier.usd > 0]
        if paid:
            first = min(paid, key=lambda tier: tier.begin)
            quotes.append(Quote(usd=first.usd / units[first.unit.lower()], offer=product))
        elif understood:
            whys.append("its price is zero")
        elif product.tiers:
            whys.append(f"sold by {product.tiers[0].unit}, not by {next(iter(units))}")
        else:
            whys.append("not sold on demand in USD")
    if not quotes:
        return Unpriced(why=whys[0] if whys else "not in the price list")
    if len({quote.usd for quote in quotes}) > 1:
        prices = ", ".join(f"${quote.usd} ({quote.offer.sku})" for quote in quotes)
        return Unpriced(why=f"several prices: {prices}")
    return quotes[0]


HOURLY: Final[Mapping[str, float]] = {"hrs": 1, "hours": 1, "hour": 1}


class ProductFilter(Struct, frozen=True):
    """Products of a service with these attributes, in one region unless they belong to none."""

    name: str
    service: str
    attributes: Mapping[str, str]
    regional: bool = True

    def filters(self, region: str) -> Mapping[str, str]:
        """All attributes that a product must have."""
        return {"regionCode": region, **self.attributes} if self.regional else self.attributes


class ServiceItem(Struct, frozen=True):
    """An item of the services file: where its price is, and in which of the units there it may be stated."""

    item: str
    per: str
    search: ProductFilter
    usage_type: str
    units: Mapping[str, float]

    def has(self, offer: Offer) -> bool:
        """Return whether this is the item's product."""
        pattern = rf"(?:[A-Z][A-Z0-9]*-|[a-z]+(?:-[a-z]+)+-\d-)?{re.escape(self.usage_type)}"
        return re.fullmatch(pattern, offer.attributes.get("usagetype", "")) is not None


INSTANCES: Final = ProductFilter(
    "EC2 instances",
    "AmazonEC2",
    {
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    },
)
EMR_FEES: Final = ProductFilter(
    "EMR fees", "ElasticMapReduce", {"productFamily": "Elastic Map Reduce Instance", "softwareType": "EMR"}
)
GP3: Final = ProductFilter("gp3 volumes", "AmazonEC2", {"volumeApiName": "gp3"})
S3_STORAGE: Final = ProductFilter("S3 storage", "AmazonS3", {"productFamily": "Storage", "volumeType": "Standard"})
S3_GETS: Final = ProductFilter("S3 GETs", "AmazonS3", {"group": "S3-API-Tier2"})
S3_PUTS: Final = ProductFilter("S3 PUTs", "AmazonS3", {"group": "S3-API-Tier1"})
METRICS: Final = ProductFilter("CloudWatch metrics", "AmazonCloudWatch", {"productFamily": "Metric"})
ALARMS: Final = ProductFilter("CloudWatch alarms", "AmazonCloudWatch", {"productFamily": "Alarm"})
DASHBOARDS: Final = ProductFilter(
    "CloudWatch dashboards", "AmazonCloudWatch", {"usagetype": "DashboardsUsageHour"}, regional=False
)
ENDPOINTS: Final = ProductFilter("interface endpoints", "AmazonVPC", {"productFamily": "VpcEndpoint"})
KEYS: Final = ProductFilter("KMS keys", "awskms", {})

ITEMS: Final = (
    ServiceItem(
        "gp3-gib-month", "GiB-month", GP3, "EBS:VolumeUsage.gp3", {"gb-mo": 1, "gb-month": 1}
    ),  # EBS writes GB and means GiB
    ServiceItem("gp3-iops-month", "provisioned IOPS-month above 3000", GP3, "EBS:VolumeP-IOPS.gp3", {"iops-mo": 1}),
    ServiceItem(
        "gp3-mib-s-month",
        "provisioned MiB/s-month above 125",
        GP3,
        "EBS:VolumeP-Throughput.gp3",
        {"gibps-mo": 1024, "mibps-mo": 1},
    ),
    ServiceItem("s3-gb-month", "GB-month (of 2^30 bytes)", S3_STORAGE, "TimedStorage-ByteHrs", {"gb-mo": 1}),
    ServiceItem("s3-get", "GET or HEAD request", S3_GETS, "Requests-Tier2", {"requests": 1}),
    ServiceItem("s3-put", "PUT request", S3_PUTS, "Requests-Tier1", {"requests": 1}),
    ServiceItem(
        "cloudwatch-metric-month", "custom metric-month (first 10000)", METRICS, "CW:MetricMonitorUsage", {"metrics": 1}
    ),
    ServiceItem("cloudwatch-dashboard-month", "dashboard-month", DASHBOARDS, "DashboardsUsageHour", {"dashboards": 1}),
    ServiceItem(
        "cloudwatch-alarm-month", "standard-resolution alarm-month", ALARMS, "CW:AlarmMonitorUsage", {"alarms": 1}
    ),
    ServiceItem(
        "interface-endpoint-hour", "interface endpoint-hour in one zone", ENDPOINTS, "VpcEndpoint-Hours", HOURLY
    ),
    ServiceItem("kms-key-month", "customer-managed key-month", KEYS, "KMS-Keys", {"keys": 1}),
)

SEARCHES: Final = tuple(
    {search.name: search for search in (INSTANCES, EMR_FEES, *(item.search for item in ITEMS))}.values()
)
"""Each search once, by names that differ."""


SearchOffers = Mapping[str, Sequence[Offer]]
"""Offers by the name of their search."""


class FreshPrices(Struct, frozen=True, kw_only=True):
    """The prices of a region in today's price list.

    `omitted` gives the reason for each instance type without a price; `unchanged` gives the reason for each service
    item whose current row stays, because the price list has none.
    """

    table: PriceTable
    files: tuple[PriceFile, ...]
    omitted: Mapping[str, str]
    unchanged: Mapping[str, str]


def fresh_prices(region: str, offers: SearchOffers, current: PriceTable | None) -> FreshPrices:
    """Return the prices of a region among the offers, for the types of warmbase/facts/instance-types.csv.

    Raises OperationFailed when no instance has a price, or an item has none and had none.
    """
    by_type: dict[tuple[str, str], list[Offer]] = {}
    for search in (INSTANCES, EMR_FEES):
        for offer in offers[search.name]:
            by_type.setdefault((search.name, offer.attributes.get("instanceType", "")), []).append(offer)
    compute: dict[str, tuple[Quote, Quote]] = {}
    omitted: dict[str, str] = {}
    for name in instance_types():
        ec2 = quote(by_type.get((INSTANCES.name, name), ()), HOURLY)
        fee = quote(by_type.get((EMR_FEES.name, name), ()), HOURLY)
        if isinstance(ec2, Unpriced):
            omitted[name] = f"EC2: {ec2.why}"
        elif isinstance(fee, Unpriced):
            omitted[name] = f"EMR fee: {fee.why}"
        else:
            compute[name] = (ec2, fee)
    if not compute:
        raise OperationFailed.of(
            where="the AWS price list",
            what=f"has no price for any instance type in {region!r}",
            why=", ".join(sorted(set(omitted.values()))),
            fix="check the region's name, as in us-east-1, and that EMR is offered there",
        )
    items = {item.item: quote(filter(item.has, offers[item.search.name]), item.units) for item in ITEMS}
    unchanged = {name: item.why for name, item in items.items() if isinstance(item, Unpriced)}
    quoted = [item for item in items.values() if isinstance(item, Quote)]
    services = {}
    for item in ITEMS:
        price = items[item.item]
        if isinstance(price, Quote):
            usage, effective = price.offer.attributes["usagetype"], price.offer.effective[:10]
            source = f"AWS Pricing API, {price.offer.service} {usage}, SKU {price.offer.sku}, effective {effective}"
            services[item.item] = ServicePrice(usd=price.usd, per=item.per, confidence=LIST, source=source)
        elif current is None or item.item not in current.services:
            raise OperationFailed.of(
                where="the AWS price list",
                what=f"has no price for {item.item}, and no earlier file has one",
                why=f"{item.search.service} {item.usage_type}: {price.why}",
                fix="mend its entry in warmbase/facts/prices/price_list.py",
            )
        else:
            services[item.item] = current.services[item.item]
    instances, fees = (tuple(pair[column] for pair in compute.values()) for column in (0, 1))
    # Some services publish once in years.
    compute_date, services_date = (
        max((quote.offer.published for quote in quotes), default="")[:10] for quotes in ((*instances, *fees), quoted)
    )
    table = PriceTable(
        region=region,
        as_of=min(compute_date, services_date),
        compute={
            name: ComputePrice(ec2_usd_per_hour=ec2.usd, emr_fee_usd_per_hour=fee.usd, emr_fee_confidence=LIST)
            for name, (ec2, fee) in compute.items()
        },
        services=services,
    )
    written = f"Written by `warmbase prices refresh --region {region}` from the AWS Pricing API."
    origins = sorted({quote.offer.service for quote in quoted})
    services_provenance = (
        f"Prices of services in {region}, USD. {written}",
        "confidence: list = published by the vendor; secondary = somebody's copy; estimate = remembered or derived.",
        *(f"{name}: {_dated([quote for quote in quoted if quote.offer.service == name])}." for name in origins),
        *(f"{item}: not from there ({why}); its row is older." for item, why in unchanged.items()),
    )
    compute_provenance = (
        f"Prices of instances in {region}, USD per hour. {written}",
        f"ec2_usd_per_hour: {INSTANCES.service}, on-demand Linux, shared tenancy; {_dated(instances)}.",
        f"emr_fee_usd_per_hour: {EMR_FEES.service}, software EMR; {_dated(fees)}.",
        "emr_fee_confidence: list = EMR's published fee; estimate = a quarter of on demand, where no list was read.",
    )
    # Services first: a region counts as priced as soon as it has a compute file.
    files = tuple(
        PriceFile(region=region, kind=kind, date=date, provenance=provenance, rows=rows)
        for kind, date, provenance, rows in (
            ("services", services_date, services_provenance, service_rows(table)),
            ("compute", compute_date, compute_provenance, compute_rows(table)),
        )
    )
    return FreshPrices(table=table, files=files, omitted=omitted, unchanged=unchanged)


def _dated(quotes: Sequence[Quote]) -> str:
    published, effective = (
        min(dates) if min(dates) == max(dates) else f"{min(dates)} to {max(dates)}"
        for dates in ([quote.offer.published for quote in quotes], [quote.offer.effective[:10] for quote in quotes])
    )
    return f"published {published}, effective {effective}"
