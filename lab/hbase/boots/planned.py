"""The figures that daemons of a launch should report, by name, and the way in which HBase logs sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from configurations import layout
from configurations.launch import Launch
from configurations.node_files import site_properties
from sizing.allocator import BucketAllocator
from sizing.plan import Plan

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
"""The units of the figures that have one."""
CACHE_SWITCHES: Final = {
    "cacheDataOnRead": ("hbase.block.data.cacheonread", "true"),
    "cacheDataOnWrite": ("hbase.rs.cacheblocksonwrite", "false"),
    "cacheEvictOnClose": ("hbase.rs.evictblocksonclose", "false"),
    "cacheDataCompressed": ("hbase.block.data.cachecompressed", "false"),
    "prefetchOnOpen": ("hbase.rs.prefetchblocksonopen", "false"),
}
"""Switches by the name that a store logs when it opens, with their property and HBase's own default."""
CACHE_AWARE: Final = "CacheAwareLoadBalancer"
STOCHASTIC: Final = "StochasticLoadBalancer"


def planned_of_core(launch: Launch) -> Mapping[str, Value]:
    """Return the figures that a RegionServer should report."""
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
    """Return the figures that a master should report."""
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
    cache, persistence = plan.cache, plan.persistence
    allocator = BucketAllocator(capacity_bytes=cache.size_bytes, sizes=cache.bucket_sizes)
    return {
        "engine": f"files:{layout.cache_files(plan.core)}",
        "BucketCache": float(cache.size_mib),
        "capacity": byte_text(cache.size_bytes),
        "whole buckets": float(allocator.total_bytes),
        "bucket sizes": ",".join(map(str, cache.bucket_sizes)),
        "largest bucket size": float(cache.bucket_sizes[-1]),
        "nominal block": byte_text(cache.nominal_block_bytes),
        "writer threads": float(cache.writer_threads),
        "writer queue": float(cache.writer_queue_length),
        "persistence path": layout.INDEX_FILE,
        "index interval": float(persistence.interval_ms),
        "chunk of the index": float(persistence.chunk_blocks),
        "prefetch threads": float(plan.prefetch_threads),
    }


PREFIXES: Final = " KMGTPE"
KIBI: Final = 1024
WRITTEN: Final = re.compile(r"([\d.]+) ?([KMGTPE]?)B?")


def byte_text(size_bytes: int) -> str:
    """Return the size as Hadoop's StringUtils.byteDesc writes it: two decimals unless whole, with a binary unit."""
    power = 0
    while size_bytes >= KIBI ** (power + 1):
        power += 1
    if size_bytes % KIBI**power == 0:
        return f"{size_bytes // KIBI**power} {PREFIXES[power].strip()}B"
    text = f"{size_bytes / KIBI**power:.2f}"
    if text.startswith(str(KIBI)):
        power, text = power + 1, "1.00"
    return f"{text} {PREFIXES[power]}B"


def bytes_of(text: str) -> float:
    """Return the bytes of a logged size such as `69.1 M` or `2.08 TB`. Raises ValueError for any other text."""
    match = WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no size of HBase's log")
    power = PREFIXES.index(match[2]) if match[2] else 0
    return float(match[1]) * float(KIBI) ** power
