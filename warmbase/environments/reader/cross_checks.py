"""Checks that need two sections of an environment file, because each section is valid by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from warmbase.environments.override import PINNED, PLANNED
from warmbase.environments.reader import bounds
from warmbase.environments.reader.cluster_schema import GRAVITON_MEMORY_FAMILIES
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import RawSection, Refusal, Rule
from warmbase.facts.ec2 import instance_types
from warmbase.facts.keys import current_key
from warmbase.facts.prices import priced_regions
from warmbase.facts.releases import releases
from warmbase.ground.release import Release
from warmbase.sizing.modes import MODES, S3_CACHED

REGION_OF_ARN: Final = 3
"""Where the region stands among the parts of an ARN."""
VPC: Final = r"vpc-[0-9a-f]{8,17}"
GROUP: Final = r"sg-[0-9a-f]{8,17}"
ZONE: Final = r"[a-z0-9-]{4,30}[0-9][a-z]"

CoreSection = tuple[tuple[str, ...], RawSection]
"""The path of a cluster's `core` section, and the section itself."""


def hbase_clusters(file: RawSection) -> Iterator[tuple[str, RawSection]]:
    """Yield the clusters of HBase by name; a cluster of another engine neither reads nor writes the root."""
    clusters = file.section("clusters").sections()
    return ((name, cluster) for name, cluster in clusters if cluster.text("engine", "hbase") == "hbase")


def _zone_elsewhere(file: RawSection) -> Iterator[Refusal]:
    region, zone = file.text("region"), file.section("network").text("availability_zone")
    if region in priced_regions() and zone and re.fullmatch(ZONE, zone) and zone[:-1] != region:
        yield Refusal(
            at=("network", "availability_zone"),
            why=f"zone {quoted(zone)} is not in region {region}",
            fix=f"use a zone such as {region}a",
        )


def _network_in_part(file: RawSection) -> Iterator[Refusal]:
    """An existing VPC needs its subnet named as well; a new one has nothing to name."""
    network, groups = file.section("network"), file.section("access").values.get("security_groups")
    vpc = network.text("vpc", "new") or ""
    if re.fullmatch(VPC, vpc) and not network.gives("subnet"):
        yield Refusal(
            at=("network", "vpc"),
            why="the VPC exists already, and nodes need one of its private subnets",
            fix="also name a subnet in the availability zone",
        )
    for key in ("subnet", "route_table"):
        if vpc == "new" and network.gives(key):
            yield Refusal(
                at=("network", key),
                why="the VPC is new, so it has no existing resources",
                fix="remove it, or name the VPC that it belongs to",
            )
    if re.fullmatch(VPC, vpc) and network.gives("endpoint_policies"):
        yield Refusal(
            at=("network", "endpoint_policies"),
            why="the VPC exists already, and other programs may use its endpoints, so warmbase sets no policy on them",
            fix="remove it",
        )
    if vpc == "new" and isinstance(groups, list) and any(re.fullmatch(GROUP, str(group)) for group in groups):
        yield Refusal(
            at=("access", "security_groups"),
            why="a security group belongs to a VPC, but the network is new",
            fix="use cidrs, the client security group that warmbase creates, or an existing VPC",
        )


def _one_writer(file: RawSection) -> Iterator[Refusal]:
    """Refuse two active clusters, because both would write to one root and corrupt it."""
    clusters = dict(hbase_clusters(file))
    active = [cluster_name for cluster_name, cluster in clusters.items() if cluster.text("role", "active") == "active"]
    if len(active) > 1:
        yield Refusal(
            at=("clusters",),
            why=f"one cluster writes to the root, and {len(active)} are active ({', '.join(map(quoted, active))})",
            fix="keep one active",
        )
    if file.section("clusters").values and not active:
        yield Refusal(
            at=("clusters",),
            why="no HBase cluster is active, so nothing would write to the root",
            fix="make one of them active",
        )


def _needs_s3(file: RawSection) -> Iterator[Refusal]:
    """In HDFS mode the data is on the nodes: no other cluster reads it, and no other log outlives it."""
    storage = file.section("storage")
    if _keeps_data_in_s3(storage):
        return
    if storage.text("wal", "hdfs") == "emr-wal":
        yield Refusal(at=("storage", "wal"), why="EMR WAL is for data in S3, but the mode is hdfs", fix="use hdfs")
    if file.text("fencing", "alarm") == "stop":
        why = "fencing protects a root in S3, which another cluster could claim, but the mode is hdfs"
        yield Refusal(at=("fencing",), why=why, fix="remove it")
    for cluster_name, cluster in hbase_clusters(file):
        if cluster.text("role", "active") == "replica":
            yield Refusal(
                at=("clusters", cluster_name, "role"),
                why="a replica reads the same root in S3, but the mode is hdfs",
                fix="leave this cluster out, or keep the data in S3",
            )


