"""The monthly cost of a cluster, line by line, with the date of the prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

from msgspec import Struct

from warmbase.ground.prices import ESTIMATE, LIST, ComputePrice, PriceTable, ServicePrice
from warmbase.ground.units import (
    GIB,
    HOURS_PER_MONTH,
    MIB,
    SECONDS_PER_HOUR,
    SECONDS_PER_MONTH,
    format_percent,
    format_size,
)
from warmbase.sizing import gp3
from warmbase.sizing.requirements import Volume

__all__ = ["Bill", "BilledGroup", "Cost", "CostLine", "bill_usd", "cost", "nodes_usd", "services_usd"]

S3_GB: Final = GIB  # S3's "GB" is 2^30 bytes: AWS's own examples divide by 1,073,741,824
NONCURRENT_DAYS: Final = 3  # old versions in the root bucket live so long
# judgement: S3A uploads a store file in parts of its default size (fs.s3a.multipart.size).
PUT_BYTES: Final = 64 * MIB
REQUEST_METRICS: Final = 16  # S3 publishes this many request metrics for a filter, at the price of custom ones
FEE_BASIS: Final = {LIST: "list price", ESTIMATE: "a quarter of on demand in us-east-1"}
BillRow = tuple[str, float, str, Callable[[], str]]
"""An item, its amount, the name of its price, and a function that returns the amount as people read it."""
EMR_ROOT_VOLUME: Final = Volume(purpose="root", type="gp3", count=1, size_gib=30, iops=3000, throughput_mib_s=125)


class CostLine(Struct, frozen=True, kw_only=True):
    """One item of the bill and how it comes about; `estimate` is true where its price is not a published one."""

    item: str
    usd_per_month: float
    because: str
    estimate: bool


BillItem = tuple[float, Callable[[], CostLine]]
"""The USD a month of a line, and a function that writes it: most bills are only compared, and writing takes longer."""


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

    @property
    def nodes(self) -> str:
        """Return the number and the type of the nodes in words."""
        return f"{self.count} x {self.instance_type}"


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
    items = (*chain.from_iterable(_group_items(group, prices) for group in groups), *_service_items(bill, prices))
    return Cost(usd_per_month=bill_usd(groups, bill, prices), lines=tuple(line() for _, line in items))


def bill_usd(groups: Sequence[BilledGroup], bill: Bill, prices: PriceTable) -> float:
    """Return the sum of the bill that `cost` returns."""
    return nodes_usd(groups, prices) + services_usd(bill, prices)


def nodes_usd(groups: Sequence[BilledGroup], prices: PriceTable) -> float:
    """Return what the nodes cost a month, with their volumes."""
    return sum(usd for group in groups for usd, _ in _group_items(group, prices))


def services_usd(bill: Bill, prices: PriceTable) -> float:
    """Return what is billed a month besides the nodes."""
    return sum(usd for usd, _ in _service_items(bill, prices))


def _group_items(group: BilledGroup, prices: PriceTable) -> Iterator[BillItem]:
    price = prices.compute[group.instance_type]
    ec2_usd = group.count * price.ec2_usd_per_hour * HOURS_PER_MONTH
    yield ec2_usd, lambda: _instances_line(group, ec2_usd, prices)
    fee_usd = group.count * price.emr_fee_usd_per_hour * HOURS_PER_MONTH
    yield fee_usd, lambda: _fee_line(group, fee_usd, price)
    for volume in (*group.volumes, EMR_ROOT_VOLUME):
        volumes_usd = group.count * gp3.usd_per_month(volume, prices)
        yield volumes_usd, partial(_volume_line, group, volume, volumes_usd, prices)


def _instances_line(group: BilledGroup, usd_per_month: float, prices: PriceTable) -> CostLine:
    price = prices.compute[group.instance_type]
    less = f" less {format_percent(prices.discount)}" if prices.discount else ""
    return CostLine(
        item=f"{group.role} instances",
        usd_per_month=usd_per_month,
        because=f"{group.nodes} at ${price.ec2_usd_per_hour:.4f}/h on demand{less}, {HOURS_PER_MONTH} h"
        f"{_mark(price.ec2_confidence)}",
        estimate=price.ec2_confidence == ESTIMATE,
    )


def _fee_line(group: BilledGroup, usd_per_month: float, price: ComputePrice) -> CostLine:
    estimate = price.emr_fee_confidence == ESTIMATE
    return CostLine(
        item=f"{group.role} EMR fee{' (estimate)' if estimate else ''}",
        usd_per_month=usd_per_month,
        because=f"{group.nodes} at ${price.emr_fee_usd_per_hour:.4f}/h, {FEE_BASIS[price.emr_fee_confidence]}",
        estimate=estimate,
    )


def _mark(confidence: str) -> str:
    return ", ESTIMATE" if confidence == ESTIMATE else ""


def _volume_line(group: BilledGroup, volume: Volume, usd_per_month: float, prices: PriceTable) -> CostLine:
    confidence = prices.services["gp3-gib-month"].confidence
    return CostLine(
        item=f"{group.role} {volume.purpose} volumes",
        usd_per_month=usd_per_month,
        because=f"{group.count} x {volume.count} x {volume.size_gib} GiB {volume.type}, {volume.iops} IOPS, "
        f"{volume.throughput_mib_s} MiB/s{_mark(confidence)}",
        estimate=confidence == ESTIMATE,
    )


def _service_items(bill: Bill, prices: PriceTable) -> Iterator[BillItem]:
    for row in (*_storage_rows(bill), *_other_rows(bill)):
        _, amount, name, _ = row
        price = prices.services[name]
        yield amount * price.usd, partial(_service_line, row, price)


def _service_line(row: BillRow, price: ServicePrice) -> CostLine:
    item, amount, _, amount_text = row
    return CostLine(
        item=item,
        usd_per_month=amount * price.usd,
        because=f"{amount_text()} at ${_plain(price.usd)} ({price.confidence})",
        estimate=price.confidence == ESTIMATE,
    )


def _storage_rows(bill: Bill) -> Iterator[BillRow]:
    """Yield what S3 stores, takes and gives in a month."""
    stored_gb = bill.stored_bytes / S3_GB
    old_gb = bill.written_bytes_per_second * SECONDS_PER_HOUR * 24 * NONCURRENT_DAYS / S3_GB
    puts_per_second = bill.written_bytes_per_second / PUT_BYTES
    yield "S3 storage", stored_gb, "s3-gb-month", lambda: f"{stored_gb:,.0f} GiB"
    yield "S3 old versions", old_gb, "s3-gb-month", lambda: f"{old_gb:,.0f} GiB of {NONCURRENT_DAYS} days' rewriting"
    yield (
        "S3 writes",
        puts_per_second * SECONDS_PER_MONTH,
        "s3-put",
        lambda: f"{puts_per_second:,.2f} PUTs/s of {format_size(PUT_BYTES)}",
    )
    yield (
        "S3 reads",
        bill.gets_per_second * SECONDS_PER_MONTH,
        "s3-get",
        lambda: f"{bill.gets_per_second:,.1f} GETs/s once warm",
    )


def _other_rows(bill: Bill) -> Sequence[BillRow]:
    """Return what CloudWatch, KMS and the endpoints of the network are paid for."""
    metrics = bill.custom_metrics + (REQUEST_METRICS if bill.stored_bytes else 0)
    return (
        (
            "CloudWatch metrics",
            metrics,
            "cloudwatch-metric-month",
            lambda: f"{metrics} metrics{f', {REQUEST_METRICS} of them of S3 requests' if bill.stored_bytes else ''}",
        ),
        (
            "CloudWatch dashboards",
            bill.dashboards,
            "cloudwatch-dashboard-month",
            lambda: f"{bill.dashboards} dashboard{'s' * (bill.dashboards != 1)}",
        ),
        (
            "CloudWatch alarms",
            bill.alarms,
            "cloudwatch-alarm-month",
            lambda: f"{bill.alarms} alarms, one for each node that a query finds, five for a composite one",
        ),
        ("KMS keys", bill.kms_keys, "kms-key-month", lambda: f"{bill.kms_keys} key{'s' * (bill.kms_keys != 1)}"),
        (
            "interface endpoints",
            bill.interface_endpoints * HOURS_PER_MONTH,
            "interface-endpoint-hour",
            lambda: f"{bill.interface_endpoints} in one zone, {HOURS_PER_MONTH} h",
        ),
    )


def _plain(usd: float) -> str:
    return f"{usd:.10f}".rstrip("0").rstrip(".")
