"""The recorded launch of a cluster, and the changes since then that need a new cluster.

A cluster keeps its zone, operating system, encryption and Kerberos for good, whatever the environment file states now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from warmbase.changes.change import EVERY_ROLE, Change, changes, cluster_change
from warmbase.configurations.bootstrap import Action, actions, lasting_arguments, program, script
from warmbase.configurations.launch import Launch, planned_spec
from warmbase.emr.cloudformation import CLUSTER_TYPE, SECURITY_TYPE, read_cluster, resolved
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.environments.environment import ACCOUNT_PSEUDO_PARAMETER, Environment, HBaseSecurity, Kerberos
from warmbase.environments.launch_record import LaunchRecord
from warmbase.facts.releases import releases
from warmbase.ground.errors import InvalidInput

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
    why = "nodes that join later run the same actions as the others"
    # The arguments of each bootstrap action. The addresses of its programs are left out, because digests name them.
    recorded = {
        action.name: (SAME_SCRIPT, *(argument for argument in action.arguments if "=s3://" not in argument))
        for action in recorded_spec(record).bootstrap_actions
    }
    actions = {action.name: action for action in planned}
    for name in dict.fromkeys((*recorded, *actions)):
        if name not in recorded or name not in actions:
            presence = ("absent", "present") if name in actions else ("present", "absent")
            yield cluster_change(("core",), f"bootstrap action {name}", *presence, why)
            continue
        action, before = actions[name], recorded[name]
        same = hashlib.sha256(script(name).encode()).hexdigest() in record.bootstrap.values()
        after = [SAME_SCRIPT if same else "another script"]
        after += [argument.replace(ACCOUNT_PSEUDO_PARAMETER, record.identity.account) for argument in action.arguments]
        for argument, file in action.programs.items():
            after.append(f"--{argument}-sha256={hashlib.sha256(program(file).read_bytes()).hexdigest()}")
        old, new = lasting_arguments(before, before), lasting_arguments(tuple(after), before)
        if old != new:
            texts = _beside(old, new) or "less", _beside(new, old) or "less"
            yield cluster_change(("core",), f"bootstrap action {name}", *texts, why)


def _beside(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """Return the arguments of the one action that the other lacks; digests are shortened."""
    texts = []
    for argument in one:
        if argument not in other:
            name, equals, value = argument.partition("=")
            texts.append(f"{name}={value[:DIGITS]}" if name.endswith("-sha256") else f"{name}{equals}{value}")
    return " ".join(texts)


def recorded_properties(record: LaunchRecord, kind: str) -> Mapping[str, Any]:
    """Return the properties of the record's only resource of that type."""
    [resource_of_type] = [
        resource for resources in record.resources.values() for resource in resources.values() if resource.type == kind
    ]
    return resource_of_type.properties


NEWEST: Final = "the newest at launch"


class ImmutableSettings(Struct, frozen=True, kw_only=True):
    """The settings of a launch. `os_release` is one of Amazon Linux, or NEWEST where the file names none."""

    availability_zone: str
    os_release: str
    certificates: str | None
    encrypts_local_disks: bool
    kerberos: str | None = None

    @classmethod
    def parse(
        cls,
        availability_zone: str,
        os_release: str,
        security_configuration: Mapping[str, Any],
        kerberos_attributes: Mapping[str, str] | None,
    ) -> ImmutableSettings:
        """Read the documents of a cluster, which a template and EMR spell alike."""
        kerberos = Kerberos.parse(security_configuration, kerberos_attributes)
        encryption = security_configuration["EncryptionConfiguration"]
        in_transit = encryption.get("InTransitEncryptionConfiguration", {}).get("TLSCertificateConfiguration", {})
        return cls(
            availability_zone=availability_zone,
            os_release=os_release,
            certificates=in_transit.get("S3Object"),
            encrypts_local_disks="LocalDiskEncryptionConfiguration"
            in encryption.get("AtRestEncryptionConfiguration", {}),
            kerberos=str(kerberos) if kerberos else None,
        )

    @classmethod
    def of(cls, environment: Environment) -> ImmutableSettings:
        """Return the settings with which a cluster of the environment would be launched."""
        return cls(
            availability_zone=environment.network.availability_zone,
            os_release=environment.os_release or NEWEST,
            certificates=environment.certificates,
            encrypts_local_disks=environment.encrypt_local_disks,
            kerberos=str(environment.kerberos) if environment.kerberos else None,
        )


def immutable_changes(was: ImmutableSettings, environment: Environment) -> Iterator[Change]:
    """Yield a change for each setting that the environment file now states differently; all need a new cluster."""
    now = ImmutableSettings.of(environment)
    settings = (
        ("AvailabilityZone", was.availability_zone, now.availability_zone, "a subnet never changes its zone"),
        ("OSReleaseLabel", was.os_release, now.os_release, "the operating system is fixed at launch"),
        (
            "encryption in transit",
            was.certificates or "none",
            now.certificates or "none",
            "the security configuration is fixed at launch",
        ),
        (
            "encryption of local disks",
            str(was.encrypts_local_disks).lower(),
            str(now.encrypts_local_disks).lower(),
            "the security configuration is fixed at launch",
        ),
        (
            "Kerberos",
            was.kerberos or "none",
            now.kerberos or "none",
            "the security configuration and the attributes of Kerberos are fixed at launch",
        ),
    )
    for key, before, after, why in settings:
        if before != after:
            yield cluster_change(EVERY_ROLE, key, before, after, why)


USER_COPROCESSORS: Final = ("hbase-site", "hbase.coprocessor.user.enabled")


def recorded_security(record: LaunchRecord) -> HBaseSecurity:
    """Return the settings of the launch. A cluster that was launched without a switch for coprocessors keeps them."""
    core = recorded_spec(record).group("core")
    return HBaseSecurity(
        kerberos=recorded_kerberos(record),
        user_coprocessors=core is None or USER_COPROCESSORS not in core.settings,
    )


def recorded_kerberos(record: LaunchRecord) -> Kerberos | None:
    """Return the realm in which the cluster was launched; None if it authenticates nobody."""
    security = recorded_properties(record, SECURITY_TYPE)["SecurityConfiguration"]
    return Kerberos.parse(security, recorded_properties(record, CLUSTER_TYPE).get("KerberosAttributes"))


def security_of_file(environment: Environment, record: LaunchRecord | None) -> HBaseSecurity:
    """Return the settings that the file requests of a cluster. They never stop a launched one loading coprocessors."""
    allowed = record is not None and recorded_security(record).user_coprocessors
    return HBaseSecurity(kerberos=environment.kerberos, user_coprocessors=allowed)


def check_kerberos_applies(environment: Environment, records: Mapping[str, LaunchRecord]) -> None:
    """Raise InvalidInput if the file states a realm in which no cluster was or will be launched."""
    kerberos = environment.kerberos
    if kerberos is None or environment.clusters.keys() - records.keys():
        return
    realms = {name: recorded_kerberos(record) for name, record in records.items() if name in environment.clusters}
    if kerberos in realms.values():
        return
    was = "; ".join(f"{name}: {realm or 'without Kerberos'}" for name, realm in realms.items())
    raise InvalidInput.of(
        where=kerberos.where,
        what="security.kerberos",
        why=f"EMR sets up Kerberos only at launch, and no cluster of the file was launched with these settings ({was})",
        fix="put the section back as it was at launch, or remove it; to change it, tear the cluster down and launch it"
        " again",
    )
