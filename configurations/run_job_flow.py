"""A launch as RunJobFlow takes it: release, applications, classifications, instance groups.

Network and roles are left to whoever launches it.
"""

from __future__ import annotations

from typing import Any

from configurations.launch import APPLICATIONS, Launch
from emr.classification import Classification
from environments.names import emr_cluster_name
from sizing.cluster import Volume
from sizing.plan import CoreGroup, PrimaryGroup

__all__ = ["run_job_flow"]


def run_job_flow(launch: Launch) -> dict[str, Any]:
    """The request, as JSON has it; `warmbase lint --file` and `warmbase diff --against` read it back."""
    plan, settings = launch.plan, launch.settings
    return {
        "Name": emr_cluster_name(plan.environment, plan.cluster),
        "ReleaseLabel": plan.release,
        **({"OSReleaseLabel": launch.environment.os_release} if launch.environment.os_release else {}),
        "Applications": [{"Name": name} for name in APPLICATIONS],
        "Configurations": _documents(settings.cluster),
        "Instances": {
            "InstanceGroups": [
                _group("MASTER", plan.primary, settings.primary),
                _group("CORE", plan.core, settings.core),
            ]
        },
    }


def _documents(level: tuple[Classification, ...]) -> list[dict[str, Any]]:
    return [each.document() for each in level]


def _group(role: str, group: CoreGroup | PrimaryGroup, level: tuple[Classification, ...]) -> dict[str, Any]:
    return {
        "InstanceRole": role,
        "InstanceType": group.instance_type,
        "InstanceCount": group.count,
        "Configurations": _documents(level),
        "EbsConfiguration": {
            "EbsBlockDeviceConfigs": [_volume(volume) for volume in group.volumes if volume.type != "nvme"],
            "EbsOptimized": True,
        },
    }


def _volume(volume: Volume) -> dict[str, Any]:
    return {
        "VolumeSpecification": {
            "VolumeType": volume.type,
            "SizeInGB": volume.size_gib,
            "Iops": volume.iops,
            "Throughput": volume.throughput_mib_s,
        },
        "VolumesPerInstance": volume.count,
    }
