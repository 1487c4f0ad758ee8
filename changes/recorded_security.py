"""The security settings with which a recorded cluster was launched; it keeps them, whatever the file states now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from changes.recorded_launch import recorded_properties, recorded_spec
from emr.codecs.cloudformation import CLUSTER_TYPE, SECURITY_TYPE
from environments.environment import Environment
from environments.kerberos import HBaseSecurity, Kerberos
from environments.launch_record import LaunchRecord
from sizing.problem import InvalidInput, Problem

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
    raise InvalidInput([Problem(where=kerberos.where, what="security.kerberos", why=_why(realms), fix=FIX)])


FIX: Final = (
    "put the section back as it was at launch, or remove it; to change it, tear the cluster down and launch it again"
)


def _why(realms: Mapping[str, Kerberos | None]) -> str:
    was = "; ".join(f"{name}: {kerberos or 'without Kerberos'}" for name, kerberos in realms.items())
    return f"EMR sets up Kerberos only at launch, and no cluster of the file was launched with these settings ({was})"
