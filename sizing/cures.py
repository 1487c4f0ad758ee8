"""The change of a cluster that may meet a missed target, and laws that rule out many caches at once."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, Literal

from sizing.candidate import Candidate
from sizing.inputs import UTILISATION
from sizing.read import Hits
from sizing.resource import DISK_RESOURCES, resources
from sizing.shortfalls import ROUNDING, Shortfall, shortfalls
from sizing.writes import write_load

Cure = Literal["larger cache", "smaller cache", "another cache", "no cache"]
SMALLER_CACHE_TARGETS: Final = frozenset({"memory", "warm_up", "offline_after_crash"})
"""Targets that a cluster may meet with a smaller cache, but never with a larger one."""
CACHE_INDEPENDENT_TARGETS: Final = frozenset({"writes", "recovery"})
"""Targets that no other cache helps to meet, unless a disk binds."""
SPEED_INDEPENDENT_TARGETS: Final = frozenset({"memory", "offline_after_crash"})
"""Targets that do not depend on the speed of the volumes."""
DISK_NAMES: Final = frozenset(name for names in DISK_RESOURCES.values() for name in names)
CONTESTED_RESOURCES: Final = frozenset(
    [
        "handlers",
        "instance-ebs-throughput",
        "instance-ebs-iops",
        *DISK_NAMES,
    ]
)
"""A larger cache needs less of these resources for reads, but it also leaves less, because its index takes memory."""
WARM_UP: Final = frozenset({"warm_up"})


def cure(shortfall: Shortfall) -> Cure:
    """Return the change of the cache that may meet a target on these nodes; faster volumes always may.

    A larger cache answers more reads, but its index takes memory from the buffers of handlers, and from the memstore:
    smaller flushes then write more to the disks. So where handlers or disks bind, either may help.
    """
    if shortfall.target in SMALLER_CACHE_TARGETS:
        return "smaller cache"
    if shortfall.target in {"reads", "writes"} and shortfall.bottleneck in CONTESTED_RESOURCES:
        return "another cache"
    return "no cache" if shortfall.target in CACHE_INDEPENDENT_TARGETS else "larger cache"


def cures_of(candidate: Candidate, cold: AbstractSet[str] = WARM_UP) -> set[Cure]:
    """Return the changes of the cache that may meet what a candidate misses; empty if it serves."""
    return {cure(shortfall) for shortfall in shortfalls(candidate, cold)}


def serves_reads_alone(largest: Candidate) -> bool:
    """Return whether the largest cache would serve the reads if nothing were written, and handlers were free."""
    if not largest.question.requirements.workload.write_bytes_per_second:
        return True
    largest = replace(largest, question=largest.question.without_writes)
    return all(
        shortfall.bottleneck == "handlers" or shortfall.target not in {"memory", "hit_ratio", "reads", "p99"}
        for shortfall in shortfalls(largest, cold=frozenset())
    )


def disk_may_serve(smallest: Candidate, largest: Candidate) -> bool:
    """Return whether the disk could serve both reads and writes with the better of both caches.

    The reads have the hits of the largest cache, and leave the disk to the writes; the writes have either cache.
    """
    question, offered = largest.question, largest.question.at_peak.offered_reads_per_second or 0.0
    written = question.requirements.workload.write_bytes_per_second
    if not written or not (smallest.fits_memory and largest.fits_memory):
        return True
    hits = Hits(ratio=largest.hit_ratio(largest.survivors))

    def serves(candidate: Candidate) -> bool:
        cluster = candidate.cluster(candidate.survivors)
        reads = resources(cluster, question.read, hits, question.timings)
        if any(offered > UTILISATION * limit.max_reads_per_second for limit in reads if limit.name in DISK_NAMES):
            return False
        writes = write_load(candidate.writing_server, candidate.survivors, written, reads, offered)
        return all(
            written <= UTILISATION * (1 + ROUNDING) * limit.max_bytes_per_second
            for limit in writes.resources
            if limit.name in CONTESTED_RESOURCES
        )

    return serves(smallest) or serves(largest)
