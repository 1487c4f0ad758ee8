"""How large the cache is on volumes that somebody else chose.

A larger cache has more hits, and volumes that are paid for cost no more with it. But its index takes memory from the
buffers of handlers, and it takes longer to fill and to restart. So the cache is as large as the volumes allow, or else
the largest that misses no target for these reasons.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from functools import lru_cache

from msgspec.structs import replace

from sizing.candidate import Candidate
from sizing.cures import SMALLER_CACHE_TARGETS, WARM_UP
from sizing.disks import everything_mib
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.memory import most_handlers
from sizing.region_server import ServerShare, has_room
from sizing.shortfalls import Shortfall, shortfalls
from sizing.system_volume import SERVERS
from sizing.units import GIB, MIB

__all__ = ["with_fitting_cache"]


def with_fitting_cache(candidate: Candidate, missed: Iterable[Shortfall]) -> Candidate:
    """Return a candidate that misses these targets with the largest cache that need not be smaller to meet them.

    The candidate itself is returned if a smaller cache would not help, if even the cache for the target hit ratio is
    too large, or if the environment states the size of the cache.
    """
    question, largest_mib = candidate.question, candidate.cache_mib
    if not largest_mib or question.requirements.cluster.core.cache_mib is not None:
        return candidate
    if not _is_too_large(candidate, missed):
        return candidate
    files = candidate.layout.volume("cache").count
    largest_mib = min(largest_mib, _most_in_memory_mib(question, candidate.instance, candidate.survivors, files))

    def with_cache(cache_mib: int) -> Candidate:
        return replace(candidate, layout=replace(candidate.layout, cache_mib=cache_mib))

    def is_too_large(cache_mib: int) -> bool:
        smaller = with_cache(cache_mib)
        return _is_too_large(smaller, shortfalls(smaller, WARM_UP))

    needed_mib = question.demand.size_mib(question.requirements.targets.hit_ratio, candidate.survivors)
    step_mib = _step_mib(files)
    sizes = range(math.ceil(needed_mib / step_mib) * step_mib, largest_mib + 1, step_mib)
    if not sizes or is_too_large(sizes[0]):
        return candidate
    return with_cache(sizes[bisect.bisect_left(sizes, 1, lo=1, key=is_too_large) - 1])


def _is_too_large(candidate: Candidate, missed: Iterable[Shortfall]) -> bool:
    """Return whether a smaller cache may meet one of the targets that the candidate misses."""
    return any(
        shortfall.target in SMALLER_CACHE_TARGETS or (shortfall.bottleneck == "handlers" and _lacks_buffers(candidate))
        for shortfall in missed
    )


def _lacks_buffers(candidate: Candidate) -> bool:
    """Return whether memory, rather than the load, limits the number of handlers."""
    server = candidate.region_server
    return server.handlers >= most_handlers(candidate.instance.memory_bytes, server.heap)


@lru_cache(maxsize=SERVERS)
def _most_in_memory_mib(question: SizingInputs, instance: InstanceType, survivors: int, files: int) -> int:
    """Return the largest cache in this many files whose index fits the memory of each survivor; 0 if none does."""
    sizes = range(0, everything_mib(question, survivors, files) + 1, _step_mib(files))

    def is_too_large(cache_mib: int) -> bool:
        return not has_room(instance, ServerShare.of(question.demand, cache_mib, survivors), question)

    return sizes[bisect.bisect_left(sizes, 1, lo=1, key=is_too_large) - 1]


def _step_mib(files: int) -> int:
    return files * GIB // MIB
