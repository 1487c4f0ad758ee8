"""A cluster as its launch record has it: what today's plan is tuning of, and what it can no longer change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from changes.change import Change, new_cluster
from changes.immutable_settings import NEWEST, ImmutableSettings, immutable_changes
from configurations.bootstrap import Action, actions, program, script
from configurations.launch import Launch
from emr.classification import Classification, flattened
from emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup, Setting, Settings
from environments.launch_record import LaunchRecord

__all__ = ["changes_since_launch", "recorded_actions", "recorded_spec", "settings_of", "template_spec"]

CLUSTER: Final = "AWS::EMR::Cluster"
SECURITY: Final = "AWS::EMR::SecurityConfiguration"
GROUPS: Final = {"primary": "MasterInstanceGroup", "core": "CoreInstanceGroup"}
AS_LAUNCHED: Final = "the script as launched"
DIGITS: Final = 12


def recorded_spec(record: LaunchRecord) -> ClusterSpec:
    """Release, applications, classifications, groups and volumes as they were launched."""
    properties = _properties(record, CLUSTER)
    return template_spec(
        source=str(record.directory),
        release=properties["ReleaseLabel"],
        applications=tuple(application["Name"] for application in properties["Applications"]),
        settings=_classifications(properties.get("Configurations", ()), record),
        groups=tuple(_group(role, properties["Instances"][name], record) for role, name in GROUPS.items()),
    )


def template_spec(
    *,
    source: str,
    release: str,
    applications: tuple[str, ...],
    settings: tuple[Classification, ...],
    groups: tuple[InstanceGroup, ...],
) -> ClusterSpec:
    """A cluster that was launched or that runs, as changes to it are looked for."""
    return ClusterSpec(
        source=source,
        release_label=release,
        settings=settings_of(settings),
        groups=groups,
        applications=applications,
    )


def settings_of(level: tuple[Classification, ...]) -> Settings:
    """Return each property by its path and key."""
    return {(path, key): Setting(classification=path, key=key, value=value) for path, key, value in flattened(level)}


def changes_since_launch(record: LaunchRecord, launch: Launch) -> Iterator[Change]:
    """What no classification says: zone, encryption, bootstrap actions. None of it can change on a running cluster."""
    was = ImmutableSettings.parse(
        record.availability_zone,
        _properties(record, CLUSTER).get("OSReleaseLabel", NEWEST),
        _properties(record, SECURITY)["SecurityConfiguration"],
    )
    yield from immutable_changes(was, launch.environment)
    yield from _actions(record, launch)


def _actions(record: LaunchRecord, launch: Launch) -> Iterator[Change]:
    """Scripts and programs by their content, and the arguments of each action: what differs of them."""
    was, now = dict(recorded_actions(record)), {action.name: action for action in actions(launch)}
    why = "nodes that join later run what the others ran"
    for name in dict.fromkeys((*was, *now)):
        before = was.get(name)
        after = _planned_arguments(now[name], record) if name in now else None
        if before is None or after is None:
            said = ("none", "one more") if before is None else ("there", "none")
            yield new_cluster(("core",), f"bootstrap action {name}", *said, why)
        elif before != after:
            old, new = (" ".join(_beside(one, other)) for one, other in ((before, after), (after, before)))
            yield new_cluster(("core",), f"bootstrap action {name}", old or "less", new or "less", why)


def _beside(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[str]:
    """Yield what of one is not in the other; of a digest as much as one reads."""
    for each in one:
        if each not in other:
            name, equals, value = each.partition("=")
            yield f"{name}={value[:DIGITS]}" if name.endswith("-sha256") else f"{name}{equals}{value}"


def recorded_actions(record: LaunchRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each bootstrap action with its arguments, but for where its programs lie."""
    for action in _properties(record, CLUSTER).get("BootstrapActions", ()):
        said = (_text(each, record) for each in action["ScriptBootstrapAction"].get("Args", ()))
        yield action["Name"], (AS_LAUNCHED, *(each for each in said if "=s3://" not in each))


def _planned_arguments(action: Action, record: LaunchRecord) -> tuple[str, ...]:
    digest = hashlib.sha256(script(action.name).encode()).hexdigest()
    programs = (
        f"--{argument}-sha256={hashlib.sha256(program(name).read_bytes()).hexdigest()}"
        for argument, name in action.programs.items()
    )
    same = digest in record.bootstrap.values()
    filled = (_filled(each, record.identity.account) for each in action.arguments)
    return (AS_LAUNCHED if same else "another script", *filled, *programs)


def _group(role: str, properties: Mapping[str, Any], record: LaunchRecord) -> InstanceGroup:
    return InstanceGroup(
        role=role,
        instance_type=properties["InstanceType"],
        count=int(properties["InstanceCount"]),
        volumes=tuple(
            _volume(ebs_block_device_config)
            for ebs_block_device_config in properties["EbsConfiguration"]["EbsBlockDeviceConfigs"]
        ),
        settings=settings_of(_classifications(properties.get("Configurations", ()), record)),
    )


def _volume(device: Mapping[str, Any]) -> EbsVolume:
    said = device["VolumeSpecification"]
    return EbsVolume(
        type=said["VolumeType"],
        size_gib=said["SizeInGB"],
        iops=said.get("Iops"),
        throughput_mib_s=said.get("Throughput"),
        count=device.get("VolumesPerInstance", 1),
    )


def _classifications(values: Any, record: LaunchRecord) -> tuple[Classification, ...]:  # noqa: ANN401 - any JSON
    """As CloudFormation spells them."""
    return tuple(
        Classification(
            name=each["Classification"],
            properties={key: _text(value, record) for key, value in each.get("ConfigurationProperties", {}).items()},
            nested=_classifications(each.get("Configurations", ()), record),
        )
        for each in values
    )


def _text(value: Any, record: LaunchRecord) -> str:  # noqa: ANN401 - a text, or a function of CloudFormation
    """With the account filled in; of other references what they join."""
    if isinstance(value, dict):
        [(name, inner)] = value.items()
        if name == "Fn::Sub":
            return _filled(str(inner if isinstance(inner, str) else inner[0]), record.identity.account)
        if name == "Fn::Join":
            return str(inner[0]).join(_text(each, record) for each in inner[1])
        return record.identity.account if inner == "AWS::AccountId" else f"${{{inner}}}"
    return _filled(str(value), record.identity.account)


def _filled(text: str, account: str) -> str:
    return text.replace("${AWS::AccountId}", account)


def _properties(record: LaunchRecord, kind: str) -> Mapping[str, Any]:
    """Of the record's one resource of that type."""
    [found] = [
        resource for resources in record.resources.values() for resource in resources.values() if resource.type == kind
    ]
    return found.properties
