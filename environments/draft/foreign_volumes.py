"""The EBS volumes of another cluster's core nodes as an environment file states volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emr.cluster_spec import EbsVolume
from sizing import gp3
from sizing.cost import EMR_ROOT_VOLUME

KINDS: Final = 2
"""A core node has volumes of two sizes: for the cache, and for everything else."""

LEAST_GIB: Final = 5
MOST_MIB_S: Final = 2_000


def volume_values(volumes: Sequence[EbsVolume]) -> list[dict[str, object]] | None:
    """Return the volumes as the file states them; None where no environment file can state them.

    The larger volumes hold the cache: HDFS has only the write-ahead log there.
    """
    usable = all(volume.type == "gp3" and _whole(volume) for volume in volumes)
    if len(volumes) != KINDS or not usable:
        return None
    system, cache = sorted(volumes, key=lambda volume: (volume.size_gib or 0) * volume.count)
    if system.count != 1 or system.size_gib == cache.size_gib:
        return None
    return [_value("cache", cache), _value("system", system)]


def _whole(volume: EbsVolume) -> bool:
    """Return whether EBS and an environment file can have such a volume."""
    size = volume.size_gib or 0
    iops, throughput = volume.iops or gp3.INCLUDED_IOPS, volume.throughput_mib_s or gp3.INCLUDED_MIB_S
    return (
        size >= LEAST_GIB
        and size != EMR_ROOT_VOLUME.size_gib
        and volume.count <= gp3.EMR_MOST_VOLUMES
        and gp3.INCLUDED_IOPS <= iops <= max(gp3.INCLUDED_IOPS, gp3.IOPS_PER_GIB * size)
        and gp3.INCLUDED_MIB_S <= throughput <= min(MOST_MIB_S, iops // gp3.IOPS_PER_MIB_S)
    )


def _value(purpose: str, volume: EbsVolume) -> dict[str, object]:
    return {
        "purpose": purpose,
        "type": "gp3",
        "count": volume.count,
        "size": f"{volume.size_gib} GiB",
        "iops": volume.iops or gp3.INCLUDED_IOPS,
        "throughput": f"{volume.throughput_mib_s or gp3.INCLUDED_MIB_S} MiB/s",
    }
