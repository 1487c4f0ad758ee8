"""How the handlers of a RegionServer are shared between reads and writes.

With a read ratio, HBase makes separate queues: writers = max(1, n - max(1, round(n x ratio))) of queues and handlers
alike, and reads have the rest. A write that waits for a flush then keeps no read waiting.

Source: HBase 2.6.2 RpcExecutor, RWQueueRpcExecutor.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Final

from msgspec import Struct

__all__ = ["CallQueues", "call_queues", "handlers_for"]

# judgement: a put holds its handler until the log is synced, a few milliseconds: eight take in over a thousand puts a
# second, and a tenth of many handlers more.
WRITE_FRACTION: Final = 0.1
FEWEST_WRITERS: Final = 8  # of 16 handlers or more
MOST_WRITERS_FRACTION: Final = 0.5  # of fewer
WHOLE: Final = 1.0  # all handlers; reads have those that are not for writes
SHARED: Final = 0.0
"""The read fraction with which HBase gives reads and writes the same queues."""
PERCENTS: Final = 100  # the fraction is written with two decimals


class CallQueues(Struct, frozen=True, kw_only=True):
    """`read_fraction` of queues and handlers is for reads; 0 shares them all with writes."""

    read_fraction: float
    read_handlers: int


def handlers_for(readers: int, *, writes: bool) -> int:
    """Return how many handlers there must be so that this many are left for reads."""
    if not writes:
        return readers
    return max(readers + FEWEST_WRITERS, ceil(readers / (WHOLE - WRITE_FRACTION)))


def call_queues(handlers: int, pinned: float | None = None, *, writes: bool) -> CallQueues:
    """Return separate queues if the workload writes, and shared ones if not; a pinned read fraction decides first."""
    if pinned is not None:
        return _queues(handlers, pinned)
    if not writes:
        return _queues(handlers, SHARED)
    wanted = min(floor(MOST_WRITERS_FRACTION * handlers), max(FEWEST_WRITERS, ceil(WRITE_FRACTION * handlers)))
    read_fraction = floor(PERCENTS * (handlers - wanted) / handlers) / PERCENTS
    return _queues(handlers, read_fraction)


def _queues(handlers: int, read_fraction: float) -> CallQueues:
    if read_fraction == SHARED:
        return CallQueues(read_fraction=SHARED, read_handlers=handlers)
    writers = max(1, handlers - max(1, round(handlers * read_fraction)))
    return CallQueues(read_fraction=read_fraction, read_handlers=handlers - writers)
