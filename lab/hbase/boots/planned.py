"""What daemons of a launch should say of themselves: the plan's figures, by the name under which they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from configurations import layout
from configurations.hbase_site import site_properties
from configurations.launch import Launch
from lab.hbase.boots.amounts import byte_text
from sizing.allocator import BucketAllocator
from sizing.plan import Plan

__all__ = ["CACHE_SWITCHES", "UNITS", "Value", "planned_of_core", "planned_of_primary"]

Value = float | str
UNITS: Final = {
    "BucketCache": "MiB",
    "whole buckets": "B",
    "largest bucket size": "B",
    "index interval": "ms",
    "chunk of the index": "blocks",
    "L1": "of the heap",
    "memstore": "of the heap",
    "wait for RegionServers": "ms",
}
"""What stands behind the figures that have a unit."""
CACHE_SWITCHES: Final = {
    "cacheDataOnRead": ("hbase.block.data.cacheonread", "true"),
    "cacheDataOnWrite": ("hbase.rs.cacheblocksonwrite", "false"),
    "cacheEvictOnClose": ("hbase.rs.evictblocksonclose", "false"),
    "cacheDataCompressed": ("hbase.block.data.cachecompressed", "false"),
    "prefetchOnOpen": ("hbase.rs.prefetchblocksonopen", "false"),
}
"""Switches as a store names them when it opens: their property, and HBase's own default."""
CACHE_AWARE: Final = "CacheAwareLoadBalancer"
STOCHASTIC: Final = "StochasticLoadBalancer"


def planned_of_core(launch: Launch) -> Mapping[str, Value]:
    """Of a RegionServer."""
    plan, site = launch.plan, site_properties(launch.settings.effective("core"))
    switches = {name: site.get(key, default) for name, (key, default) in CACHE_SWITCHES.items()}
    return {
        "L1": plan.heap.l1_fraction,
        "memstore": plan.heap.memstore_fraction,
        "collector": plan.heap.collector,
        "handlers": float(plan.handlers),
        "handlers of reads": float(plan.call_queues.read_handlers) if plan.call_queues.read_fraction else "all",
        **switches,
        **(_bucket_cache(plan) if plan.mode.has_bucket_cache else {"engine": "none"}),
        **({"S3 connections": float(plan.s3_connections)} if "fs.s3a.connection.maximum" in site else {}),
    }


def planned_of_primary(launch: Launch) -> Mapping[str, Value]:
    """Of a master."""
    plan = launch.plan
    waits: dict[str, Value] = {
        "RegionServers waited for": float(plan.region_servers_to_start),
        "wait for RegionServers": float(plan.restart.wait_for_servers_ms),
    }
    if not plan.mode.has_bucket_cache:
        return waits | {"balancer": STOCHASTIC, "persistence path": "none", "retained assignment": "off"}
    return waits | {
        "balancer": CACHE_AWARE,
        "persistence path": layout.INDEX_FILE,
        "retained assignment": f"forced, {plan.restart.retain_retries} retries",
    }


def _bucket_cache(plan: Plan) -> Mapping[str, Value]:
    cache, kept = plan.cache, plan.persistence
    allocator = BucketAllocator(capacity_bytes=cache.size_bytes, sizes=cache.bucket_sizes)
    return {
        "engine": f"files:{layout.CACHE_FILE}",
        "BucketCache": float(cache.size_mib),
        "capacity": byte_text(cache.size_bytes),
        "whole buckets": float(allocator.total_bytes),
        "bucket sizes": ",".join(map(str, cache.bucket_sizes)),
        "largest bucket size": float(cache.bucket_sizes[-1]),
        "nominal block": byte_text(cache.nominal_block_bytes),
        "writer threads": float(cache.writer_threads),
        "writer queue": float(cache.writer_queue_length),
        "persistence path": layout.INDEX_FILE,
        "index interval": float(kept.interval_ms),
        "chunk of the index": float(kept.chunk_blocks),
        "prefetch threads": float(plan.prefetch_threads),
    }
