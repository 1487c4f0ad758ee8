"""The assumptions of a plan: the values that matter to it and that nobody stated.

A value is assumed where the environment file has no such key, or where a comment on the key begins with `assumed:`, as
`warmbase new` writes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from warmbase.environments.environment import Environment
from warmbase.ground.units import exact_size, format_duration, format_percent, format_rate
from warmbase.sizing.requirements import ClusterChoice, Targets
from warmbase.sizing.workload.popularity import UNIFORM, Zipf
from warmbase.sizing.workload.workload import OpenLoad, Workload


class Unstated(Struct, frozen=True, kw_only=True):
    """A value that nobody stated: the key that states it, the value in words, and what it decides."""

    key: str
    value: str
    effect: str


def unstated(environment: Environment, cluster: ClusterChoice) -> tuple[Unstated, ...]:
    """Return the values that the plan of a cluster assumes, those with the greatest effect on the plan first."""
    section = f"clusters.{cluster.name}."
    workload, targets = environment.workload, cluster.targets or environment.targets
    load = (cluster.reads or workload.reads).load
    reads = f"{section}reads." if cluster.reads is not None else "workload.reads."
    if workload.tables:
        reads = "workload.tables.NAME.reads."
    assumed = (
        *(_of_tables(environment) if workload.tables else _of_workload(workload, "workload.")),
        *(_peak(reads) if isinstance(load, OpenLoad) and load.peak_reads_per_second is None else ()),
        *_of_targets(targets, f"{section}targets." if cluster.targets is not None else "targets."),
        *_of_cluster(cluster, section),
        Unstated(
            key="discount",
            value=f"a discount of {format_percent(environment.discount)} on EC2"
            if environment.discount
            else "no discount",
            effect="A savings plan takes a fraction off the price of each instance.",
        ),
        Unstated(
            key="network.availability_zone",
            value=f"zone {environment.network.availability_zone}",
            effect="Instance types and their capacity differ between zones.",
        ),
    )
    return tuple(value for value in assumed if not environment.states(value.key))


def _of_tables(environment: Environment) -> Iterator[Unstated]:
    """Yield each value that is not stated for all tables, with the names of the tables that lack it, unless all do."""
    tables = defaultdict[tuple[str, str, str], list[str]](list)
    for table in environment.workload.tables:
        section = f"workload.tables.{table.name}."
        for one in _of_workload(table, section):
            if not environment.states(one.key):
                tables[one.key.removeprefix(section), one.value, one.effect].append(table.name)
    for (key, value, effect), names in tables.items():
        named = "" if len(names) == len(environment.workload.tables) else f" in {', '.join(names)}"
        yield Unstated(key=f"workload.tables.NAME.{key}", value=f"{value}{named}", effect=effect)


def _of_workload(workload: Workload, section: str) -> Iterator[Unstated]:
    popularity = "a skewed popularity"
    if workload.popularity == UNIFORM:
        popularity = "all rows equally popular"
    elif isinstance(workload.popularity, Zipf):
        popularity = f"popularity zipf {workload.popularity.theta:g}"
    yield Unstated(
        key=f"{section}popularity",
        value=popularity,
        effect="The more reads go to few rows, the smaller a cache answers most of them. It decides the cache's size.",
    )
    written = workload.write_bytes_per_second
    yield Unstated(
        key=f"{section}writes.bytes_per_second",
        value=f"{format_rate(written)} of writes" if written else "no writes",
        effect="Writes take heap, disk and network from the reads, and compactions replace cached blocks.",
    )
    if workload.inspection is not None:
        return
    yield Unstated(
        key=f"{section}cell",
        value=f"cells of {exact_size(workload.cell_bytes)}",
        effect="The size of a cell decides how many blocks a row has, and how much of them is keys.",
    )
    codec = workload.codec
    yield Unstated(
        key=f"{section}compression.codec",
        value="no compression" if codec == "none" else f"{codec} {workload.compression_ratio:g}:1",
        effect="Compressed blocks take less space in S3 and in the cache.",
    )
    yield Unstated(
        key=f"{section}block_size",
        value=f"blocks of {exact_size(workload.block_bytes)}",
        effect="A read takes whole blocks from disk or S3. It decides disk operations and index sizes.",
    )
    yield Unstated(
        key=f"{section}regions",
        value=f"{workload.regions:,} regions",
        effect="The number of regions decides their size, the time of a compaction and how evenly servers are loaded.",
    )


def _peak(reads: str) -> Iterator[Unstated]:
    yield Unstated(
        key=f"{reads}peak_per_second",
        value="no hour busier than the mean",
        effect="The cluster is sized for the busiest hour.",
    )


def _of_targets(targets: Targets, section: str) -> Iterator[Unstated]:
    p99 = targets.p99_seconds
    yield Unstated(
        key=f"{section}p99",
        value="no limit on p99" if p99 is None else f"a p99 of {format_duration(p99)}",
        effect="A limit on the p99 buys more nodes, faster volumes or a larger cache where it binds.",
    )
    yield Unstated(
        key=f"{section}hit_ratio",
        value=f"a hit ratio of {format_percent(targets.hit_ratio)}",
        effect="The cache is at least so large that this share of block reads comes from local disks.",
    )
    nodes = "1 lost node" if targets.lost_nodes == 1 else f"{targets.lost_nodes} lost nodes"
    yield Unstated(
        key=f"{section}lost_nodes",
        value=nodes,
        effect="The targets are met even after so many nodes are lost.",
    )


def _of_cluster(cluster: ClusterChoice, section: str) -> Iterator[Unstated]:
    primaries = "1 primary node" if cluster.primaries == 1 else f"{cluster.primaries} primary nodes"
    yield Unstated(
        key=f"{section}primaries",
        value=primaries,
        effect="With one primary node, its loss ends the cluster; with three, EMR replaces it.",
    )
