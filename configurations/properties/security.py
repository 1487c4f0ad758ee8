"""Properties that decide who may connect to HBase, and what each user may do there."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    BOTH,
    CLASS_NAMES,
    CORE,
    EMR_ENCRYPTION,
    EMR_UTILITIES_SECURITY,
    HBASE_262,
    HBASE_SECURITY,
    PRIMARY,
    SWITCH,
    AnyText,
    Applied,
    ListOf,
    OneOf,
)

ACCESS_CONTROLLER: Final = "org.apache.hadoop.hbase.security.access.AccessController"
TOKENS: Final = "org.apache.hadoop.hbase.security.token.TokenProvider"
_both = partial(hbase_site, groups=BOTH, when=RenderingContext.has_kerberos, source=HBASE_SECURITY)
_core = partial(_both, groups=CORE)

SECURITY: Final = (
    _both(
        "hbase.security.authentication",
        OneOf(names=("kerberos", "simple")),
        "a client without a ticket is refused. EMR sets it with the principals and keytabs of the daemons; "
        "warmbase states it so that a difference is noticed. Without Kerberos, HBase believes whatever user name a "
        "client sends",
        value="kerberos",
        needed_by="verify, which tries to connect without a ticket",
        applied=Applied.NEW_CLUSTER,
        source=EMR_UTILITIES_SECURITY,
    ),
    _both(
        "hbase.security.authorization",
        SWITCH,
        "HBase checks what a user may do. EMR sets it with Kerberos, but loads no coprocessor that checks it",
        value="true",
        source=EMR_UTILITIES_SECURITY,
    ),
    _both(
        "hbase.coprocessor.master.classes",
        CLASS_NAMES,
        "the AccessController checks who creates, changes and drops tables; EMR does not load it, so any user "
        "with a ticket could",
        value=ACCESS_CONTROLLER,
        groups=PRIMARY,
    ),
    _core(
        "hbase.coprocessor.region.classes",
        CLASS_NAMES,
        "the AccessController checks each read and write, and the TokenProvider gives MapReduce jobs the tokens "
        "with which they run for a user",
        value=f"{TOKENS},{ACCESS_CONTROLLER}",
    ),
    _core(
        "hbase.coprocessor.regionserver.classes",
        CLASS_NAMES,
        "the AccessController checks who stops a RegionServer or rolls its log",
        value=ACCESS_CONTROLLER,
    ),
    _core(
        "hbase.security.exec.permission.checks",
        SWITCH,
        "a user needs the permission EXEC to call endpoints of a coprocessor",
        value="true",
    ),
    _both(
        "hbase.rpc.protection",
        ListOf(member=OneOf(names=("authentication", "integrity", "privacy"))),
        "requests and responses are encrypted; clients must state the same value. EMR sets it only with "
        "encryption in transit",
        value="privacy",
        source=f"{EMR_ENCRYPTION}; {HBASE_SECURITY}",
    ),
    _core(
        "hbase.coprocessor.user.enabled",
        SWITCH,
        "tables load no coprocessors: whoever may create a table could otherwise run their own code in every "
        "RegionServer. A running cluster keeps what it was launched with. Phoenix needs true",
        value="false",
        when=lambda context: not context.security.user_coprocessors,
        source=HBASE_262,
    ),
    _both(
        "hbase.superuser",
        ListOf(member=AnyText(described="a user, or @GROUP")),
        "more superusers besides the user that runs HBase; warmbase's own steps run as that user",
    ),
    _both(
        "hbase.security.authentication.ui",
        OneOf(names=("simple", "kerberos")),
        "the web pages and JMX need no ticket, so the publisher on each node can read its own RegionServer; "
        "`access` does not open their ports",
    ),
)
