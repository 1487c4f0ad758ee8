"""The decisions that a person has taken about one cluster; None is left to the calculator."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from sizing.targets import Targets
from sizing.units import GIB, MIB
from sizing.workload import Reads

__all__ = ["ClusterChoice", "CoreChoice", "Layout", "Volume"]


class Volume(Struct, frozen=True, kw_only=True, cache_hash=True):
    """One kind of data volume on every node of a group. EBS sells whole GiB and whole MiB/s.

    `purpose` is `cache` (BucketCache file and its index), `data` (HDFS that holds the data) or `system` (the
    write-ahead log, YARN, logs); `type` is gp3, or nvme for a drive of the instance; `count` is per node.
    """

    purpose: str
    type: str
    count: int
    size_gib: int
    iops: int
    throughput_mib_s: int

    @property
    def size_bytes(self) -> int:
        """Size of one such volume."""
        return self.size_gib * GIB

    @property
    def bytes_per_second(self) -> int:
        """Return what one such volume is provisioned to carry."""
        return self.throughput_mib_s * MIB

    def beside(self, other: Volume) -> Volume:
        """Return the volume, 1 GiB larger if the other has its size: a node identifies its disks by size."""
        return replace(self, size_gib=self.size_gib + 1) if self.size_gib == other.size_gib else self


class Layout(Struct, frozen=True, kw_only=True):
    """The volumes of a core node, and the cache on them (0 where there is none)."""

    cache_mib: int
    volumes: tuple[Volume, ...]

    def volume(self, purpose: str) -> Volume:
        """The volume of that purpose; a layout has one of each."""
        return next(volume for volume in self.volumes if volume.purpose == purpose)


class CoreChoice(Struct, frozen=True, kw_only=True):
    """Core nodes: the RegionServers. `families` limits what an unpinned type may be.

    `cache_mib` is the cache that nodes with these volumes already have; None where it is still to be sized.
    """

    type: str | None
    count: int | None
    volumes: tuple[Volume, ...] | None
    families: tuple[str, ...]
    cache_mib: int | None = None

    @property
    def pinned(self) -> bool:
        """Return whether nothing is left to choose, so that the cluster is evaluated instead of searched."""
        return None not in (self.type, self.count, self.volumes)


class ClusterChoice(Struct, frozen=True, kw_only=True):
    """One named cluster of an environment. `role` is active or replica."""

    name: str
    role: str
    primaries: int
    primary_type: str | None
    core: CoreChoice
    reads: Reads | None = None
    """The load of this cluster alone; None where it serves that of the environment."""
    targets: Targets | None = None
    """The targets of this cluster alone; None where those of the environment hold."""
