"""Checks that need two sections of an environment file, because each section is valid by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from warmbase.engines.trino.section import TrinoSection
from warmbase.environments.override import PINNED, PLANNED
from warmbase.environments.reader.cluster_schema import ClusterSection, Core, PrimarySection
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.schema import CLUSTER_NAME, EnvironmentFile
from warmbase.environments.reader.section import Refusal, Rule, answers
from warmbase.environments.reader.security_schema import CLUSTER_KDC
from warmbase.environments.reader.workload_schema import TablesSection, WorkloadSection
from warmbase.facts.ec2 import instance_types
from warmbase.facts.keys import current_key
from warmbase.facts.releases import releases
from warmbase.ground.release import Release
from warmbase.sizing.modes import MODES

REGION_OF_ARN: Final = 3
"""Where the region stands among the parts of an ARN."""
KERBEROS: Final = ("security", "kerberos")
EXTERNAL: Final = "name an external KDC and its admin server in your VPC: kdc: HOST:88, admin_server: HOST:749"


def _cluster_names(file: EnvironmentFile) -> Iterator[Refusal]:
    for name in file.clusters:
        if not re.fullmatch(CLUSTER_NAME, name):
            why = f"{quoted(name)} names a cluster, and is not of lower-case letters, 12 at most"
            yield Refusal(at=("clusters", name), why=why, fix="write it like blue or green")


def _zone_elsewhere(file: EnvironmentFile) -> Iterator[Refusal]:
    region, zone = file.region, file.network.availability_zone
    if zone[:-1] != region:
        yield Refusal(
            at=("network", "availability_zone"),
            why=f"zone {quoted(zone)} is not in region {region}",
            fix=f"use a zone such as {region}a",
        )


def _network_in_part(file: EnvironmentFile) -> Iterator[Refusal]:
    """An existing VPC needs its subnet named as well; a new one has nothing to name."""
    network = file.network
    if network.vpc == "new":
        for name in ("subnet", "route_table"):
            if network.gives(name):
                yield Refusal(
                    at=("network", name),
                    why="the VPC is new, so it has no existing resources",
                    fix="remove it, or name the VPC that it belongs to",
                )
        if file.access.security_groups:
            yield Refusal(
                at=("access", "security_groups"),
                why="a security group belongs to a VPC, but the network is new",
                fix="use cidrs, the client security group that warmbase creates, or an existing VPC",
            )
        return
    if not network.gives("subnet"):
        yield Refusal(
            at=("network", "vpc"),
            why="the VPC exists already, and nodes need one of its private subnets",
            fix="also name a subnet in the availability zone",
        )
    if network.gives("endpoint_policies"):
        yield Refusal(
            at=("network", "endpoint_policies"),
            why="the VPC exists already, and other programs may use its endpoints, so warmbase sets no policy on them",
            fix="remove it",
        )


def _one_writer(file: EnvironmentFile) -> Iterator[Refusal]:
    """Refuse two active clusters, because both would write to one root and corrupt it."""
    clusters = {name: cluster for name, cluster in file.clusters.items() if cluster.engine == "hbase"}
    active = [name for name, cluster in clusters.items() if cluster.role == "active"]
    if len(active) > 1:
        yield Refusal(
            at=("clusters",),
            why=f"one cluster writes to the root, and {len(active)} are active ({', '.join(map(quoted, active))})",
            fix="keep one active",
        )
    if not active:
        yield Refusal(
            at=("clusters",),
            why="no HBase cluster is active, so nothing would write to the root",
            fix="make one of them active",
        )


def _log_without_s3(file: EnvironmentFile) -> Iterator[Refusal]:
    """In HDFS mode the data is on the nodes: no other log outlives it."""
    if not MODES[file.storage.mode].keeps_data_in_s3 and file.storage.wal == "emr-wal":
        yield Refusal(at=("storage", "wal"), why="EMR WAL is for data in S3, but the mode is hdfs", fix="use hdfs")


def _fencing_without_s3(file: EnvironmentFile) -> Iterator[Refusal]:
    if not MODES[file.storage.mode].keeps_data_in_s3 and file.fencing == "stop":
        why = "fencing protects a root in S3, which another cluster could claim, but the mode is hdfs"
        yield Refusal(at=("fencing",), why=why, fix="remove it")


def _root_without_s3(file: EnvironmentFile) -> Iterator[Refusal]:
    if file.storage.root != "new" and not MODES[file.storage.mode].keeps_data_in_s3:
        yield Refusal(
            at=("storage", "root"),
            why="in mode hdfs the data is on the nodes, and this bucket would stay empty",
            fix="remove it, or use mode s3-cached",
        )


def _root_without_use(file: EnvironmentFile) -> Iterator[Refusal]:
    """Only an existing bucket has data, or a key, from before."""
    storage = file.storage
    if storage.root == "new" and storage.gives("key"):
        yield Refusal(
            at=("storage", "key"),
            why="a new bucket has its own key, so this key would encrypt nothing",
            fix="remove it, or name the existing root that it encrypts",
        )
    if storage.root == "new" and storage.gives("owner"):
        yield Refusal(
            at=("storage", "owner"),
            why="a new bucket belongs to the account of the environment",
            fix="remove it, or name the existing root that belongs to this account",
        )


def _key_elsewhere(file: EnvironmentFile) -> Iterator[Refusal]:
    region = (file.storage.key or "").split(":")[REGION_OF_ARN:][:1]
    if region and region != [file.region]:
        yield Refusal(
            at=("storage", "key"),
            why=f"a key of {quoted(region[0])} encrypts nothing for a bucket's objects in {file.region}",
            fix=f"name the key of {file.region}",
        )


def _cache_without_use(file: EnvironmentFile) -> Iterator[Refusal]:
    """Refuse a BucketCache that no table uses, because it could not meet any target hit ratio."""
    workload = file.workload
    tables = workload.tables.values() if isinstance(workload, TablesSection) else [workload]
    if MODES[file.storage.mode].has_bucket_cache and not any(table.cache for table in tables):
        yield Refusal(
            at=("workload", "tables" if isinstance(workload, TablesSection) else "cache"),
            why="no table is cached (cache: false), so nothing would use the cache or meet the target hit ratio",
            fix="remove cache: false from a table, or plan a cluster without a cache (storage: {mode: s3-plain})",
        )


def _figures_overridden(file: EnvironmentFile) -> Iterator[Refusal]:
    """Refuse an override that would contradict a figure of the plan, and a pin that is not a valid number."""
    for classification, properties in file.overrides.items():
        for name, value in properties.items():
            at, current = ("overrides", classification, name), current_key(name)
            pin = PINNED.get((classification, current))
            if pin is not None and current != name:
                why = f"the key is the deprecated name of {current}, from which warmbase takes a figure"
                yield Refusal(at=at, why=why, fix=f"write {current}")
            elif (fix := PLANNED.get((classification, current))) is not None:
                why = "other figures of the plan follow from this value, so the calculator chooses it"
                yield Refusal(at=at, why=why, fix=fix)
            elif pin is not None and (refusal := pin.refusal(value)) is not None:
                yield Refusal(at=at, why=refusal, fix="write such a number; the plan then uses it")


def _kdc_servers(file: EnvironmentFile) -> Iterator[Refusal]:
    """Refuse an external KDC without its admin server or without a route to it."""
    kerberos = file.security.kerberos
    if kerberos is None:
        return
    if kerberos.kdc == CLUSTER_KDC:
        if kerberos.gives("admin_server"):
            why = "the KDC of a cluster has its own admin server, on the primary node"
            yield Refusal(at=(*KERBEROS, "admin_server"), why=why, fix="remove it")
        return
    if not kerberos.gives("admin_server"):
        why = "EMR creates the principals of its daemons on the admin server of an external KDC"
        yield Refusal(at=KERBEROS, why=why, fix="add admin_server, for example `admin_server: kdc.example.com:749`")
    if file.network.vpc == "new":
        yield Refusal(
            at=(*KERBEROS, "kdc"),
            why="the VPC is new, so no route leads from it to a KDC when the nodes start",
            fix="name a VPC from which the KDC is reachable, or use `kdc: cluster`",
        )


def _reads_of_tables(file: EnvironmentFile, name: str, cluster: ClusterSection) -> Iterator[Refusal]:
    """A cluster cannot replace the reads of a workload that states them for each table."""
    if isinstance(file.workload, TablesSection) and cluster.workload.gives("reads"):
        yield Refusal(
            at=("clusters", name, "workload", "reads"),
            why="the workload states its reads for each table, and those of a cluster do not name a table",
            fix="remove them, or plan this cluster with an environment file of its own",
        )


def _replica_without_s3(file: EnvironmentFile, name: str, cluster: ClusterSection) -> Iterator[Refusal]:
    if cluster.role == "replica" and not MODES[file.storage.mode].keeps_data_in_s3:
        yield Refusal(
            at=("clusters", name, "role"),
            why="a replica reads the same root in S3, but the mode is hdfs",
            fix="leave this cluster out, or keep the data in S3",
        )


def _surviving_nodes(file: EnvironmentFile, name: str, cluster: ClusterSection) -> Iterator[Refusal]:
    """Targets must hold with some nodes lost, so at least one node must remain."""
    at, count, targets = ("clusters", name, "core", "count"), cluster.core.count, cluster.targets or file.targets
    if count is not None and count <= targets.lost_nodes:
        target = (*at[:2], "targets", "lost_nodes") if cluster.targets else ("targets", "lost_nodes")
        yield Refusal(
            at=target if targets.gives("lost_nodes") else at,
            why=f"{targets.lost_nodes} lost of {count} core nodes ({'.'.join(at)}) leave none to serve",
            fix=f"set lost_nodes to {count - 1} or less, or the count to {targets.lost_nodes + 1} or more",
        )


def _servers_without_regions(file: EnvironmentFile, name: str, cluster: ClusterSection) -> Iterator[Refusal]:
    """A region is served by one RegionServer."""
    count, regions = cluster.core.count, file.workload.regions if isinstance(file.workload, WorkloadSection) else None
    if regions is not None and count is not None and count > regions:
        yield Refusal(
            at=("clusters", name, "core", "count"),
            why=f"{count:,} RegionServers share {regions:,} regions: one without a region serves nothing",
            fix=f"use {regions} or less, or split the regions",
        )


def _three_primaries(file: EnvironmentFile, name: str, cluster: ClusterSection) -> Iterator[Refusal]:
    """Refuse a KDC on a cluster with several primary nodes, because only one node could run it."""
    if file.security.kerberos and file.security.kerberos.kdc == CLUSTER_KDC and cluster.primaries != 1:
        yield Refusal(
            at=(*KERBEROS, "kdc"),
            why=f"clusters.{name} has several primary nodes, and EMR supports a KDC on the cluster only with one",
            fix=f"{EXTERNAL}; or set clusters.{name}.primaries to 1",
        )


def _trino_unknown(file: EnvironmentFile, name: str, _: TrinoSection) -> Iterator[Refusal]:
    """Refuse an analytics cluster where nobody knows the version of Trino."""
    release, known = releases()[file.release], [release.label for release in releases().values() if release.trino]
    if not release.trino:
        yield Refusal(
            at=("clusters", name, "engine"),
            why=f"warmbase does not know which version of Trino {release.label} has",
            fix=f"use one of {', '.join(known)}, or add its version to facts/releases.csv from the Release Guide",
        )


def _trino_with_kerberos(file: EnvironmentFile, name: str, _: TrinoSection) -> Iterator[Refusal]:
    if file.security.gives("kerberos"):
        yield Refusal(
            at=("clusters", name, "engine"),
            why="warmbase does not set up Kerberos for Trino",
            fix="leave security.kerberos out, or plan this cluster with an environment file of its own",
        )


def _data_is_not_the_root(file: EnvironmentFile, name: str, cluster: TrinoSection) -> Iterator[Refusal]:
    """Refuse to let Trino read the HBase root, its bucket, or the logs."""
    root, own = file.storage.root, f"s3://warmbase-{file.name}-"
    near = f"{root.rstrip('/')}/"
    for number, url in enumerate(cluster.data):
        overlaps = root != "new" and (url.startswith(near) or near.startswith(url))
        if overlaps or url.startswith((f"{own}root-", f"{own}logs-")):
            yield Refusal(
                at=("clusters", name, "data", number),
                why="it is, contains or lies in the HBase root or the logs, which Trino must not read",
                fix="keep exports below a prefix of their own, such as s3://our-lake/tables/",
            )


def _type_not_offered(file: EnvironmentFile, at: tuple[str, ...], nodes: PrimarySection | Core) -> Iterator[Refusal]:
    release, instance = releases()[file.release], instance_types().get(nodes.type or "")
    if instance and not instance.offered_by(release.emr):
        yield Refusal(
            at=(*at, "type"),
            why=f"{release.label} does not list {instance.name} among its instance types" + _only_ec2(instance.family),
            fix="choose a type that it lists, or auto" + _how_to_list(instance.family, release),
        )


def _families_not_offered(
    file: EnvironmentFile, at: tuple[str, ...], nodes: PrimarySection | Core
) -> Iterator[Refusal]:
    """Refuse a family without a type that the release lists, because the calculator chooses only listed types."""
    if isinstance(nodes, PrimarySection) or nodes.type is not None:
        return
    release = releases()[file.release]
    listed = _listed_families(release)
    absent = [family for family in nodes.families if family not in listed]
    unheard = [family for family in absent if _only_ec2(family)]
    if unheard or absent == nodes.families:
        names = unheard or absent
        yield Refusal(
            at=(*at, "families"),
            why=f"{release.label} lists no type of {', '.join(names)}" + _only_ec2(names[0]),
            fix=f"name one that it lists: {', '.join(sorted(listed))}" + _how_to_list(names[0], release),
        )


@cache
def _listed_families(release: Release) -> frozenset[str]:
    return frozenset(instance.family for instance in instance_types().values() if instance.offered_by(release.emr))


def _only_ec2(family: str) -> str:
    """Return a remark that no EMR release is known to list the family; empty where one does."""
    listed = any(instance.emr_since for instance in instance_types().values() if instance.family == family)
    return "" if listed else ": EC2 has it, but EMR is not known to support it"


def _how_to_list(family: str, release: Release) -> str:
    """Return how to find out whether EMR supports the family by now, and what to do then."""
    if not _only_ec2(family):
        return ""
    command = f"aws emr list-supported-instance-types --release-label {release.label}"
    return f"; if `{command}` lists it, write the release into emr_min_7x of warmbase/facts/instance-types.csv"


OF_HBASE: Final[tuple[Rule, ...]] = (
    _reads_of_tables,
    _replica_without_s3,
    _surviving_nodes,
    _servers_without_regions,
    _three_primaries,
)
OF_TRINO: Final[tuple[Rule, ...]] = (_trino_unknown, _trino_with_kerberos, _data_is_not_the_root)
OF_NODES: Final[tuple[Rule, ...]] = (_type_not_offered, _families_not_offered)


def _of_clusters(file: EnvironmentFile) -> Iterator[Refusal]:
    """Yield what the rules of one cluster refuse, for each cluster."""
    for name, cluster in file.clusters.items():
        yield from answers(OF_TRINO if isinstance(cluster, TrinoSection) else OF_HBASE, file, name, cluster)
        for group, nodes in vars(cluster).items():
            if isinstance(nodes, (PrimarySection, Core)):
                yield from answers(OF_NODES, file, ("clusters", name, group), nodes)


ACROSS: Final[tuple[Rule, ...]] = (
    _cluster_names,
    _cache_without_use,
    _zone_elsewhere,
    _network_in_part,
    _one_writer,
    _log_without_s3,
    _fencing_without_s3,
    _root_without_s3,
    _root_without_use,
    _key_elsewhere,
    _of_clusters,
    _figures_overridden,
    _kdc_servers,
)
