"""The searches of the AWS price list, and the product of each search that has the price of an item.

Service codes, attributes and usage types are those of the Pricing API. A usage type carries its region's code in front
(`USE2-Requests-Tier2`, `us-east-1-KMS-Keys`) except where us-east-1 has none. Products whose usage type only contains
ours are others: `USE1-Tables-Requests-Tier2` is S3 Tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from facts.prices.offer import Offer

__all__ = ["EMR_FEES", "HOURLY", "INSTANCES", "ITEMS", "SEARCHES", "ProductFilter", "ServiceItem"]

HOURLY: Final[Mapping[str, float]] = {"hrs": 1, "hours": 1, "hour": 1}


class ProductFilter(Struct, frozen=True, kw_only=True):
    """Products of a service with these attributes, in one region unless they belong to none."""

    name: str
    service: str
    attributes: Mapping[str, str]
    regional: bool = True

    def filters(self, region: str) -> Mapping[str, str]:
        """All attributes that a product must have."""
        return {"regionCode": region, **self.attributes} if self.regional else self.attributes


class ServiceItem(Struct, frozen=True, kw_only=True):
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
    name="EC2 instances",
    service="AmazonEC2",
    attributes={
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    },
)
EMR_FEES: Final = ProductFilter(
    name="EMR fees",
    service="ElasticMapReduce",
    attributes={"productFamily": "Elastic Map Reduce Instance", "softwareType": "EMR"},
)
GP3: Final = ProductFilter(name="gp3 volumes", service="AmazonEC2", attributes={"volumeApiName": "gp3"})
S3_STORAGE: Final = ProductFilter(
    name="S3 storage", service="AmazonS3", attributes={"productFamily": "Storage", "volumeType": "Standard"}
)
S3_GETS: Final = ProductFilter(name="S3 GETs", service="AmazonS3", attributes={"group": "S3-API-Tier2"})
S3_PUTS: Final = ProductFilter(name="S3 PUTs", service="AmazonS3", attributes={"group": "S3-API-Tier1"})
METRICS: Final = ProductFilter(
    name="CloudWatch metrics", service="AmazonCloudWatch", attributes={"productFamily": "Metric"}
)
ALARMS: Final = ProductFilter(
    name="CloudWatch alarms", service="AmazonCloudWatch", attributes={"productFamily": "Alarm"}
)
DASHBOARDS: Final = ProductFilter(
    name="CloudWatch dashboards",
    service="AmazonCloudWatch",
    attributes={"usagetype": "DashboardsUsageHour"},
    regional=False,
)
ENDPOINTS: Final = ProductFilter(
    name="interface endpoints", service="AmazonVPC", attributes={"productFamily": "VpcEndpoint"}
)
KEYS: Final = ProductFilter(name="KMS keys", service="awskms", attributes={})

ITEMS: Final = (
    ServiceItem(
        item="gp3-gib-month",
        per="GiB-month",
        search=GP3,
        usage_type="EBS:VolumeUsage.gp3",
        units={"gb-mo": 1, "gb-month": 1},  # EBS writes GB and means GiB
    ),
    ServiceItem(
        item="gp3-iops-month",
        per="provisioned IOPS-month above 3000",
        search=GP3,
        usage_type="EBS:VolumeP-IOPS.gp3",
        units={"iops-mo": 1},
    ),
    ServiceItem(
        item="gp3-mib-s-month",
        per="provisioned MiB/s-month above 125",
        search=GP3,
        usage_type="EBS:VolumeP-Throughput.gp3",
        units={"gibps-mo": 1024, "mibps-mo": 1},
    ),
    ServiceItem(
        item="s3-gb-month",
        per="GB-month (of 2^30 bytes)",
        search=S3_STORAGE,
        usage_type="TimedStorage-ByteHrs",
        units={"gb-mo": 1},
    ),
    ServiceItem(
        item="s3-get",
        per="GET or HEAD request",
        search=S3_GETS,
        usage_type="Requests-Tier2",
        units={"requests": 1},
    ),
    ServiceItem(
        item="s3-put",
        per="PUT request",
        search=S3_PUTS,
        usage_type="Requests-Tier1",
        units={"requests": 1},
    ),
    ServiceItem(
        item="cloudwatch-metric-month",
        per="custom metric-month (first 10000)",
        search=METRICS,
        usage_type="CW:MetricMonitorUsage",
        units={"metrics": 1},
    ),
    ServiceItem(
        item="cloudwatch-dashboard-month",
        per="dashboard-month",
        search=DASHBOARDS,
        usage_type="DashboardsUsageHour",
        units={"dashboards": 1},
    ),
    ServiceItem(
        item="cloudwatch-alarm-month",
        per="standard-resolution alarm-month",
        search=ALARMS,
        usage_type="CW:AlarmMonitorUsage",
        units={"alarms": 1},
    ),
    ServiceItem(
        item="interface-endpoint-hour",
        per="interface endpoint-hour in one zone",
        search=ENDPOINTS,
        usage_type="VpcEndpoint-Hours",
        units=HOURLY,
    ),
    ServiceItem(
        item="kms-key-month",
        per="customer-managed key-month",
        search=KEYS,
        usage_type="KMS-Keys",
        units={"keys": 1},
    ),
)

SEARCHES: Final = tuple(
    {search.name: search for search in (INSTANCES, EMR_FEES, *(item.search for item in ITEMS))}.values()
)
"""Each search once, by names that differ."""
