"""How the memory of a core node is shared out.

RAM = operating system + daemons of EMR + YARN containers + heap + what the JVM takes beside it + direct buffers
+ page cache. The page cache is what is left: BucketCache files are read and written through it.

Sources: Amazon EMR best practices (at least 2 GB for the operating system; YARN's share is given back where
HBase is what the node is for); HBase 2.6.2 ByteBuffAllocator for the direct buffers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from sizing.heap import Heap
from sizing.units import GIB, MIB

__all__ = ["NodeMemory", "NotEnoughMemory", "direct_bytes", "most_handlers", "split_memory"]

SYSTEM_BYTES: Final = 2 * GIB
# judgement: DataNode, NodeManager, the CloudWatch and EMR agents; their own heaps come to about 3 GiB.
DAEMON_BYTES: Final = 4 * GIB
YARN_MIB: Final = 2_048  # judgement: enough for one container of an EMR step; HBase is what the node is for
JVM_FIXED_BYTES: Final = 512 * MIB  # judgement: metaspace, code cache and thread stacks
JVM_FRACTION: Final = 0.05  # judgement: ZGC's own tables; the G1 remembered sets are of the same order
PAGE_CACHE_FRACTION: Final = 0.10  # judgement: unaligned slots make partial pages, which are re-read without it
POOL_BUFFER_BYTES: Final = 66_560  # hbase.server.allocator.buffer.size
POOL_BUFFERS_PER_HANDLER: Final = 31 * 2  # hbase.server.allocator.max.buffer.count, as ByteBuffAllocator computes it
NETTY_BYTES: Final = 512 * MIB  # judgement: RPC and S3 client buffers outside the pool


class NodeMemory(Struct, frozen=True, kw_only=True):
    """One core node's RAM; the parts sum to `ram_bytes` exactly."""

    ram_bytes: int
    parts: Mapping[str, int]


class NotEnoughMemory(ValueError):
    """The RegionServer's needs leave too little page cache; the text says how much is missing."""

    def __init__(self, text: str, *, page_cache_bytes: int, least_bytes: int) -> None:
        """`page_cache_bytes` is what the page cache would have, `least_bytes` what it must have."""
        self.page_cache_bytes, self.least_bytes = page_cache_bytes, least_bytes
        super().__init__(text)


def direct_bytes(handlers: int) -> int:
    """-XX:MaxDirectMemorySize: the buffer pool of the RPC server and what else is direct, in whole MiB."""
    pool_bytes = handlers * POOL_BUFFERS_PER_HANDLER * POOL_BUFFER_BYTES
    return math.ceil((pool_bytes + NETTY_BYTES) / MIB) * MIB


def most_handlers(ram_bytes: int, heap: Heap) -> int:
    """Return how many handlers have room for their buffers beside this heap; negative if not even the heap fits."""
    spare_bytes = ram_bytes - sum(_parts(heap).values()) - _least_page_cache_bytes(ram_bytes)
    pool_bytes = math.floor(spare_bytes / MIB) * MIB - NETTY_BYTES
    return math.floor(pool_bytes / (POOL_BUFFERS_PER_HANDLER * POOL_BUFFER_BYTES))


def split_memory(ram_bytes: int, heap: Heap, handlers: int) -> NodeMemory:
    """Return one core node's RAM, shared out; the parts sum to ram_bytes exactly.

    Raises NotEnoughMemory when less than a tenth would be left to the page cache.
    """
    parts = {**_parts(heap), "direct": direct_bytes(handlers)}
    page_cache_bytes = ram_bytes - sum(parts.values())
    least_bytes = _least_page_cache_bytes(ram_bytes)
    missing_bytes = least_bytes - page_cache_bytes
    if missing_bytes > 0:
        raise NotEnoughMemory(
            f"{heap.xmx_mib / 1024:.1f} GiB of heap in {ram_bytes / GIB:.0f} GiB of RAM leave "
            f"{max(0, page_cache_bytes) / GIB:.1f} GiB of page cache, {missing_bytes / GIB:.1f} GiB too little",
            page_cache_bytes=page_cache_bytes,
            least_bytes=least_bytes,
        )
    return NodeMemory(ram_bytes=ram_bytes, parts={**parts, "page_cache": page_cache_bytes})


def _parts(heap: Heap) -> dict[str, int]:
    """The parts of a node's RAM that its handlers do not change."""
    return {
        "system": SYSTEM_BYTES,
        "daemons": DAEMON_BYTES,
        "yarn": YARN_MIB * MIB,
        "heap": heap.xmx_bytes,
        "jvm": JVM_FIXED_BYTES + math.ceil(JVM_FRACTION * heap.xmx_bytes),
    }


def _least_page_cache_bytes(ram_bytes: int) -> int:
    return math.ceil(PAGE_CACHE_FRACTION * ram_bytes)
