"""Kerberos in the terms of EMR: part of the security configuration, and attributes of the cluster."""

from __future__ import annotations

from typing import Any, Final

from aws_cdk import aws_emr as emr

from warmbase.environments.environment import Kerberos

TICKET_HOURS: Final = 24  # EMR Management Guide, emr-kerberos-config-examples; daemons renew theirs
KDC_PORT: Final = 88  # RFC 4120, 7.2


def authentication(kerberos: Kerberos | None) -> dict[str, Any]:
    """Return the part of a security configuration that says which KDC issues tickets; empty without Kerberos.

    Source: EMR Management Guide, emr-create-security-configuration, emr-kerberos-cli-parameters.
    """
    if kerberos is None:
        return {}
    if kerberos.kdc is None:
        settings: dict[str, Any] = {
            "Provider": "ClusterDedicatedKdc",
            "ClusterDedicatedKdcConfiguration": {"TicketLifetimeInHours": TICKET_HOURS},
        }
    else:
        settings = {
            "Provider": "ExternalKdc",
            "ExternalKdcConfiguration": {
                "TicketLifetimeInHours": TICKET_HOURS,
                "KdcServerType": "Single",
                "AdminServer": kerberos.admin_server,
                "KdcServer": kerberos.kdc,
            },
        }
    return {"AuthenticationConfiguration": {"KerberosConfiguration": settings}}


def attributes(kerberos: Kerberos | None) -> emr.CfnCluster.KerberosAttributesProperty | None:
    """Return the realm, and the reference by which CloudFormation reads the administrator's password."""
    if kerberos is None:
        return None
    return emr.CfnCluster.KerberosAttributesProperty(realm=kerberos.realm, kdc_admin_password=kerberos.admin_password)
