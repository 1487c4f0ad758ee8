"""The shape that EMR's interfaces share for classifications and instance groups, with what differs as parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from warmbase.emr.cluster_spec import Classification, EbsVolume, InstanceGroup, classifications_of, settings_of


class Form(Struct, frozen=True, kw_only=True):
    """How one interface spells a classification: the key of its properties, and how it reads and writes a text."""

    properties: str
    read_text: Callable[[Any], str]
    write_text: Callable[[str], object]

    def read_classifications(self, values: Iterable[Mapping[str, Any]] | None) -> tuple[Classification, ...]:
        """The classifications of a `Configurations` list, which may be absent. Raises KeyError without a name."""
        return tuple(
            Classification(
                name=value["Classification"],
                properties={key: self.read_text(text) for key, text in (value.get(self.properties) or {}).items()},
                nested=self.read_classifications(value.get("Configurations")),
            )
            for value in values or ()
        )

    def write_classifications(self, classifications: Iterable[Classification]) -> list[dict[str, Any]]:
        """Return the `Configurations` list of these classifications."""
        return [
            {
                "Classification": classification.name,
                self.properties: {key: self.write_text(text) for key, text in classification.properties.items()},
                **(
                    {"Configurations": self.write_classifications(classification.nested)}
                    if classification.nested
                    else {}
                ),
            }
            for classification in classifications
        ]

    def read_group(self, role: str, value: Mapping[str, Any]) -> InstanceGroup:
        """Return the instance group that a request or a template states."""
        ebs = value.get("EbsConfiguration") or {}
        count = value.get("InstanceCount")
        return InstanceGroup(
            role=role,
            instance_type=value.get("InstanceType"),
            count=None if count is None else int(count),
            volumes=tuple(
                read_volume(device["VolumeSpecification"], int(device.get("VolumesPerInstance", 1)))
                for device in ebs.get("EbsBlockDeviceConfigs", ())
            ),
            settings=settings_of(self.read_classifications(value.get("Configurations"))),
        )

    def write_group(self, group: InstanceGroup) -> dict[str, Any]:
        """Return the instance group without its role, which each interface states in its own way."""
        devices = []
        for volume in group.volumes:
            specification = {
                "VolumeType": volume.type,
                "SizeInGB": volume.size_gib,
                "Iops": volume.iops,
                "Throughput": volume.throughput_mib_s,
            }
            stated = {key: value for key, value in specification.items() if value is not None}
            devices.append({"VolumeSpecification": stated, "VolumesPerInstance": volume.count})
        nodes = {"InstanceType": group.instance_type, "InstanceCount": group.count}
        return {
            **{key: value for key, value in nodes.items() if value is not None},
            "Configurations": self.write_classifications(classifications_of(group.settings)),
            "EbsConfiguration": {"EbsBlockDeviceConfigs": devices, "EbsOptimized": True},
        }


def read_volume(specification: Mapping[str, Any], count: int) -> EbsVolume:
    """Return the volumes of one VolumeSpecification, of which each node has `count`."""
    iops, throughput = specification.get("Iops"), specification.get("Throughput")
    return EbsVolume(
        type=specification["VolumeType"],
        size_gib=int(specification["SizeInGB"]),
        iops=None if iops is None else int(iops),
        throughput_mib_s=None if throughput is None else int(throughput),
        count=count,
    )
