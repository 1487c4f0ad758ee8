"""The settings that a cluster keeps for good: zone, operating system, encryption and Kerberos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from changes.change import Change, new_cluster
from environments.environment import Environment
from environments.kerberos import Kerberos

NEWEST: Final = "the newest at launch"
EVERY_ROLE: Final = ("primary", "core")


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
            yield new_cluster(EVERY_ROLE, key, before, after, why)
