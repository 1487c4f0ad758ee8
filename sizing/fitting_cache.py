"""How large the cache is on volumes that somebody else chose.

A larger cache has more hits, and volumes that are paid for cost no more with it. But its index takes memory, some of it
from the buffers of handlers, and it takes longer to fill and to restart. So the cache is as large as volumes and memory
allow, or else the largest that misses no target for these reasons. A cache between two that serve may still miss a
target, because disks answer more reads of a larger cache. So the cache for which a plan buys such volumes is tried,
too: a plan whose layout is pinned serves as before.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from sizing.candidate import Candidate
from sizing.cluster import Layout
from sizing.cures import SMALLER_CACHE_TARGETS, WARM_UP, Cure, cures
from sizing.disks import everything_mib
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.memory import most_handlers
from sizing.region_server import ServerShare, has_room
from sizing.shortfalls import Shortfall, shortfalls
from sizing.system_volume import SERVERS
from sizing.units import GIB, MIB

__all__ = ["with_fitting_cache", "within_memory"]

ANOTHER: Final[frozenset[Cure]] = frozenset({"another cache"})
NEARLY_MET: Final = 0.75
"""judgement: the planned cache is a tenth smaller than that of pinned volumes, which hardly changes a capacity more."""


@lru_cache(maxsize=SERVERS)
def within_memory(question: SizingInputs, instance: InstanceType, survivors: int, layout: Layout) -> Layout:
    """Return a layout with the largest cache whose index fits the memory of each survivor; it may be empty.

    The same layout is returned if its cache fits, or if the environment states the size of the cache.
    """
    has_size = question.requirements.cluster.core.cache_mib is not None
    if has_size or not layout.cache_mib or _has_room(question, instance, survivors, layout.cache_mib):
        return layout
    most_mib = _most_in_memory_mib(question, instance, survivors, layout.volume("cache").count)
    return replace(layout, cache_mib=most_mib)


def with_fitting_cache(candidate: Candidate, missed: Sequence[Shortfall], planned_mib: int) -> Candidate:
    """Return a candidate that misses these targets with a smaller cache that meets them, if one is found.

    `planned_mib` is the cache for which a plan buys such volumes. The candidate itself is returned if no smaller cache
    would help, if its cache does not fit memory (see `within_memory`), or if the environment states its size.
    """
    has_size = candidate.question.requirements.cluster.core.cache_mib is not None
    if not candidate.cache_mib or has_size or not missed or not candidate.fits_memory:
        return candidate
    is_too_large = _is_too_large(candidate, missed)
    if not is_too_large and not _is_nearly_met(candidate, missed):
        return candidate
    fitting = _with_largest_fitting(candidate) if is_too_large else candidate
    if planned_mib >= candidate.cache_mib or (planned_mib <= fitting.cache_mib and not shortfalls(fitting, WARM_UP)):
        return fitting
    planned = _with_cache(candidate, planned_mib)
    return fitting if shortfalls(planned, WARM_UP) else planned


def _is_nearly_met(candidate: Candidate, missed: Iterable[Shortfall]) -> bool:
    """Return whether a cache that is a little smaller may meet all missed targets, because it leaves more to others."""
    return all(
        cures(candidate, [shortfall]) == ANOTHER and shortfall.actual >= NEARLY_MET * shortfall.limit
        for shortfall in missed
    )


def _with_largest_fitting(candidate: Candidate) -> Candidate:
    """Return a candidate whose cache is too large with the largest that is not.

    The candidate itself is returned if the cache for the target hit ratio is too large, or no smaller than its own.
    """

    def is_too_large(cache_mib: int) -> bool:
        smaller = _with_cache(candidate, cache_mib)
        return _is_too_large(smaller, shortfalls(smaller, WARM_UP))

    question, step_mib = candidate.question, _step_mib(candidate.layout.volume("cache").count)
    needed_mib = question.demand.size_mib(question.requirements.targets.hit_ratio, candidate.survivors)
    sizes = range(math.ceil(needed_mib / step_mib) * step_mib, candidate.cache_mib + 1, step_mib)
    if not sizes or is_too_large(sizes[0]):
        return candidate
    return _with_cache(candidate, sizes[bisect.bisect_left(sizes, 1, lo=1, key=is_too_large) - 1])


def _with_cache(candidate: Candidate, cache_mib: int) -> Candidate:
    return replace(candidate, layout=replace(candidate.layout, cache_mib=cache_mib))


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
        return not _has_room(question, instance, survivors, cache_mib)

    return sizes[bisect.bisect_left(sizes, 1, lo=1, key=is_too_large) - 1]


def _has_room(question: SizingInputs, instance: InstanceType, survivors: int, cache_mib: int) -> bool:
    return has_room(instance, ServerShare.of(question.demand, cache_mib, survivors), question)


def _step_mib(files: int) -> int:
    return files * GIB // MIB
