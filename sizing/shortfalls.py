"""The targets that a candidate misses, each with the value that it reaches and the value that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec import Struct

from sizing.candidate import Candidate
from sizing.hdfs_load import LONGEST_RECOVERY_SECONDS
from sizing.inputs import UTILISATION
from sizing.memory import NotEnoughMemory
from sizing.resource import Resource, bottleneck
from sizing.units import format_duration, format_percent, format_rate, format_size

__all__ = ["Shortfall", "misses_hit_ratio", "shortfalls"]

ROUNDING: Final = 1e-9  # of a ratio interpolated forwards and backwards
COLD_TARGETS: Final = frozenset({"warm_up", "carries_load_within"})
"""The targets that are checked on a cluster with empty caches."""


class Shortfall(Struct, frozen=True, kw_only=True):
    """A target that a candidate misses: `actual` is on the wrong side of `limit`, both in `unit`.

    `bottleneck` is None where memory or disk size is short.
    """

    target: str
    reason: str
    bottleneck: str | None
    actual: float
    limit: float
    unit: str


def shortfalls(candidate: Candidate, cold: AbstractSet[str] = COLD_TARGETS) -> Sequence[Shortfall]:
    """Return every target that the candidate misses after it has lost `lost_nodes` nodes; empty if it serves.

    The p99 takes a simulation, so it is computed only where nothing else is missed. The course of cold caches takes
    even longer and comes last: of the targets that it decides, only those in `cold` are checked.
    """
    try:
        limit = bottleneck(candidate.resources(candidate.survivors))
    except NotEnoughMemory as error:
        return [
            Shortfall(
                target="memory",
                reason=str(error),
                bottleneck=None,
                actual=error.page_cache_bytes,
                limit=error.least_bytes,
                unit="B",
            )
        ]
    quick = [
        *_hit_ratio_missed(candidate),
        *_load_missed(candidate, limit),
        *_writes_missed(candidate),
        *_recovery_missed(candidate),
        *_offline_long(candidate),
    ]
    late = quick or _p99_missed(candidate, limit)
    warm_up = _warm_up_missed(candidate) if not late and "warm_up" in cold else []
    carried = _carried_late(candidate) if not late and "carries_load_within" in cold else []
    return [*late, *warm_up, *carried]


def misses_hit_ratio(candidate: Candidate) -> bool:
    """Return whether the caches of the survivors answer too few block reads."""
    question = candidate.question
    wanted, got = question.requirements.targets.hit_ratio, candidate.hit_ratio(candidate.survivors)
    return question.mode.has_bucket_cache and got < wanted - ROUNDING


def _recovery_missed(candidate: Candidate) -> list[Shortfall]:
    load, limit = candidate.hdfs_load, LONGEST_RECOVERY_SECONDS
    if load is None or load.recovery_seconds <= limit:
        return []
    reason = (
        f"HDFS takes {format_duration(load.recovery_seconds)} to copy the {format_size(load.node_bytes)} of a lost"
        f" node again; the limit is {format_duration(limit)}"
    )
    return [
        Shortfall(
            target="recovery", reason=reason, bottleneck=None, actual=load.recovery_seconds, limit=limit, unit="s"
        )
    ]


def _hit_ratio_missed(candidate: Candidate) -> list[Shortfall]:
    if not misses_hit_ratio(candidate):
        return []
    wanted, got = candidate.question.requirements.targets.hit_ratio, candidate.hit_ratio(candidate.survivors)
    caches = f"caches of {candidate.cache_mib / 1024:,.0f} GiB on {candidate.survivors} nodes"
    reason = f"{caches} answer {format_percent(got)} of block reads; the target is {format_percent(wanted)}"
    return [Shortfall(target="hit_ratio", reason=reason, bottleneck=None, actual=got, limit=wanted, unit="fraction")]


def _load_missed(candidate: Candidate, limit: Resource) -> list[Shortfall]:
    offered, carried = candidate.question.at_peak.offered_reads_per_second, UTILISATION * limit.max_reads_per_second
    if offered is None or offered <= carried:
        return []
    reason = (
        f"{limit.name} saturates at {limit.max_reads_per_second:,.0f} reads/s on {candidate.survivors} nodes; "
        f"{offered:,.0f} reads/s would use {offered / limit.max_reads_per_second:.0%} of it, and the plan allows "
        f"{UTILISATION:.0%}"
    )
    return [
        Shortfall(target="reads", reason=reason, bottleneck=limit.name, actual=carried, limit=offered, unit="reads/s")
    ]


def _writes_missed(candidate: Candidate) -> list[Shortfall]:
    offered = candidate.question.requirements.workload.write_bytes_per_second
    if not offered:
        return []
    writes = candidate.writes(candidate.survivors)
    carried = UTILISATION * writes.saturation_bytes_per_second
    if offered <= carried * (1 + ROUNDING):
        return []
    reason = (
        f"beside the reads, {writes.bottleneck} saturates at {format_rate(writes.saturation_bytes_per_second)} of "
        f"writes on {candidate.survivors} nodes; {format_rate(offered)} would use "
        f"{offered / writes.saturation_bytes_per_second:.0%} of it, and the plan allows {UTILISATION:.0%}"
    )
    return [
        Shortfall(
            target="writes", reason=reason, bottleneck=writes.bottleneck, actual=carried, limit=offered, unit="B/s"
        )
    ]


def _warm_up_missed(candidate: Candidate) -> list[Shortfall]:
    wanted = candidate.question.requirements.targets.warm_up_seconds
    cold = candidate.cold_start(candidate.survivors) if wanted else None
    got = cold.prefetch_seconds_against(wanted) if cold and wanted else 0.0
    if wanted is None or got <= wanted:
        return []
    reason = f"prefetch takes {format_duration(got)}; the target is {format_duration(wanted)}"
    return [Shortfall(target="warm_up", reason=reason, bottleneck=None, actual=got, limit=wanted, unit="s")]


def _offline_long(candidate: Candidate) -> list[Shortfall]:
    wanted = candidate.question.requirements.targets.offline_after_crash_seconds
    if wanted is None or (got := candidate.offline.seconds) <= wanted:
        return []
    waits = format_duration(candidate.offline.retention_seconds)
    reason = (
        f"after a crash, rows are offline for {format_duration(got)} (estimate), of which the master waits {waits} for "
        f"the server to return; the target is {format_duration(wanted)}"
    )
    return [Shortfall(target="offline_after_crash", reason=reason, bottleneck=None, actual=got, limit=wanted, unit="s")]


def _carried_late(candidate: Candidate) -> list[Shortfall]:
    wanted = candidate.question.requirements.targets.carries_load_within_seconds
    cold = candidate.cold_start(candidate.survivors) if wanted else None
    got = cold.carried_seconds_against(wanted) if cold and wanted else 0.0
    if wanted is None or cold is None or got <= wanted:
        return []
    now = cold.served(0.0)
    reason = (
        f"with cold caches, the cluster serves {now.reads_per_second:,.0f} of {now.offered_per_second:,.0f} reads/s at "
        f"first, and all of them after {format_duration(got)} or more; the target is {format_duration(wanted)}"
    )
    return [
        Shortfall(
            target="carries_load_within",
            reason=reason,
            bottleneck=now.bottleneck,
            actual=got,
            limit=wanted,
            unit="s",
        )
    ]


def _p99_missed(candidate: Candidate, limit: Resource) -> list[Shortfall]:
    wanted = candidate.question.requirements.targets.p99_seconds
    if wanted is None:
        return []
    got = candidate.peak_performance(candidate.survivors).p99_beyond(wanted)
    if got is None:
        return []
    reason = f"p99 is {format_duration(got)} (estimate); the target is {format_duration(wanted)}"
    return [Shortfall(target="p99", reason=reason, bottleneck=limit.name, actual=got, limit=wanted, unit="s")]
