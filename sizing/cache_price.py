"""The price of the cache volumes of a cluster if its caches had another size."""

from __future__ import annotations

from msgspec.structs import replace

from sizing import gp3
from sizing.plan import Plan
from sizing.prices import PriceTable
from sizing.units import MIB

__all__ = ["cache_price"]


def cache_price(plan: Plan, prices: PriceTable) -> tuple[tuple[int, float], ...]:
    """Return (bytes of cache, dollars a month) for no bytes and for the largest useful cache of the whole cluster.

    The price is linear between them: nodes, IOPS and throughput of the volumes are those of the plan, and the volumes
    grow with the cache. The result is empty without a cache on EBS volumes, because the price of an instance includes
    its NVMe drives.
    """
    if plan.bucket_cache is None or (volume := plan.core.volume("cache")).type == "nvme":
        return ()
    planned_bytes = plan.core.count * plan.bucket_cache.size_mib * MIB
    planned_usd = plan.core.count * gp3.usd_per_month(volume, prices)
    larger = replace(volume, size_gib=volume.size_gib + 1)
    usd_per_gib = plan.core.count * gp3.usd_per_month(larger, prices) - planned_usd
    usd_per_byte = usd_per_gib * volume.size_gib / planned_bytes
    most_bytes = max(planned_bytes, plan.hit_ratio.curve[-1][0])
    return tuple((size, planned_usd + (size - planned_bytes) * usd_per_byte) for size in (0, most_bytes))
