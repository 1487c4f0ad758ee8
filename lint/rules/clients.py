"""Clients, and what HBase lets them do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import Violation, rule

AUTHENTICATION: Final = "hbase.security.authentication"
AUTHORIZATION: Final = "hbase.security.authorization"


def _authenticates(node: LintedNode) -> bool:
    """Return whether the cluster authenticates its clients, or may: a placeholder can become anything."""
    setting = node.setting(AUTHENTICATION)
    if setting is not None and (setting.is_placeholder or setting.value.strip().lower() == "kerberos"):
        return True
    return node.subject.has_kerberos


@rule(
    id="WB902",
    severity=Severity.WARNING,
    title="HBase that authenticates nobody and is open to networks",
    because="with simple authentication, HBase believes the user name that a client sends",
    fix="limit access to security groups of trusted programs, or launch a cluster with Kerberos",
    source="Apache HBase Reference Guide, Securing Apache HBase",
    proof="the lab has one user and one host",
    of_hbase_1=True,
)
def _open_to_networks(node: LintedNode) -> Iterator[Violation]:
    networks = ", ".join(node.subject.open_networks)
    if networks and not _authenticates(node):
        yield Violation(
            classification="",
            property="access.cidrs",
            message=f"any program in {networks} can act as any HBase user, and so read, change and drop every table",
        )


@rule(
    id="WB903",
    severity=Severity.WARNING,
    title="permissions without authentication (hbase.security.authorization)",
    because="a client that names itself as the superuser has every permission",
    fix=f"launch a cluster with Kerberos, or remove {AUTHORIZATION}: it protects from mistakes only",
    source="Apache HBase Reference Guide, Securing Apache HBase",
    proof="the lab has one user and one host",
    of_hbase_1=True,
)
def _permissions_of_anybody(node: LintedNode) -> Iterator[Violation]:
    if (node.text(AUTHORIZATION) or "").lower() == "true" and not _authenticates(node):
        yield Violation(at=node.setting(AUTHORIZATION), message="HBase checks permissions of users that it cannot tell")
