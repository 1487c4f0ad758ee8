"""What a cluster costs in a month, line by line, with the date of the prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sizing import gp3
from sizing.cluster import Volume
from sizing.prices import PriceTable
from sizing.units import HOURS_PER_MONTH

__all__ = ["Bill", "Cost", "CostLine", "Group", "cost"]

GB: Final = 10**9  # S3 bills decimal gigabytes
EMR_ROOT_VOLUME: Final = Volume(purpose="root", type="gp3", count=1, size_gib=30, iops=3000, throughput_mib_s=125)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """One item of the bill and how it comes about."""

    item: str
    usd_per_month: float
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The bill; `usd_per_month` is the sum of its lines."""

    usd_per_month: float
    lines: tuple[CostLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes of one kind, for the bill."""

    role: str
    instance_type: str
    count: int
    volumes: tuple[Volume, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What is billed beside the nodes."""

    stored_bytes: int
    gets_per_second: float
    custom_metrics: int
    dashboards: int
    alarms: int
    interface_endpoints: int
    kms_keys: int


def cost(groups: Sequence[Group], bill: Bill, prices: PriceTable) -> Cost:
    """The month's bill at full use, without data transfer, snapshots and support."""
    lines = [line for group in groups for line in _group_lines(group, prices)]
    lines += _service_lines(bill, prices)
    return Cost(usd_per_month=sum(line.usd_per_month for line in lines), lines=tuple(lines))


def _group_lines(group: Group, prices: PriceTable) -> list[CostLine]:
    price = prices.compute[group.instance_type]
    nodes = f"{group.count} x {group.instance_type}"
    lines = [
        CostLine(
            item=f"{group.role} instances",
            usd_per_month=group.count * price.ec2_usd_per_hour * HOURS_PER_MONTH,
            because=f"{nodes} at ${price.ec2_usd_per_hour:.4f}/h on demand, {HOURS_PER_MONTH} h",
        ),
        CostLine(
            item=f"{group.role} EMR fee (estimate)",
            usd_per_month=group.count * price.emr_fee_usd_per_hour * HOURS_PER_MONTH,
            because=f"{nodes} at ${price.emr_fee_usd_per_hour:.4f}/h, a quarter of on demand",
        ),
    ]
    lines += [_volume_line(group, volume, prices) for volume in (*group.volumes, EMR_ROOT_VOLUME)]
    return lines


def _volume_line(group: Group, volume: Volume, prices: PriceTable) -> CostLine:
    return CostLine(
        item=f"{group.role} {volume.purpose} volumes",
        usd_per_month=group.count * gp3.usd_per_month(volume, prices),
        because=f"{group.count} x {volume.count} x {volume.size_gib} GiB {volume.type}, {volume.iops} IOPS, "
        f"{volume.throughput_mib_s} MiB/s",
    )


def _service_lines(bill: Bill, prices: PriceTable) -> list[CostLine]:
    gets_per_month = bill.gets_per_second * 3600 * HOURS_PER_MONTH
    stored_gb = bill.stored_bytes / GB
    rows = (
        ("S3 storage", stored_gb, "s3-gb-month", f"{stored_gb:,.0f} GB"),
        ("S3 requests", gets_per_month, "s3-get", f"{bill.gets_per_second:,.1f} GETs/s once warm"),
        (
            "CloudWatch metrics",
            bill.custom_metrics,
            "cloudwatch-metric-month",
            f"{bill.custom_metrics} metrics",
        ),
        (
            "CloudWatch dashboards",
            bill.dashboards,
            "cloudwatch-dashboard-month",
            f"{bill.dashboards} dashboard",
        ),
        ("CloudWatch alarms", bill.alarms, "cloudwatch-alarm-month", f"{bill.alarms} alarms"),
        ("KMS keys", bill.kms_keys, "kms-key-month", f"{bill.kms_keys} keys"),
        (
            "interface endpoints",
            bill.interface_endpoints * HOURS_PER_MONTH,
            "interface-endpoint-hour",
            f"{bill.interface_endpoints} in one zone, {HOURS_PER_MONTH} h",
        ),
    )
    return [
        CostLine(
            item=item,
            usd_per_month=amount * prices.usd(price),
            because=f"{said} at ${_plain(prices.usd(price))} ({prices.services[price].confidence})",
        )
        for item, amount, price, said in rows
    ]


def _plain(usd: float) -> str:
    return f"{usd:.10f}".rstrip("0").rstrip(".")