def _keeps_data_in_s3(storage: RawSection) -> bool:
    """Return whether the mode keeps the data in S3; the schema refuses a mode that does not exist."""
    return MODES.get(storage.text("mode") or "", S3_CACHED).keeps_data_in_s3


def _root_without_use(file: RawSection) -> Iterator[Refusal]:
    """Only an existing bucket has data, or a key, from before."""
    storage = file.section("storage")
    root = storage.text("root", "new")
    if root != "new" and not _keeps_data_in_s3(storage):
        yield Refusal(
            at=("storage", "root"),
            why="in mode hdfs the data is on the nodes, and this bucket would stay empty",
            fix="remove it, or use mode s3-cached",
        )
    if root == "new" and storage.gives("key"):
        yield Refusal(
            at=("storage", "key"),
            why="a new bucket has its own key, so this key would encrypt nothing",
            fix="remove it, or name the existing root that it encrypts",
        )
    if root == "new" and storage.gives("owner"):
        yield Refusal(
            at=("storage", "owner"),
            why="a new bucket belongs to the account of the environment",
            fix="remove it, or name the existing root that belongs to this account",
        )
    key = (storage.text("key") or "").split(":")
    region = file.text("region")
    if len(key) > REGION_OF_ARN and region in priced_regions() and key[REGION_OF_ARN] != region:
        yield Refusal(
            at=("storage", "key"),
            why=f"a key of {quoted(key[REGION_OF_ARN])} encrypts nothing for a bucket's objects in {region}",
            fix=f"name the key of {region}",
        )


def _types_not_offered(file: RawSection) -> Iterator[Refusal]:
    release = _release(file)
    for cluster_name, cluster in file.section("clusters").sections():
        for group in ("primary", "core", "coordinator", "workers"):
            name = cluster.section(group).text("type")
            instance = instance_types().get(name or "")
            if not release or not instance or instance.offered_by(release.emr):
                continue
            yield Refusal(
                at=("clusters", cluster_name, group, "type"),
                why=f"{release.label} does not list {name} among its instance types" + _only_ec2(instance.family),
                fix="choose a type that it lists, or auto" + _how_to_list(instance.family, release),
            )


def _families_not_offered(file: RawSection) -> Iterator[Refusal]:
    """Refuse a family without a type that the release lists, because the calculator chooses only listed types."""
    release = _release(file)
    for at, core in (*_cores(file), *_workers(file)):
        families = core.values.get("families", list(GRAVITON_MEMORY_FAMILIES))
        if not (release and isinstance(families, list) and families and core.text("type", "auto") == "auto"):
            continue
        listed = _listed_families(release)
        known = [family for family in families if isinstance(family, str) and family in FAMILIES]
        absent = [family for family in known if family not in listed]
        unheard = [family for family in absent if _only_ec2(family)]
        if unheard or absent == families:
            names = unheard or absent
            yield Refusal(
                at=(*at, "families"),
                why=f"{release.label} lists no type of {', '.join(names)}" + _only_ec2(names[0]),
                fix=f"name one that it lists: {', '.join(sorted(listed))}" + _how_to_list(names[0], release),
            )


@cache
def _listed_families(release: Release) -> frozenset[str]:
    return frozenset(instance.family for instance in instance_types().values() if instance.offered_by(release.emr))


FAMILIES: Final = frozenset(instance.family for instance in instance_types().values())


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


def _check_surviving_nodes(file: RawSection) -> Iterator[Refusal]:
    """Targets must hold with some nodes lost, so at least one node must remain."""
    for cluster_name, cluster in hbase_clusters(file):
        at, core = ("clusters", cluster_name, "core"), cluster.section("core")
        own = cluster.gives("targets")
        targets = cluster.section("targets") if own else file.section("targets")
        lost, count = targets.whole("lost_nodes", 1), core.whole("count")
        if lost is not None and count is not None and 1 < count <= lost:
            target = ("clusters", cluster_name, "targets", "lost_nodes") if own else ("targets", "lost_nodes")
            yield Refusal(
                at=target if targets.gives("lost_nodes") else (*at, "count"),
                why=f"{lost} lost of {count} core nodes ({'.'.join(at)}.count) leave none to serve",
                fix=f"set lost_nodes to {count - 1} or less, or the count to {lost + 1} or more",
            )


def _servers_without_regions(file: RawSection) -> Iterator[Refusal]:
    """A region is served by one RegionServer."""
    regions = file.section("workload").whole("regions")
    for at, core in _cores(file):
        count = core.whole("count")
        if regions is not None and count is not None and bounds.NODES.most >= count > regions >= 1:
            yield Refusal(
                at=(*at, "count"),
                why=f"{count:,} RegionServers share {regions:,} regions: one without a region serves nothing",
                fix=f"use {regions} or less, or split the regions",
            )


