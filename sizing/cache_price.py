"""The price of the cache volumes of a cluster if its caches had another size."""

from __future__ import annotations

from msgspec.structs import replace

from sizing import gp3
from sizing.plan import CoreGroup, Plan
from sizing.prices import PriceTable
from sizing.units import MIB

__all__ = ["cache_price", "group_cache_price"]


def cache_price(plan: Plan, prices: PriceTable) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the largest useful cache of the whole cluster.

    The result is empty without a cache on EBS volumes.
    """
    if plan.bucket_cache is None:
        return ()
    planned_bytes = plan.core.count * plan.bucket_cache.size_mib * MIB
    return group_cache_price(plan.core, planned_bytes, plan.hit_ratio.curve[-1][0], prices)


def group_cache_price(
    group: CoreGroup, planned_bytes: int, useful_bytes: int, prices: PriceTable
) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the larger of both sizes.

    The price is linear between them: nodes, IOPS and throughput of the volumes are those of the group, whose caches
    have `planned_bytes`, and the volumes grow with the cache. The result is empty without a cache on EBS volumes,
    because the price of an instance includes its NVMe drives.
    """
    if (volume := group.volume("cache")).type == "nvme":
        return ()
    planned_usd = group.count * gp3.usd_per_month(volume, prices)
    larger = replace(volume, size_gib=volume.size_gib + 1)
    usd_per_gib = group.count * gp3.usd_per_month(larger, prices) - planned_usd
    usd_per_byte = usd_per_gib * volume.size_gib / planned_bytes
    most_bytes = max(planned_bytes, useful_bytes)
    return tuple((size, planned_usd + (size - planned_bytes) * usd_per_byte) for size in (0, most_bytes))
