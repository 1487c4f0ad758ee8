"""The recorded launch of a cluster, and the changes since then that need a new cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from changes.change import Change, changes, new_cluster
from changes.immutable_settings import NEWEST, ImmutableSettings, immutable_changes
from configurations.bootstrap import Action, actions, lasting_arguments, program, script
from configurations.launch import Launch
from configurations.planned_spec import planned_spec
from emr.cluster_spec import ClusterSpec
from emr.codecs.cloudformation import CLUSTER_TYPE, SECURITY_TYPE, read_cluster, resolved
from environments.environment import ACCOUNT_PSEUDO_PARAMETER, Environment
from environments.launch_record import LaunchRecord
from facts.releases import releases

SAME_SCRIPT: Final = "the script as launched"
DIGITS: Final = 12


def recorded_spec(record: LaunchRecord) -> ClusterSpec:
    """The cluster as it was launched, with the account and the region filled in."""
    identity = record.identity
    properties = resolved(dict(recorded_properties(record, CLUSTER_TYPE)), identity.account, identity.region)
    return read_cluster(properties, str(record.directory))


def is_recorded_launch(record: LaunchRecord, launch: Launch) -> bool:
    """Return whether a launch by today's plan would be the recorded one."""
    release = releases()[launch.plan.release]
    settings = changes(recorded_spec(record), planned_spec(launch), ("primary", "core"), release)
    return not settings and not any(True for _ in changes_since_launch(record, launch.environment, actions(launch)))


def changes_since_launch(record: LaunchRecord, environment: Environment, planned: Sequence[Action]) -> Iterator[Change]:
    """Yield the changes that no classification shows: zone, encryption, bootstrap actions. All need a new cluster.

    `planned` are the bootstrap actions of today's plan.
    """
    was = ImmutableSettings.parse(
        record.availability_zone,
        recorded_properties(record, CLUSTER_TYPE).get("OSReleaseLabel", NEWEST),
        recorded_properties(record, SECURITY_TYPE)["SecurityConfiguration"],
        recorded_properties(record, CLUSTER_TYPE).get("KerberosAttributes"),
    )
    yield from immutable_changes(was, environment)
    yield from _actions(record, planned)


def _actions(record: LaunchRecord, planned: Sequence[Action]) -> Iterator[Change]:
    """Yield a change for each action whose script, programs or arguments differ."""
    was, now = dict(_recorded_actions(record)), {action.name: action for action in planned}
    why = "nodes that join later run the same actions as the others"
    for name in dict.fromkeys((*was, *now)):
        before = was.get(name)
        after = _planned_arguments(now[name], record) if name in now else None
        if before is None or after is None:
            presence = ("absent", "present") if before is None else ("present", "absent")
            yield new_cluster(("core",), f"bootstrap action {name}", *presence, why)
        elif lasting_arguments(before, before) != lasting_arguments(after, before):
            pairs = ((before, after), (after, before))
            old, new = (" ".join(_beside(lasting_arguments(one, before), other)) for one, other in pairs)
            yield new_cluster(("core",), f"bootstrap action {name}", old or "less", new or "less", why)


def _beside(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[str]:
    """Yield the arguments of one that the other lacks; a digest is shortened."""
    for argument in one:
        if argument not in other:
            name, equals, value = argument.partition("=")
            yield f"{name}={value[:DIGITS]}" if name.endswith("-sha256") else f"{name}{equals}{value}"


def _recorded_actions(record: LaunchRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each bootstrap action with its arguments, except the addresses of its programs."""
    for action in recorded_spec(record).bootstrap_actions:
        yield action.name, (SAME_SCRIPT, *(argument for argument in action.arguments if "=s3://" not in argument))


def _planned_arguments(action: Action, record: LaunchRecord) -> tuple[str, ...]:
    digest = hashlib.sha256(script(action.name).encode()).hexdigest()
    programs = (
        f"--{argument}-sha256={hashlib.sha256(program(name).read_bytes()).hexdigest()}"
        for argument, name in action.programs.items()
    )
    same = digest in record.bootstrap.values()
    filled = (argument.replace(ACCOUNT_PSEUDO_PARAMETER, record.identity.account) for argument in action.arguments)
    return (SAME_SCRIPT if same else "another script", *filled, *programs)


def recorded_properties(record: LaunchRecord, kind: str) -> Mapping[str, Any]:
    """Return the properties of the record's only resource of that type."""
    [resource_of_type] = [
        resource for resources in record.resources.values() for resource in resources.values() if resource.type == kind
    ]
    return resource_of_type.properties
