"""The Kerberos realm of an environment's clusters, and which security settings of HBase follow from a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct

from sizing.equality import EqualButFor


class ExternalKdc(Struct, frozen=True, kw_only=True):
    """The KDC and its admin server, each as HOST or HOST:PORT, which EMR neither creates nor backs up."""

    kdc: str
    admin_server: str


class Kerberos(EqualButFor, frozen=True, kw_only=True):
    """How clients and servers prove who they are.

    `admin_password` is a dynamic reference that CloudFormation resolves, never the password. `external` is None where
    each cluster has its own KDC, on its primary node. `where` is the place in the environment file.
    """

    UNCOMPARED: ClassVar[str] = "where"

    realm: str
    admin_password: str
    external: ExternalKdc | None = None
    where: str = ""

    @property
    def secret(self) -> tuple[str, str]:
        """Return the id of the secret with the password, and the key in it; the key is empty if there is none."""
        path = self.admin_password.removeprefix("{{resolve:secretsmanager:").removesuffix("}}")
        identity, _, rest = path.partition(":SecretString")
        return identity, rest.removeprefix(":").partition(":")[0]

    @classmethod
    def parse(cls, security_configuration: Mapping[str, Any], attributes: Mapping[str, str] | None) -> Kerberos | None:
        """Read both documents of a cluster, which a template and EMR spell alike; None without Kerberos."""
        kerberos = security_configuration.get("AuthenticationConfiguration", {}).get("KerberosConfiguration")
        if not kerberos or not attributes:
            return None
        servers = kerberos.get("ExternalKdcConfiguration")
        return cls(
            realm=attributes["Realm"],
            admin_password=attributes["KdcAdminPassword"],
            external=ExternalKdc(kdc=servers["KdcServer"], admin_server=servers["AdminServer"]) if servers else None,
        )

    def __str__(self) -> str:
        return f"realm {self.realm}, KDC {self.external.kdc if self.external else 'of the cluster'}"


class HBaseSecurity(Struct, frozen=True, kw_only=True):
    """The security settings of HBase that are fixed when a cluster is launched."""

    kerberos: Kerberos | None = None
    user_coprocessors: bool = False
    """True where tables may load coprocessors; a new cluster has an override for that."""
