"""Checks of Kerberos that need other sections of an environment file: nodes, network, and the second server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from environments.reader.cross_checks import hbase_clusters
from environments.reader.section import RawSection, Refusal, Rule
from environments.reader.security_schema import CLUSTER_KDC

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
