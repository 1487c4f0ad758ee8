"""EC2 instance types and AWS regions by name, from instance-types.csv and regions.csv."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from warmbase.facts import rows
from warmbase.ground.instance import InstanceType
from warmbase.ground.release import parse_version
from warmbase.ground.units import MIB

MEGABYTE = 10**6  # EC2 states EBS throughput in decimal MB/s
GIGABYTE = 10**9  # ... and instance store in decimal GB
GIGABIT_BYTES = 10**9 // 8


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return all instance types of the table, whether EMR supports them or not."""
    [nvme] = rows("nvme-rates.csv")
    types = {}
    for row in rows("instance-types.csv"):
        listed, nvme_gb = row["emr_min_7x"], float(row["nvme_gb_each"])
        types[row["instance_type"]] = InstanceType(
            name=row["instance_type"],
            architecture=row["arch"],
            vcpus=int(row["vcpu"]),
            memory_bytes=int(row["memory_mib"]) * MIB,
            network_sustained_bytes_per_second=round(float(row["net_base_gbps"]) * GIGABIT_BYTES),
            network_burst_bytes_per_second=round(float(row["net_peak_gbps"]) * GIGABIT_BYTES),
            ebs_sustained_bytes_per_second=round(float(row["ebs_base_mbps"]) * MEGABYTE),
            ebs_burst_bytes_per_second=round(float(row["ebs_max_mbps"]) * MEGABYTE),
            ebs_sustained_iops=int(row["ebs_base_iops"]),
            nvme_disks=int(row["nvme_count"]),
            nvme_disk_bytes=round(nvme_gb * GIGABYTE),
            nvme_disk_bytes_per_second=round(nvme_gb * float(nvme["bytes_per_second_per_gb"])),
            nvme_disk_iops=round(nvme_gb * float(nvme["read_iops_per_gb"])),
            emr_since=None if listed == "not-listed" else parse_version(listed),
        )
    return types


@cache
def older_stores() -> Mapping[str, tuple[int, int]]:
    """Return the disks of older types by name: how many there are, and the bytes of each."""
    return {
        row["instance_type"]: (int(row["nvme_count"]), int(row["nvme_gb_each"]) * GIGABYTE)
        for row in rows("older-instance-stores.csv")
    }


@cache
def utc_offset_hours(region: str) -> float:
    """Return the winter offset of a region from UTC in hours; 0 for a region that the table lacks."""
    return next((float(row["utc_offset_hours"]) for row in rows("regions.csv") if row["region"] == region), 0.0)
