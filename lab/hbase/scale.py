"""What is smaller here than in the plan, line by line, and what is as large."""

from __future__ import annotations

from lab.hbase.laboratory import Laboratory
from lab.model.scaled_plan import CLIENTS, REGIONS, ScaledPlan
from sizing.units import MIB, format_size

__all__ = ["scale"]


def scale(of: Laboratory) -> tuple[tuple[str, str, str], ...]:
    """What, in the plan, here."""
    plan, small, workload = of.launch.plan, of.miniature, of.launch.environment.workload
    mine = small.workload
    rows = [
        ("RegionServers", f"{plan.core.count}", "1"),
        ("data as stored", format_size(workload.stored_bytes), format_size(mine.stored_bytes)),
        ("rows of one cell", "", f"{small.rows:,}"),
        ("cell", f"{workload.cell_bytes:,} B", f"{mine.cell_bytes:,} B"),
        ("block", format_size(workload.block_bytes), format_size(mine.block_bytes)),
        ("blocks", "", f"{small.demand.blocks.count:,}"),
        ("regions", f"{workload.regions:,}", f"{REGIONS}"),
        ("heap of a RegionServer", format_size(plan.heap.xmx_mib * MIB), format_size(small.heap_mib * MIB)),
    ]
    if plan.bucket_cache is not None:
        rows += [
            ("BucketCache of one", format_size(plan.cache.size_mib * MIB), format_size(small.cache_mib * MIB)),
            ("cache, of what holds all data", f"{small.cached_share:.0%}", f"{_share(small):.0%}"),
            ("bucket sizes", _sizes(plan.cache.bucket_sizes), _sizes(small.demand.sizes)),
        ]
    rows += [
        ("compilers of the JVM", "both", "the first, for a server lives minutes here"),
        ("clients reading at once", "", f"{CLIENTS}, unless said otherwise"),
        ("first byte from S3", "as S3 has it", _latency(of)),
    ]
    return tuple(rows)


def _share(small: ScaledPlan) -> float:
    return small.cache_mib * MIB / small.demand.everything_bytes


def _sizes(sizes: tuple[int, ...]) -> str:
    return f"{len(sizes)}, {format_size(min(sizes))} to {format_size(max(sizes))}"


def _latency(of: Laboratory) -> str:
    latency = of.latency
    tail = f", p99 {latency.latency_p99_ms:g} ms" if latency.latency_p99_ms is not None else ""
    return f"median {latency.latency_ms:g} ms{tail}, drawn"
