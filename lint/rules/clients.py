"""Clients, and what HBase lets them do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import Violation, rule

AUTHENTICATION: Final = "hbase.security.authentication"
AUTHORIZATION: Final = "hbase.security.authorization"
REGION_CLASSES: Final = "hbase.coprocessor.region.classes"
USER_COPROCESSORS: Final = "hbase.coprocessor.user.enabled"
CONTROLLER: Final = "org.apache.hadoop.hbase.security.access.AccessController"
CHECKS: Final = re.compile(r"AccessController|Ranger\w*Coprocessor")
"""Matches a coprocessor that checks permissions, of HBase or of Apache Ranger."""


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
    because="a client that calls itself the superuser has every permission",
    fix=f"launch a cluster with Kerberos, or remove {AUTHORIZATION}: it protects only from mistakes",
    source="Apache HBase Reference Guide, Securing Apache HBase",
    proof="the lab has one user and one host",
    of_hbase_1=True,
)
def _permissions_of_anybody(node: LintedNode) -> Iterator[Violation]:
    if (node.text(AUTHORIZATION) or "").lower() == "true" and not _authenticates(node):
        yield Violation(
            at=node.setting(AUTHORIZATION), message="HBase checks permissions of users that it does not authenticate"
        )


@rule(
    id="WB904",
    severity=Severity.WARNING,
    title="Kerberos without the AccessController (hbase.coprocessor.region.classes)",
    because="EMR sets hbase.security.authorization with Kerberos, but loads no coprocessor that checks permissions",
    fix=f"add {CONTROLLER} to hbase.coprocessor.master.classes, .region.classes and .regionserver.classes",
    source="Amazon EMR best practices, HBase security on EMR 6.9",
    proof="it takes two users and a KDC; a test of the lab has both, and shows the same with the AccessController",
    of_hbase_1=True,
)
def _everybody_with_a_ticket(node: LintedNode) -> Iterator[Violation]:
    setting = node.setting(REGION_CLASSES)
    if not _authenticates(node) or (setting is not None and (setting.is_placeholder or CHECKS.search(setting.value))):
        return
    if (authentication := node.setting(AUTHENTICATION)) is not None and authentication.is_placeholder:
        return
    yield Violation(
        at=setting,
        property=REGION_CLASSES,
        message="any user with a ticket can read, change and drop every table",
    )


@rule(
    id="WB905",
    severity=Severity.ERROR,
    title="tables whose coprocessors are not loaded (hbase.coprocessor.user.enabled)",
    because="HBase opens such a table without its coprocessors and reports no error, so an index is not updated",
    fix=f"if the tables need their coprocessors, override {USER_COPROCESSORS} with true, otherwise with false",
    source="HBase 2.6.2 source",
    proof="the loss shows only with a coprocessor",
)
def _coprocessors_of_tables(node: LintedNode) -> Iterator[Violation]:
    setting = node.setting(USER_COPROCESSORS)
    if setting is None or setting.overridden or setting.value.strip().lower() != "false":
        return
    for table, classes in node.subject.coprocessors.items():
        yield Violation(at=setting, message=f"table {table} has coprocessors: {', '.join(classes)}")
