"""The change of a cluster that may meet a missed target, and laws that rule out many caches at once."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final, Literal

from msgspec.structs import replace

from sizing.candidate import Candidate
from sizing.inputs import UTILISATION
from sizing.resource import DISK_RESOURCES, Resource
from sizing.shortfalls import ROUNDING, Shortfall, shortfalls
from sizing.writes import write_load

Cure = Literal["larger cache", "smaller cache", "another cache", "no cache"]
SMALLER_CACHE_TARGETS: Final = frozenset({"memory", "warm_up", "offline_after_crash"})
"""Targets that a cluster may meet with a smaller cache, but never with a larger one."""
CACHE_INDEPENDENT_RESOURCES: Final = frozenset({"log-throughput", "log-iops"})
"""Resources of which writes take the same whatever the cache is: the log is written once."""
SPEED_INDEPENDENT_TARGETS: Final = frozenset({"memory", "offline_after_crash"})
"""Targets that do not depend on the speed of the volumes."""
CONTESTED_RESOURCES: Final = frozenset(
    [
        "handlers",
        "instance-ebs-throughput",
        "instance-ebs-iops",
        *(name for names in DISK_RESOURCES.values() for name in names),
    ]
)
"""A larger cache needs less of these resources for reads, but it also leaves less, because its index takes memory."""
WARM_UP: Final = frozenset({"warm_up"})


def cures(candidate: Candidate, missed: Iterable[Shortfall]) -> set[Cure]:
    """Return the changes of the cache that may meet the targets that a candidate misses."""
    written = candidate.question.requirements.workload.write_bytes_per_second > 0
    return {_cure(shortfall, written=written) for shortfall in missed}


def cures_of(candidate: Candidate, cold: AbstractSet[str] = WARM_UP) -> set[Cure]:
    """Return the changes of the cache that may meet what a candidate misses; empty if it serves."""
    return cures(candidate, shortfalls(candidate, cold))


def _cure(shortfall: Shortfall, *, written: bool) -> Cure:
    """Return the change of the cache that may meet a target on these nodes.

    Faster volumes may, too, although more IOPS can also slow a prefetch. A larger cache answers more reads, but its
    index takes memory from the buffers of handlers, and from the memstore: smaller flushes are then rewritten more
    often. So either may help where handlers or disks bind, and with writes also where CPU or network do. What writes
    leave to reads, and reads to writes, depends on the cache as well.
    """
    if shortfall.target in SMALLER_CACHE_TARGETS:
        return "smaller cache"
    if shortfall.target == "recovery" or shortfall.bottleneck in CACHE_INDEPENDENT_RESOURCES:
        return "no cache"
    if shortfall.target == "writes" or (shortfall.target == "reads" and _is_contested(shortfall, written=written)):
        return "another cache"
    return "larger cache"


def _is_contested(shortfall: Shortfall, *, written: bool) -> bool:
    return shortfall.bottleneck in CONTESTED_RESOURCES or (written and shortfall.bottleneck in {"cpu", "network"})


def serves_reads_alone(largest: Candidate) -> bool:
    """Return whether the largest cache would serve the reads if nothing were written, and handlers were free."""
    if not largest.question.requirements.workload.write_bytes_per_second:
        return True
    largest = replace(largest, question=largest.question.without_writes)
    return all(
        shortfall.bottleneck == "handlers" or shortfall.target not in {"memory", "hit_ratio", "reads", "p99"}
        for shortfall in shortfalls(largest, cold=frozenset())
    )


def may_serve_reads(smallest: Candidate, largest: Candidate) -> bool:
    """Return false only if `may_serve_writes` would, because the reads alone are too many for the hardware.

    This takes neither handlers nor memstore, so it is quick.
    """
    question, offered = largest.question, largest.question.at_peak.offered_reads_per_second or 0.0
    if not question.requirements.workload.write_bytes_per_second:
        return True
    hit_ratio = largest.hit_ratio(largest.survivors)
    return any(
        not candidate.fits_memory or _carry(_without_handlers(candidate, hit_ratio), offered)
        for candidate in (largest, smallest)
    )


def _without_handlers(candidate: Candidate, hit_ratio: float) -> list[Resource]:
    """Return the resources of the survivors at this hit ratio, apart from handlers."""
    limits = candidate.hardware_limits(candidate.survivors, hit_ratio)
    return [limit for limit in limits if limit.name != "handlers"]


def _carry(limits: Iterable[Resource], reads_per_second: float) -> bool:
    return all(reads_per_second <= UTILISATION * limit.max_reads_per_second for limit in limits)


def may_serve_writes(smallest: Candidate, largest: Candidate) -> bool:
    """Return whether a cluster could carry both reads and writes with the better of both caches.

    The reads have the hits of the largest cache, and leave the rest to the writes; the writes have either cache.
    """
    question, offered = largest.question, largest.question.at_peak.offered_reads_per_second or 0.0
    written = question.requirements.workload.write_bytes_per_second
    if not written or not (smallest.fits_memory and largest.fits_memory):
        return True
    hit_ratio = largest.hit_ratio(largest.survivors)

    def serves(candidate: Candidate) -> bool:
        reads = _without_handlers(candidate, hit_ratio)
        if not _carry(reads, offered):
            return False
        writes = write_load(candidate.writing_server, candidate.survivors, written, reads, offered)
        return written <= UTILISATION * (1 + ROUNDING) * writes.saturation_bytes_per_second

    return serves(smallest) or serves(largest)
