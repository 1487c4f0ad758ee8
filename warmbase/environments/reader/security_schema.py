"""The section of an environment file about encryption and authentication."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema

from warmbase.environments.environment import Kerberos
from warmbase.environments.reader.key import yaml_key
from warmbase.environments.reader.section import Section, refuse

PEM_FORM: Final = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[A-Za-z0-9._=/-]+\.zip$"
CLUSTER_KDC: Final = "cluster"
SERVER_FORM: Final = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?"
SERVER: Final = "HOST or HOST:PORT"
REALM_FORM: Final = r"^[A-Za-z0-9][A-Za-z0-9.-]{0,250}$"
REFERENCE_FORM: Final = r"^\{\{resolve:secretsmanager:[A-Za-z0-9/_+=.@:-]{1,500}\}\}$"
REFERENCE: Final = "{{resolve:secretsmanager:hbase/kdc:SecretString:password}}"
KERBEROS: Final = {"kdc": CLUSTER_KDC, "realm": "EC2.INTERNAL", "admin_password": REFERENCE}


def _reference(value: object) -> str:
    """Return a reference to a secret. The refusal never repeats the value, because it may be the password itself."""
    text = str(value)
    if re.fullmatch(REFERENCE_FORM, text):
        return text
    fix = f'store it in AWS Secrets Manager, and write "{REFERENCE}"'
    if text.startswith("{{resolve:ssm-secure:"):
        raise refuse("CloudFormation resolves ssm-secure in no property of an EMR cluster", fix)
    if text.startswith("{{resolve:ssm:"):
        raise refuse("CloudFormation resolves ssm only for parameters that are stored as plain text", fix)
    raise refuse("the password must not be in the file or in a template", fix)


class InTransit(Section):
    """The certificates with which nodes encrypt the traffic between them."""

    pem: str = yaml_key(
        "The zip file in S3 with privateKey.pem, certificateChain.pem and trustedCertificates.pem.",
        form="s3://BUCKET/KEY.zip, of privateKey.pem, certificateChain.pem and trustedCertificates.pem",
        examples=["s3://our-keys/hbase.zip"],
        pattern=PEM_FORM,
    )


class KerberosSection(Section):
    """How clients and servers of HBase prove who they are."""

    kdc: str = yaml_key(
        "`cluster` for a KDC on the primary node of each cluster, or the address of an external KDC.",
        form=f"`cluster`, or {SERVER}",
        examples=[CLUSTER_KDC],
        pattern=f"^{SERVER_FORM}$",
    )
    admin_server: str | None = yaml_key(
        "The address of the external KDC's admin server, on which EMR creates principals.",
        None,
        form=SERVER,
        examples=["kdc.example.com:749"],
        pattern=f"^{SERVER_FORM}$",
    )
    realm: str = yaml_key(
        "The Kerberos realm, such as EC2.INTERNAL.",
        form="a realm such as EC2.INTERNAL",
        examples=["EC2.INTERNAL"],
        pattern=REALM_FORM,
    )
    admin_password: Annotated[
        str, BeforeValidator(_reference), WithJsonSchema({"type": "string", "pattern": REFERENCE_FORM})
    ] = yaml_key("A reference to the password of the KDC's administrator in AWS Secrets Manager.", examples=[REFERENCE])

    def build(self, where: str) -> Kerberos:
        """Return the section as the type that the stacks use."""
        kdc, server = (None, None) if self.kdc == CLUSTER_KDC else (self.kdc, self.admin_server)
        return Kerberos(realm=self.realm, admin_password=self.admin_password, kdc=kdc, admin_server=server, where=where)


class Security(Section):
    """Encryption besides that of S3, which is always on, and authentication."""

    in_transit: InTransit | None = yaml_key(
        "The certificates for encrypting the traffic between nodes. By default, it is not encrypted.",
        None,
        examples=[{"pem": "s3://our-keys/hbase.zip"}],
    )
    local_disks: bool = yaml_key("Whether EMR encrypts the volumes of the nodes.", default=True)
    kerberos: KerberosSection | None = yaml_key(
        "The Kerberos realm in which new clusters are launched. By default, HBase authenticates nobody.",
        None,
        examples=[KERBEROS],
    )
