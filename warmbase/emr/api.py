"""A cluster in EMR's API, and as `aws emr create-cluster` takes it.

The API's documents are the request of RunJobFlow, and the answers of DescribeCluster and its companions. The command
line takes options whose values are JSON. `linter/reader` reads what people write instead: shell scripts with the CLI's
shorthand, placeholders and comments, each value with its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def read_run_job_flow(request: Mapping[str, Any], source: str) -> ClusterSpec:
    """Return the cluster that a request of RunJobFlow states."""
    groups = request.get("Instances", {}).get("InstanceGroups", ())
    return ClusterSpec(
        source=source,
        name=request.get("Name"),
        release_label=request.get("ReleaseLabel"),
        os_release=request.get("OSReleaseLabel"),
        applications=_applications(request),
        settings=settings_of(read_classifications(request.get("Configurations"))),
        groups=tuple(FORM.read_group(ROLES[group["InstanceRole"]], group) for group in groups),
        bootstrap_actions=tuple(
            BootstrapAction(name=action["Name"], script=script["Path"], arguments=tuple(script.get("Args", ())))
            for action in request.get("BootstrapActions", ())
            for script in [action["ScriptBootstrapAction"]]
        ),
    )


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
        applications=_applications(cluster),
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


def _applications(cluster: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(application["Name"] for application in cluster.get("Applications", ()))


COMMAND: Final = ("aws", "emr", "create-cluster")
TEXTS: Final = {"Name": "--name", "ReleaseLabel": "--release-label", "OSReleaseLabel": "--os-release-label"}


def write_create_cluster(cluster: ClusterSpec) -> tuple[str, ...]:
    """Return the words of the command that states the same."""
    request = write_run_job_flow(cluster)
    groups = [_renamed(group, "InstanceRole", "InstanceGroupType") for group in request["Instances"]["InstanceGroups"]]
    actions = [
        {"Name": action["Name"], **action["ScriptBootstrapAction"]} for action in request.get("BootstrapActions", ())
    ]
    values = {"--configurations": request["Configurations"], "--instance-groups": groups}
    if actions:
        values["--bootstrap-actions"] = actions
    return (
        *COMMAND,
        *(word for key, option in TEXTS.items() if key in request for word in (option, request[key])),
        *(["--applications"] if cluster.applications else []),
        *(f"Name={name}" for name in cluster.applications),
        *(word for option, value in values.items() for word in (option, json.dumps(value))),
    )


def read_create_cluster(words: Sequence[str], source: str) -> ClusterSpec:
    """The cluster that the words of a command state. Raises ValueError for another command."""
    if tuple(words[:3]) != COMMAND:
        raise ValueError(f"no {' '.join(COMMAND)}: {' '.join(words[:3])}")
    options = dict(_options(words[3:]))
    groups = json.loads(" ".join(options.get("--instance-groups", ["[]"])))
    actions = json.loads(" ".join(options.get("--bootstrap-actions", ["[]"])))
    request = {
        **{key: " ".join(options[option]) for key, option in TEXTS.items() if option in options},
        "Applications": [{"Name": word.removeprefix("Name=")} for word in options.get("--applications", ())],
        "Configurations": json.loads(" ".join(options.get("--configurations", ["[]"]))),
        "BootstrapActions": [
            {
                "Name": action["Name"],
                "ScriptBootstrapAction": {"Path": action["Path"], "Args": action.get("Args", [])},
            }
            for action in actions
        ],
        "Instances": {"InstanceGroups": [_renamed(group, "InstanceGroupType", "InstanceRole") for group in groups]},
    }
    return read_run_job_flow(request, source)


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each option with the words that follow it."""
    starts = [number for number, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        yield words[start], list(words[start + 1 : end])


def _renamed(group: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in group.items()}
