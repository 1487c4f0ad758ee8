"""A cluster in EMR's API: the request of RunJobFlow, and the answers of DescribeCluster and its companions.

`linter/reader` reads the looser forms that people write: shell scripts with the CLI's shorthand, placeholders and
comments, each value with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from warmbase.emr.cluster_spec import (
    GROUPS,
    BootstrapAction,
    Classification,
    ClusterSpec,
    InstanceGroup,
    classifications_of,
    counted,
    settings_of,
)
from warmbase.emr.form import Form, read_volume


def _text(value: object) -> str:
    """Raises TypeError for a property that is not a string: EMR takes nothing else."""
    if not isinstance(value, str):
        raise TypeError(f"a property is {value!r}, and EMR takes strings")
    return value


FORM: Final = Form(properties="Properties", read_text=_text, write_text=_text)
ROLES: Final = {names.api: role for role, names in GROUPS.items()}


def read_classifications(values: Iterable[Mapping[str, Any]] | None) -> tuple[Classification, ...]:
    """The classifications of a `Configurations` list. Raises TypeError for a property that is not a string."""
    return FORM.read_classifications(values)


def write_classifications(classifications: Iterable[Classification]) -> list[dict[str, Any]]:
    """The `Configurations` list that RunJobFlow and ModifyInstanceGroups take."""
    return FORM.write_classifications(classifications)


def write_run_job_flow(cluster: ClusterSpec) -> dict[str, Any]:
    """The request of RunJobFlow that states the same. Network and roles are left to whoever sends it."""
    identity = {"Name": cluster.name, "ReleaseLabel": cluster.release_label, "OSReleaseLabel": cluster.os_release}
    actions = [
        {
            "Name": action.name,
            "ScriptBootstrapAction": {"Path": action.script, "Args": list(action.arguments)},
        }
        for action in cluster.bootstrap_actions
    ]
    return {
        **{key: value for key, value in identity.items() if value is not None},
        "Applications": [{"Name": name} for name in cluster.applications],
        "Configurations": write_classifications(classifications_of(cluster.settings)),
        **({"BootstrapActions": actions} if actions else {}),
        "Instances": {
            "InstanceGroups": [
                {"InstanceRole": GROUPS[group.role].api, **FORM.write_group(group)} for group in cluster.groups
            ]
        },
    }


def read_described_cluster(
    cluster: Mapping[str, Any], groups: Iterable[InstanceGroup], actions: Iterable[BootstrapAction], source: str
) -> ClusterSpec:
    """The cluster that DescribeCluster answers with, and the groups and bootstrap actions that are listed apart."""
    return ClusterSpec(
        source=source,
        name=cluster["Name"],
        release_label=cluster["ReleaseLabel"],
        os_release=cluster.get("OSReleaseLabel"),
        applications=tuple(application["Name"] for application in cluster.get("Applications", ())),
        settings=settings_of(read_classifications(cluster.get("Configurations"))),
        groups=tuple(groups),
        bootstrap_actions=tuple(actions),
    )


def read_described_group(group: Mapping[str, Any], configurations: Iterable[Mapping[str, Any]] | None) -> InstanceGroup:
    """One group of ListInstanceGroups with those of its configurations that are in force.

    EMR lists each volume of a node by itself; equal ones are counted together.
    """
    return InstanceGroup(
        role=ROLES[group["InstanceGroupType"]],
        instance_type=group["InstanceType"],
        count=group["RequestedInstanceCount"],
        volumes=counted(read_volume(device["VolumeSpecification"], 1) for device in group["EbsBlockDevices"]),
        settings=settings_of(read_classifications(configurations)),
    )


def read_bootstrap_action(action: Mapping[str, Any]) -> BootstrapAction:
    """Return one action of ListBootstrapActions."""
    return BootstrapAction(name=action["Name"], script=action["ScriptPath"], arguments=tuple(action["Args"]))