def _figures_overridden(file: RawSection) -> Iterator[Refusal]:
    """Refuse an override that would contradict a figure of the plan, and a pin that is not a valid number."""
    for classification, properties in file.section("overrides").sections():
        for key, value in properties.values.items():
            at, current = ("overrides", classification, key), current_key(key)
            pin = PINNED.get((classification, current))
            if pin is not None and current != key:
                why = f"the key is the deprecated name of {current}, from which warmbase takes a figure"
                yield Refusal(at=at, why=why, fix=f"write {current}")
            elif (fix := PLANNED.get((classification, current))) is not None:
                why = "other figures of the plan follow from this value, so the calculator chooses it"
                yield Refusal(at=at, why=why, fix=fix)
            elif pin is not None and isinstance(value, str) and (refusal := pin.refusal(value)) is not None:
                yield Refusal(at=at, why=refusal, fix="write such a number; the plan then uses it")


def _cores(file: RawSection) -> Iterator[CoreSection]:
    for cluster_name, cluster in hbase_clusters(file):
        yield ("clusters", cluster_name, "core"), cluster.section("core")


def _workers(file: RawSection) -> Iterator[CoreSection]:
    for cluster_name, cluster in _trino_clusters(file):
        yield ("clusters", cluster_name, "workers"), cluster.section("workers")


def _trino_clusters(file: RawSection) -> Iterator[tuple[str, RawSection]]:
    clusters = file.section("clusters").sections()
    return ((name, cluster) for name, cluster in clusters if cluster.text("engine") == "trino")


def _trino_unknown(file: RawSection) -> Iterator[Refusal]:
    """Refuse an analytics cluster where nobody knows the version of Trino, or nobody has tried its authentication."""
    release, known = _release(file), [release.label for release in releases().values() if release.trino]
    for cluster_name, _ in _trino_clusters(file):
        at = ("clusters", cluster_name, "engine")
        if release and not release.trino:
            yield Refusal(
                at=at,
                why=f"warmbase does not know which version of Trino {release.label} has",
                fix=f"use one of {', '.join(known)}, or add its version to facts/releases.csv from the Release Guide",
            )
        if file.section("security").gives("kerberos"):
            yield Refusal(
                at=at,
                why="warmbase does not set up Kerberos for Trino",
                fix="leave security.kerberos out, or plan this cluster with an environment file of its own",
            )


def _data_is_not_the_root(file: RawSection) -> Iterator[Refusal]:
    """Refuse to let Trino read the HBase root, its bucket, or the logs."""
    root, own = file.section("storage").text("root", "new") or "", f"s3://warmbase-{file.text('name')}-"
    for cluster_name, cluster in _trino_clusters(file):
        data = cluster.values.get("data")
        for number, url in enumerate(data if isinstance(data, list) else []):
            near = f"{root.rstrip('/')}/"
            overlaps = root != "new" and (str(url).startswith(near) or near.startswith(str(url)))
            if overlaps or str(url).startswith((f"{own}root-", f"{own}logs-")):
                yield Refusal(
                    at=("clusters", cluster_name, "data", number),
                    why="it is, contains or lies in the HBase root or the logs, which Trino must not read",
                    fix="keep exports below a prefix of their own, such as s3://our-lake/tables/",
                )


def _release(file: RawSection) -> Release | None:
    return releases().get(file.text("release") or "")


def _reads_of_tables(file: RawSection) -> Iterator[Refusal]:
    """A cluster cannot replace the reads of a workload that states them for each table."""
    if not file.section("workload").gives("tables"):
        return
    for cluster_name, cluster in hbase_clusters(file):
        if cluster.section("workload").gives("reads"):
            yield Refusal(
                at=("clusters", cluster_name, "workload", "reads"),
                why="the workload states its reads for each table, and those of a cluster do not name a table",
                fix="remove them, or plan this cluster with an environment file of its own",
            )


def _cache_without_use(file: RawSection) -> Iterator[Refusal]:
    """Refuse a BucketCache that no table uses, because it could not meet any target hit ratio."""
    workload = file.section("workload")
    tables = [section for _, section in workload.section("tables").sections()] or [workload]
    mode = MODES.get(file.section("storage").text("mode") or "", S3_CACHED)
    if mode.has_bucket_cache and all(table.values.get("cache") is False for table in tables):
        yield Refusal(
            at=("workload", "tables" if workload.gives("tables") else "cache"),
            why="no table is cached (cache: false), so nothing would use the cache or meet the target hit ratio",
            fix="remove cache: false from a table, or plan a cluster without a cache (storage: {mode: s3-plain})",
        )


ACROSS: Final[tuple[Rule, ...]] = (
    _reads_of_tables,
    _cache_without_use,
    _zone_elsewhere,
    _network_in_part,
    _one_writer,
    _needs_s3,
    _root_without_use,
    _trino_unknown,
    _data_is_not_the_root,
    _types_not_offered,
    _families_not_offered,
    _check_surviving_nodes,
    _servers_without_regions,
    _figures_overridden,
)
