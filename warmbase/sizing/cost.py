"""The monthly cost of a cluster, line by line, with the date of the prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from warmbase.ground.prices import ESTIMATE, LIST, PriceTable
from warmbase.ground.units import (
    GIB,
    HOURS_PER_MONTH,
    SECONDS_PER_HOUR,
    SECONDS_PER_MONTH,
    format_percent,
    format_size,
)
from warmbase.sizing import gp3
from warmbase.sizing.requirements import Volume
from warmbase.sizing.service.resource import PUT_BYTES

S3_GB: Final = GIB  # S3's "GB" is 2^30 bytes: AWS's own examples divide by 1,073,741,824
NONCURRENT_DAYS: Final = 3  # old versions in the root bucket live so long
REQUEST_METRICS: Final = 16  # S3 publishes this many request metrics for a filter, at the price of custom ones
FEE_BASIS: Final = {LIST: "list price", ESTIMATE: "a quarter of on demand in us-east-1"}
EMR_ROOT_VOLUME: Final = Volume(purpose="root", type="gp3", count=1, size_gib=30, iops=3000, throughput_mib_s=125)


class CostLine(Struct, frozen=True, kw_only=True):
    """One item of the bill and how it comes about; `estimate` is true where its price is not a published one."""

    item: str
    usd_per_month: float
    because: str
    estimate: bool


class Cost(Struct, frozen=True, kw_only=True):
    """The bill; `usd_per_month` is the sum of its lines."""

    usd_per_month: float
    lines: tuple[CostLine, ...]


class BilledGroup(Struct, frozen=True, kw_only=True):
    """Nodes of one kind, for the bill."""

    role: str
    instance_type: str
    count: int
    volumes: tuple[Volume, ...]


class Bill(Struct, frozen=True, kw_only=True):
    """The items that are billed besides the nodes; bytes are those that S3 stores and takes, 0 for data in HDFS."""

    stored_bytes: int
    written_bytes_per_second: float
    gets_per_second: float
    custom_metrics: int
    dashboards: int
    alarms: int
    interface_endpoints: int
    kms_keys: int


def cost(groups: Sequence[BilledGroup], bill: Bill, prices: PriceTable) -> Cost:
    """Return the month's bill at full use, on demand.

    Without data transfer, snapshots, requests to KMS, flow logs and support, which no figure here decides.
    """
    lines = []
    gp3_confidence = prices.services["gp3-gib-month"].confidence
    less = f" less {format_percent(prices.discount)}" if prices.discount else ""
    for group in groups:
        price, nodes = prices.compute[group.instance_type], f"{group.count} x {group.instance_type}"
        instances_usd, fee_usd, *volumes_usd = _group_usd(group, prices)
        is_ec2_estimate, is_fee_estimate = price.ec2_confidence == ESTIMATE, price.emr_fee_confidence == ESTIMATE
        lines.append(
            CostLine(
                item=f"{group.role} instances",
                usd_per_month=instances_usd,
                because=f"{nodes} at ${price.ec2_usd_per_hour:.4f}/h on demand{less}, {HOURS_PER_MONTH} h"
                f"{', ESTIMATE' if is_ec2_estimate else ''}",
                estimate=is_ec2_estimate,
            )
        )
        lines.append(
            CostLine(
                item=f"{group.role} EMR fee{' (estimate)' if is_fee_estimate else ''}",
                usd_per_month=fee_usd,
                because=f"{nodes} at ${price.emr_fee_usd_per_hour:.4f}/h, {FEE_BASIS[price.emr_fee_confidence]}",
                estimate=is_fee_estimate,
            )
        )
        lines += [
            CostLine(
                item=f"{group.role} {volume.purpose} volumes",
                usd_per_month=usd,
                because=f"{group.count} x {volume.count} x {volume.size_gib} GiB {volume.type}, {volume.iops} IOPS, "
                f"{volume.throughput_mib_s} MiB/s{', ESTIMATE' if gp3_confidence == ESTIMATE else ''}",
                estimate=gp3_confidence == ESTIMATE,
            )
            for volume, usd in zip((*group.volumes, EMR_ROOT_VOLUME), volumes_usd, strict=True)
        ]
    amounts = _service_amounts(bill)
    of_s3 = f", {REQUEST_METRICS} of them of S3 requests" if bill.stored_bytes else ""
    texts = {
        "S3 storage": f"{amounts['S3 storage'][0]:,.0f} GiB",
        "S3 old versions": f"{amounts['S3 old versions'][0]:,.0f} GiB of {NONCURRENT_DAYS} days' rewriting",
        "S3 writes": f"{bill.written_bytes_per_second / PUT_BYTES:,.2f} PUTs/s of {format_size(PUT_BYTES)}",
        "S3 reads": f"{bill.gets_per_second:,.1f} GETs/s once warm",
        "CloudWatch metrics": f"{amounts['CloudWatch metrics'][0]} metrics{of_s3}",
        "CloudWatch dashboards": f"{bill.dashboards} dashboard{'s' * (bill.dashboards != 1)}",
        "CloudWatch alarms": f"{bill.alarms} alarms, one for each node that a query finds, five for a composite one",
        "KMS keys": f"{bill.kms_keys} key{'s' * (bill.kms_keys != 1)}",
        "interface endpoints": f"{bill.interface_endpoints} in one zone, {HOURS_PER_MONTH} h",
    }
    for item, (amount, name) in amounts.items():
        service = prices.services[name]
        usd = f"{service.usd:.10f}".rstrip("0").rstrip(".")
        lines.append(
            CostLine(
                item=item,
                usd_per_month=amount * service.usd,
                because=f"{texts[item]} at ${usd} ({service.confidence})",
                estimate=service.confidence == ESTIMATE,
            )
        )
    return Cost(usd_per_month=bill_usd(groups, bill, prices), lines=tuple(lines))


def bill_usd(groups: Sequence[BilledGroup], bill: Bill, prices: PriceTable) -> float:
    """Return the sum of the bill that `cost` returns; most bills are only compared, and writing them takes longer."""
    return nodes_usd(groups, prices) + services_usd(bill, prices)


def nodes_usd(groups: Sequence[BilledGroup], prices: PriceTable) -> float:
    """Return what the nodes cost a month, with their volumes."""
    return sum(usd for group in groups for usd in _group_usd(group, prices))


def services_usd(bill: Bill, prices: PriceTable) -> float:
    """Return what is billed a month besides the nodes."""
    return sum(amount * prices.services[name].usd for amount, name in _service_amounts(bill).values())


def _group_usd(group: BilledGroup, prices: PriceTable) -> list[float]:
    """Return what instances, EMR and each kind of volume cost a month; the root volume comes last."""
    price = prices.compute[group.instance_type]
    return [
        group.count * price.ec2_usd_per_hour * HOURS_PER_MONTH,
        group.count * price.emr_fee_usd_per_hour * HOURS_PER_MONTH,
        *(group.count * gp3.usd_per_month(volume, prices) for volume in (*group.volumes, EMR_ROOT_VOLUME)),
    ]


def _service_amounts(bill: Bill) -> dict[str, tuple[float, str]]:
    """Return the amount of each item in a month, and the name of its price."""
    old_bytes = bill.written_bytes_per_second * SECONDS_PER_HOUR * 24 * NONCURRENT_DAYS
    puts_per_second = bill.written_bytes_per_second / PUT_BYTES
    metrics = bill.custom_metrics + (REQUEST_METRICS if bill.stored_bytes else 0)
    return {
        "S3 storage": (bill.stored_bytes / S3_GB, "s3-gb-month"),
        "S3 old versions": (old_bytes / S3_GB, "s3-gb-month"),
        "S3 writes": (puts_per_second * SECONDS_PER_MONTH, "s3-put"),
        "S3 reads": (bill.gets_per_second * SECONDS_PER_MONTH, "s3-get"),
        "CloudWatch metrics": (metrics, "cloudwatch-metric-month"),
        "CloudWatch dashboards": (bill.dashboards, "cloudwatch-dashboard-month"),
        "CloudWatch alarms": (bill.alarms, "cloudwatch-alarm-month"),
        "KMS keys": (bill.kms_keys, "kms-key-month"),
        "interface endpoints": (bill.interface_endpoints * HOURS_PER_MONTH, "interface-endpoint-hour"),
    }
