"""What to know before deploying: a target that a pinned cluster misses, a volume that is more than it seems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sizing import gp3
from sizing.candidate import Candidate, Shortfall
from sizing.cluster import Volume
from sizing.disks import FILL_FRACTION
from sizing.units import GIB, MIB

__all__ = ["Warning", "missed_target", "warnings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Warning:  # noqa: A001 - the plan's own word; nothing here raises Python's
    """Something to know before deploying; `severity` is error, warning or info."""

    id: str
    severity: str
    message: str
    fix: str


def missed_target(shortfall: Shortfall) -> Warning:
    """A target that the cluster misses, of a cluster that somebody else chose."""
    return Warning(
        id=f"target-{shortfall.target.replace('_', '-')}",
        severity="warning",
        message=shortfall.reason,
        fix="leave core to the calculator (auto), or lower the target",
    )


def warnings(candidate: Candidate) -> Iterator[Warning]:
    """Everything about the cache volume that a price list does not say."""
    cache = next(volume for volume in candidate.volumes if volume.purpose == "cache")
    yield from _too_full(candidate, cache)
    yield from _beyond_documents(cache)
    yield from _beyond_instance(candidate, cache)


def _too_full(candidate: Candidate, cache: Volume) -> Iterator[Warning]:
    cache_bytes = candidate.cache_mib * MIB
    if cache_bytes > FILL_FRACTION * cache.size_bytes:
        yield Warning(
            id="cache-volume-full",
            severity="warning",
            message=f"the cache fills {cache_bytes / cache.size_bytes:.0%} of its volume of {cache.size_gib} GiB",
            fix=f"make the volume {round(cache_bytes / FILL_FRACTION / GIB)} GiB or more",
        )


def _beyond_documents(cache: Volume) -> Iterator[Warning]:
    if cache.size_gib > gp3.EMR_DOCUMENTED_GIB or cache.throughput_mib_s > gp3.EMR_DOCUMENTED_MIB_S:
        yield Warning(
            id="volume-beyond-emr-documents",
            severity="warning",
            message=f"EMR documents volumes up to {gp3.EMR_DOCUMENTED_GIB:,} GiB and "
            f"{gp3.EMR_DOCUMENTED_MIB_S:,} MiB/s; this one has {cache.size_gib:,} GiB, "
            f"{cache.throughput_mib_s:,} MiB/s",
            fix="the documentation is probably stale; should EMR refuse the launch, use more nodes",
        )


def _beyond_instance(candidate: Candidate, cache: Volume) -> Iterator[Warning]:
    sustained = candidate.instance.ebs_sustained_bytes_per_second
    if cache.bytes_per_second > sustained:
        yield Warning(
            id="volume-beyond-instance",
            severity="warning",
            message=f"{cache.throughput_mib_s} MiB/s is more than {candidate.instance.name} sustains to EBS "
            f"({sustained / MIB:.0f} MiB/s); the rest works in bursts only",
            fix="provision what the instance sustains, or take a larger instance",
        )
