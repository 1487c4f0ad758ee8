"""Properties that decide who may connect to HBase, and what each user may do there."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    BOTH,
    CORE,
    EMR_ENCRYPTION,
    EMR_UTILITIES_SECURITY,
    HBASE_262,
    HBASE_SECURITY,
    PRIMARY,
    AnyText,
    Applied,
    ListOf,
    OneOf,
    Switch,
)

ACCESS_CONTROLLER: Final = "org.apache.hadoop.hbase.security.access.AccessController"
TOKENS: Final = "org.apache.hadoop.hbase.security.token.TokenProvider"
_both = partial(hbase_site, groups=BOTH, when=RenderingContext.has_kerberos, source=HBASE_SECURITY)
_core = partial(_both, groups=CORE)

SECURITY: Final = (
    _both(
        key="hbase.security.authentication",
        value="kerberos",
        needed_by="verify, which tries to connect without a ticket",
        applied=Applied.NEW_CLUSTER,
        values=OneOf(names=("kerberos", "simple")),
        reason="a client without a ticket is refused. EMR sets it with the principals and keytabs of the daemons; "
        "warmbase states it so that a difference is noticed. Without Kerberos, HBase believes whatever user name a "
        "client sends",
        source=EMR_UTILITIES_SECURITY,
    ),
    _both(
        key="hbase.security.authorization",
        value="true",
        values=Switch(),
        reason="HBase checks what a user may do. EMR sets it with Kerberos, but loads no coprocessor that checks it",
        source=EMR_UTILITIES_SECURITY,
    ),
    _both(
        key="hbase.coprocessor.master.classes",
        value=ACCESS_CONTROLLER,
        groups=PRIMARY,
        values=ListOf(member=AnyText(described="the name of a class")),
        reason="the AccessController checks who creates, changes and drops tables; EMR does not load it, so any user "
        "with a ticket could",
    ),
    _core(
        key="hbase.coprocessor.region.classes",
        value=f"{TOKENS},{ACCESS_CONTROLLER}",
        values=ListOf(member=AnyText(described="the name of a class")),
        reason="the AccessController checks each read and write, and the TokenProvider gives MapReduce jobs the tokens "
        "with which they run for a user",
    ),
    _core(
        key="hbase.coprocessor.regionserver.classes",
        value=ACCESS_CONTROLLER,
        values=ListOf(member=AnyText(described="the name of a class")),
        reason="the AccessController checks who stops a RegionServer or rolls its log",
    ),
    _core(
        key="hbase.security.exec.permission.checks",
        value="true",
        values=Switch(),
        reason="a user needs the permission EXEC to call endpoints of a coprocessor",
    ),
    _both(
        key="hbase.rpc.protection",
        value="privacy",
        values=ListOf(member=OneOf(names=("authentication", "integrity", "privacy"))),
        reason="requests and responses are encrypted; clients must state the same value. EMR sets it only with "
        "encryption in transit",
        source=f"{EMR_ENCRYPTION}; {HBASE_SECURITY}",
    ),
    _core(
        key="hbase.coprocessor.user.enabled",
        value="false",
        when=lambda context: not context.security.user_coprocessors,
        values=Switch(),
        reason="tables load no coprocessors: whoever may create a table could otherwise run their own code in every "
        "RegionServer. A running cluster keeps what it was launched with. Phoenix needs true",
        source=HBASE_262,
    ),
    _both(
        key="hbase.superuser",
        values=ListOf(member=AnyText(described="a user, or @GROUP")),
        reason="more superusers besides the user that runs HBase; warmbase's own steps run as that user",
    ),
    _both(
        key="hbase.security.authentication.ui",
        values=OneOf(names=("simple", "kerberos")),
        reason="the web pages and JMX need no ticket, so the publisher on each node can read its own RegionServer; "
        "`access` does not open their ports",
    ),
)
