"""The section of an environment file about encryption and authentication.

Kerberos is also checked against other sections: nodes, network, and the second server of a realm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from warmbase.environments.environment import ExternalKdc, Kerberos
from warmbase.environments.reader.cross_checks import hbase_clusters
from warmbase.environments.reader.section import RawSection, Refusal, Rule, Section, refuse

PEM_FORM: Final = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[A-Za-z0-9._=/-]+\.zip$"
PEM: Final = "s3://BUCKET/KEY.zip, of privateKey.pem, certificateChain.pem and trustedCertificates.pem"
CLUSTER_KDC: Final = "cluster"
SERVER_FORM: Final = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?"
SERVER: Final = "HOST or HOST:PORT"
REALM_FORM: Final = r"^[A-Za-z0-9][A-Za-z0-9.-]{0,250}$"
REALM: Final = "a realm such as EC2.INTERNAL"
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

    pem: Annotated[str, Field(pattern=PEM_FORM, examples=["s3://our-keys/hbase.zip"], description=PEM)]


class KerberosSection(Section):
    """How clients and servers of HBase prove who they are."""

    kdc: Annotated[
        str, Field(pattern=f"^{SERVER_FORM}$", examples=[CLUSTER_KDC], description=f"`cluster`, or {SERVER}")
    ]
    admin_server: Annotated[
        str | None, Field(pattern=f"^{SERVER_FORM}$", examples=["kdc.example.com:749"], description=SERVER)
    ] = None
    realm: Annotated[str, Field(pattern=REALM_FORM, examples=["EC2.INTERNAL"], description=REALM)]
    admin_password: Annotated[
        str, BeforeValidator(_reference), WithJsonSchema({"type": "string", "pattern": REFERENCE_FORM})
    ] = Field(examples=[REFERENCE])

    def build(self, where: str) -> Kerberos:
        """Return the section as the type that the stacks use."""
        external = None if self.kdc == CLUSTER_KDC else ExternalKdc(kdc=self.kdc, admin_server=str(self.admin_server))
        return Kerberos(realm=self.realm, admin_password=self.admin_password, external=external, where=where)


class Security(Section):
    """Encryption besides that of S3, which is always on, and authentication."""

    in_transit: Annotated[InTransit | None, Field(examples=[{"pem": "s3://our-keys/hbase.zip"}])] = None
    local_disks: bool = True
    kerberos: Annotated[KerberosSection | None, Field(examples=[KERBEROS])] = None


AT: Final = ("security", "kerberos")
EXTERNAL: Final = "name an external KDC and its admin server in your VPC: kdc: HOST:88, admin_server: HOST:749"


def _three_primaries(file: RawSection) -> Iterator[Refusal]:
    """Refuse a KDC on a cluster with several primary nodes, because only one node could run it."""
    if file.section("security").section("kerberos").text("kdc") != CLUSTER_KDC:
        return
    for name, cluster in hbase_clusters(file):
        if cluster.whole("primaries", 1) != 1:
            yield Refusal(
                at=(*AT, "kdc"),
                why=f"clusters.{name} has several primary nodes, and EMR supports a KDC on the cluster only with one",
                fix=f"{EXTERNAL}; or set clusters.{name}.primaries to 1",
            )


def _servers(file: RawSection) -> Iterator[Refusal]:
    """Refuse an external KDC without its admin server or without a route to it."""
    kerberos = file.section("security").section("kerberos")
    kdc = kerberos.text("kdc")
    if kdc is None:
        return
    if kdc == CLUSTER_KDC:
        if kerberos.gives("admin_server"):
            why = "the KDC of a cluster has its own admin server, on the primary node"
            yield Refusal(at=(*AT, "admin_server"), why=why, fix="remove it")
        return
    if not kerberos.gives("admin_server"):
        why = "EMR creates the principals of its daemons on the admin server of an external KDC"
        yield Refusal(at=AT, why=why, fix="add admin_server, for example `admin_server: kdc.example.com:749`")
    if file.section("network").text("vpc", "new") == "new":
        yield Refusal(
            at=(*AT, "kdc"),
            why="the VPC is new, so no route leads from it to a KDC when the nodes start",
            fix="name a VPC from which the KDC is reachable, or use `kdc: cluster`",
        )


KERBEROS_RULES: Final[tuple[Rule, ...]] = (_three_primaries, _servers)
