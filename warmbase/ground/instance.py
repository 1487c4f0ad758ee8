"""An EC2 instance type, and what it sustains: a burst is not capacity."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from warmbase.ground.release import Version

__all__ = ["InstanceType"]


class InstanceType(Struct, frozen=True, kw_only=True, dict=True):
    """The resources of one node of this type.

    `*_sustained_*` holds for ever. `*_burst_*` lasts about 30 minutes a day: it is no capacity, but a boost can use it.
    What one NVMe drive does is a judgement of facts/nvme-rates.csv. `emr_since` is the first release that lists the
    type; None where none does.
    """

    name: str
    architecture: str
    vcpus: int
    memory_bytes: int
    network_sustained_bytes_per_second: int
    network_burst_bytes_per_second: int
    ebs_sustained_bytes_per_second: int
    ebs_burst_bytes_per_second: int
    ebs_sustained_iops: int
    nvme_disks: int
    nvme_disk_bytes: int
    nvme_disk_bytes_per_second: int
    nvme_disk_iops: int
    emr_since: Version | None

    @cached_property
    def family(self) -> str:
        """Return the part before the point: `r8g` of `r8g.2xlarge`."""
        return self.name.partition(".")[0]

    def offered_by(self, release: Version) -> bool:
        """Return whether this EMR release lists the type."""
        return self.emr_since is not None and self.emr_since <= release
