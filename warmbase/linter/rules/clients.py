"""Clients, what HBase lets them do, and credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from warmbase.emr.cluster_spec import Setting, TableCoprocessor
from warmbase.ground.secret import holds_credential
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import Rule, Violation, emr_rule

AUTHENTICATION: Final = "hbase.security.authentication"
AUTHORIZATION: Final = "hbase.security.authorization"
REGION_CLASSES: Final = "hbase.coprocessor.region.classes"
USER_COPROCESSORS: Final = "hbase.coprocessor.user.enabled"
COPROCESSORS: Final = "hbase.coprocessor.enabled"
CONTROLLER: Final = "org.apache.hadoop.hbase.security.access.AccessController"
CHECKS: Final = re.compile(r"AccessController|Ranger\w*Coprocessor")
"""Matches a coprocessor that checks permissions, of HBase or of Apache Ranger."""


def _authenticates(node: LintedNode) -> bool:
    """Return whether the cluster authenticates its clients, or may: a placeholder can become anything."""
    setting = node.setting(AUTHENTICATION)
    if setting is not None and (setting.is_placeholder or setting.value.strip().lower() == "kerberos"):
        return True
    return node.subject.has_kerberos


@Rule(
    id="WB902",
    severity=Severity.WARNING,
    consequence=Consequence.NOT_SAFE,
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
            "access.cidrs",
            f"any program in {networks} can act as any HBase user, and so read, change and drop every table",
            classification="",
        )


@Rule(
    id="WB903",
    severity=Severity.WARNING,
    consequence=Consequence.NOT_SAFE,
    title="permissions without authentication (hbase.security.authorization)",
    because="a client that calls itself the superuser has every permission",
    fix=f"launch a cluster with Kerberos, or remove {AUTHORIZATION}: it protects only from mistakes",
    source="Apache HBase Reference Guide, Securing Apache HBase",
    proof="the lab has one user and one host",
    of_hbase_1=True,
)
def _permissions_of_anybody(node: LintedNode) -> Iterator[Violation]:
    # Only a source that has more than a list of classifications would show a KDC.
    subject = node.subject
    shows_kdc = subject.only or subject.groups or subject.applications or node.setting(AUTHENTICATION) is not None
    if (node.text(AUTHORIZATION) or "").lower() == "true" and shows_kdc and not _authenticates(node):
        yield Violation(AUTHORIZATION, "HBase checks permissions of users that it does not authenticate")


@Rule(
    id="WB904",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
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
    yield Violation(setting or REGION_CLASSES, "any user with a ticket can read, change and drop every table")


@Rule(
    id="WB905",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="tables whose coprocessors are not loaded (hbase.coprocessor.user.enabled)",
    because="HBase opens such a table without its coprocessors and reports no error, so an index is not updated",
    fix=f"if the tables need their coprocessors, override {USER_COPROCESSORS} with true, otherwise with false",
    source="HBase 2.6.2 RegionCoprocessorHost.loadTableCoprocessors",
    proof="the loss shows only with a coprocessor",
)
def _coprocessors_of_tables(node: LintedNode) -> Iterator[Violation]:
    setting = _switch_off(node)
    if setting is None or setting.overridden:
        return
    for table, coprocessors in _by_table(node).items():
        yield Violation(
            setting,
            f"table {table} has coprocessors: {_listed(coprocessors)}",
            fix=f"if Phoenix is in use, set {setting.key} to true and install it, otherwise override it with false"
            if all(one.is_phoenix for one in coprocessors)
            else None,
        )


@Rule(
    id="WB906",
    severity=Severity.WARNING,
    consequence=Consequence.NOT_SAFE,
    title="tables that load coprocessors",
    because="a coprocessor runs in each RegionServer with all its permissions, and where its class cannot be loaded, "
    "each RegionServer that opens a region of the table stops (hbase.coprocessor.abortonerror)",
    fix="make sure that you trust each class and that its jar matches this HBase. New clusters of warmbase load none "
    f"until an override sets {USER_COPROCESSORS} to true",
    source="HBase 2.6.2 RegionCoprocessorHost.loadTableCoprocessors",
    proof="the harm shows only with a coprocessor",
)
def _code_of_tables(node: LintedNode) -> Iterator[Violation]:
    """Yield tables with coprocessors, except those of Phoenix, and except where the environment decides for them."""
    if not _loads_coprocessors(node) or any(setting.overridden for setting in _switches(node)):
        return
    for table, coprocessors in _by_table(node).items():
        foreign = [one for one in coprocessors if not one.is_phoenix]
        if foreign:
            yield _of_table(table, foreign, f"table {table} loads {_listed(foreign)}")


@Rule(
    id="WB907",
    severity=Severity.WARNING,
    consequence=Consequence.NOT_SAFE,
    title="tables of Phoenix on a cluster without Phoenix",
    because="the classes are in Phoenix's jar: without it, each RegionServer that opens a region of the table stops "
    "(hbase.coprocessor.abortonerror), and with coprocessors off, the table's indexes are not updated",
    fix="install the application Phoenix, or remove the coprocessors from the tables",
    source="HBase 2.6.2 RegionCoprocessorHost.loadTableCoprocessors",
    proof="the harm shows only with a coprocessor",
)
def _phoenix_without_phoenix(node: LintedNode) -> Iterator[Violation]:
    """Yield tables of Phoenix, unless the file states that Phoenix is installed; WB905 has those not loaded."""
    installed = {application.lower() for application in node.subject.applications}
    if "phoenix" in installed or not _loads_coprocessors(node):
        return
    state = "it is not among the applications" if installed else "this file does not state whether it is installed"
    for table, coprocessors in _by_table(node).items():
        phoenix = [one for one in coprocessors if one.is_phoenix]
        if phoenix:
            yield _of_table(table, phoenix, f"table {table} needs Phoenix, and {state}: {_listed(phoenix)}")


def _switches(node: LintedNode) -> list[Setting]:
    """Return the settings that decide whether HBase loads the coprocessors of tables; it does by default."""
    return [setting for key in (USER_COPROCESSORS, COPROCESSORS) if (setting := node.setting(key)) is not None]


def _switch_off(node: LintedNode) -> Setting | None:
    """Return the setting that keeps HBase from loading the coprocessors of tables, if one does."""
    return next((setting for setting in _switches(node) if setting.value.strip().lower() == "false"), None)


def _loads_coprocessors(node: LintedNode) -> bool:
    """Return whether HBase loads the coprocessors of tables; false where a placeholder may keep it from that."""
    return _switch_off(node) is None and not any(setting.is_placeholder for setting in _switches(node))


def _by_table(node: LintedNode) -> dict[str, list[TableCoprocessor]]:
    tables: dict[str, list[TableCoprocessor]] = {}
    for coprocessor in node.subject.coprocessors:
        tables.setdefault(coprocessor.table, []).append(coprocessor)
    return tables


def _listed(coprocessors: Sequence[TableCoprocessor]) -> str:
    """Return the classes of one table, and where it is said that the table has them."""
    places = dict.fromkeys(one.where for one in coprocessors if one.where)
    classes = ", ".join(one.class_name for one in coprocessors)
    return f"{classes} ({', '.join(places)})" if places else classes


def _of_table(table: str, coprocessors: Sequence[TableCoprocessor], message: str) -> Violation:
    return Violation(table, message, classification="table", line=coprocessors[0].line)


@emr_rule(
    id="WB901",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="static credential",
    because="DescribeCluster returns it, logs store it, and nobody rotates it",
    fix="remove it; nodes use the role of their instance profile",
    source="EMR Management Guide, emr-iam-role-for-ec2",
    roles=("primary", "core"),
)
def _static_credentials(node: LintedNode) -> Iterator[Violation]:
    for (_, key), setting in node.settings.items():
        if holds_credential(key, setting.value):
            yield Violation(setting, f"{key} {'is meant for' if setting.is_placeholder else 'contains'} a credential")
