"""How many blocks a cache of the stated size holds when full: an estimate from slot and size."""

from __future__ import annotations

from lint.node import LintedNode
from sizing.allocator import ACCEPT_FACTOR
from sizing.units import MIB

__all__ = ["cached_blocks"]


def cached_blocks(node: LintedNode) -> float | None:
    """Blocks in 95 % of the cache, each in the smallest slot that takes the nominal block; None if not known."""
    size_mib, block = node.cache_mib, node.block_bytes
    if size_mib is None or block is None or block <= 0:
        return None
    slot = min((size for size in node.bucket_sizes or () if size >= block), default=block)
    return size_mib * MIB * ACCEPT_FACTOR / slot
