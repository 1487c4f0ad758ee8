"""How the handlers of a RegionServer are shared between reads and writes.

With a read ratio, HBase makes separate queues: writers = max(1, n - max(1, round(n x ratio))) of queues and handlers
alike, and reads have the rest. A write that waits for a flush then keeps no read waiting.

Source: HBase 2.6.2 RpcExecutor, RWQueueRpcExecutor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["READ_FRACTION", "CallQueues", "call_queues"]

# judgement: a put is an append to the log and to memory and holds its handler for less time than a read that goes to
# a disk; a tenth of the handlers take in more than the disks can flush.
READ_FRACTION: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQueues:
    """`read_fraction` of queues and handlers is for reads; 0 shares them all with writes."""

    read_fraction: float
    read_handlers: int


def call_queues(handlers: int, *, writes: bool) -> CallQueues:
    """Apart where the workload writes, shared where it does not."""
    if not writes:
        return CallQueues(read_fraction=0.0, read_handlers=handlers)
    writers = max(1, handlers - max(1, round(handlers * READ_FRACTION)))
    return CallQueues(read_fraction=READ_FRACTION, read_handlers=handlers - writers)
