"""An `hbase-site.xml` for applications that read and write, with settings that outlast the outages of the plan."""

from __future__ import annotations

from textwrap import fill
from typing import Final

from warmbase.configurations.launch import Launch
from warmbase.environments.environment import Kerberos
from warmbase.ground.markup import xml_comment, xml_text
from warmbase.ground.units import format_duration
from warmbase.sizing.server.restart import (
    CALL_P99S,
    LONGEST_CALL_SECONDS,
    PAUSE_MS,
    SHORTEST_CALL_SECONDS,
    ClientSettings,
    client_settings,
)

WIDTH: Final = 100
BEFORE: Final = (
    "Merge these properties into the hbase-site.xml of your applications. Copy hbase.zookeeper.quorum from a primary "
    "node (/etc/hbase/conf). No property keeps a scan of a whole table from evicting blocks that are read often, so "
    "call setCacheBlocks(false) on the Scan."
)


def client_site_xml(launch: Launch) -> str:
    """Return the properties of clients, each below a comment with its reason."""
    plan = launch.plan
    p99_seconds = plan.busiest_hour.p99_latency_ms / 1000
    settings = client_settings(plan.restart, p99_seconds, retains=plan.mode.has_bucket_cache)
    properties = "".join(
        f"{_comment(reason)}  <property>\n    <name>{key}</name>\n    <value>{xml_text(value)}</value>\n  </property>\n"
        for key, value, reason in (*_properties(settings, p99_seconds), *_authentication(launch.security.kerberos))
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{_comment(BEFORE)}{properties}</configuration>\n'


def _properties(settings: ClientSettings, p99_seconds: float) -> tuple[tuple[str, str, str], ...]:
    outage, patience = format_duration(settings.outage_seconds), format_duration(settings.patience_seconds)
    call = format_duration(p99_seconds)
    return (
        (
            "hbase.client.retries.number",
            str(settings.retries),
            (
                f"When a server is lost, its regions are unavailable for {outage} (estimate), because the master may "
                f"wait for it before it moves them. The waits between {settings.retries} retries add up to "
                f"{patience}. If an application must fail early, lower hbase.client.operation.timeout in that "
                "application instead."
            ),
        ),
        ("hbase.client.pause", str(PAUSE_MS), "The first of those waits, in milliseconds. This is HBase's default."),
        (
            "hbase.client.operation.timeout",
            str(settings.operation_timeout_ms),
            "A request with all its retries ends after this time. HBase's default is 20 minutes.",
        ),
        (
            "hbase.rpc.timeout",
            str(settings.rpc_timeout_ms),
            (
                f"One try ends after this time: {CALL_P99S} times the plan's p99 of {call}, but at least "
                f"{SHORTEST_CALL_SECONDS} s and at most {LONGEST_CALL_SECONDS} s. A server drops calls whose time is "
                "over."
            ),
        ),
        (
            "hbase.mapreduce.scan.cacheblocks",
            "false",
            "Scans of MapReduce jobs leave the cache as it is. This is HBase's default.",
        ),
    )


def _authentication(kerberos: Kerberos | None) -> tuple[tuple[str, str, str], ...]:
    """Return what a client needs to authenticate itself and the servers; nothing without Kerberos."""
    if kerberos is None:
        return ()
    principal = f"hbase/_HOST@{kerberos.realm}"
    ticket = (
        "The client gets a ticket before it connects: by kinit, or by UserGroupInformation.loginUserFromKeytab. Also "
        "set hadoop.security.authentication to kerberos in the core-site.xml of your applications."
    )
    return (
        ("hbase.security.authentication", "kerberos", ticket),
        ("hbase.master.kerberos.principal", principal, "The master proves that it is this principal."),
        ("hbase.regionserver.kerberos.principal", principal, "Each RegionServer proves the same. Keep _HOST as it is."),
        ("hbase.rpc.protection", "privacy", "Requests and responses are encrypted. The servers accept nothing else."),
    )


def _comment(text: str) -> str:
    folded = fill(xml_comment(text), width=WIDTH, initial_indent="  <!-- ", subsequent_indent="       ")
    return f"{folded} -->\n"
