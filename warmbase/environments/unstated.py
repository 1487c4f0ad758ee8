"""The assumptions of a plan: the values that matter to it and that nobody stated.

A value is assumed where the environment file has no such key, or where a comment on the key begins with `assumed:`, as
`warmbase new` writes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct

from warmbase.environments.environment import Environment
from warmbase.environments.reader.cluster_schema import ClusterSection
from warmbase.environments.reader.key import Key
from warmbase.environments.reader.schema import EnvironmentFile, NetworkSection
from warmbase.environments.reader.section import Section
from warmbase.environments.reader.workload_schema import (
    Compression,
    ReadsSection,
    TargetsSection,
    WorkloadSection,
    Writes,
)
from warmbase.ground.units import exact_size, format_duration, format_percent, format_rate
from warmbase.sizing.requirements import ClusterChoice
from warmbase.sizing.workload.popularity import UNIFORM, Zipf
from warmbase.sizing.workload.workload import OpenLoad, Workload


class Unstated(Struct, frozen=True, kw_only=True):
    """A value that nobody stated: the key that states it, the value in words, and what it decides."""

    key: str
    value: str
    effect: str


def unstated(environment: Environment, cluster: ClusterChoice) -> tuple[Unstated, ...]:
    """Return the values that the plan of a cluster assumes, those with the greatest effect on the plan first."""
    section = f"clusters.{cluster.name}"
    workload, targets = environment.workload, cluster.targets or environment.targets
    load = (cluster.reads or workload.reads).load
    reads = f"{section}.reads" if cluster.reads is not None else "workload.reads"
    if workload.tables:
        reads = "workload.tables.NAME.reads"
    peak = {}
    if isinstance(load, OpenLoad) and load.peak_reads_per_second is None:
        peak["peak_per_second"] = "no hour busier than the mean"
    discount = f"a discount of {format_percent(environment.discount)} on EC2" if environment.discount else "no discount"
    p99 = targets.p99_seconds
    assumed_targets = {
        "p99": "no limit on p99" if p99 is None else f"a p99 of {format_duration(p99)}",
        "hit_ratio": f"a hit ratio of {format_percent(targets.hit_ratio)}",
        "lost_nodes": f"{targets.lost_nodes} lost node{'' if targets.lost_nodes == 1 else 's'}",
    }
    primaries = f"{cluster.primaries} primary node{'' if cluster.primaries == 1 else 's'}"
    assumed = (
        *(_of_tables(environment) if workload.tables else _of_workload(workload, "workload")),
        *_rows(ReadsSection, reads, peak),
        *_rows(TargetsSection, f"{section}.targets" if cluster.targets is not None else "targets", assumed_targets),
        *_rows(ClusterSection, section, {"primaries": primaries}),
        *_rows(EnvironmentFile, "", {"discount": discount}),
        *_rows(NetworkSection, "network", {"availability_zone": f"zone {environment.network.availability_zone}"}),
    )
    return tuple(value for value in assumed if not environment.states(value.key))


def _rows(section: type[Section], path: str, values: Mapping[str, str]) -> Iterator[Unstated]:
    """Yield the values in words of keys in a section, each with what its key decides."""
    for name, value in values.items():
        effect = Key.of(section.model_fields[name]).decides
        yield Unstated(key=f"{path}.{name}".removeprefix("."), value=value, effect=effect)


def _of_tables(environment: Environment) -> Iterator[Unstated]:
    """Yield each value that is not stated for all tables, with the names of the tables that lack it, unless all do."""
    tables = defaultdict[tuple[str, str, str], list[str]](list)
    for table in environment.workload.tables:
        section = f"workload.tables.{table.name}"
        for one in _of_workload(table, section):
            if not environment.states(one.key):
                tables[one.key.removeprefix(f"{section}."), one.value, one.effect].append(table.name)
    for (key, value, effect), names in tables.items():
        named = "" if len(names) == len(environment.workload.tables) else f" in {', '.join(names)}"
        yield Unstated(key=f"workload.tables.NAME.{key}", value=f"{value}{named}", effect=effect)


def _of_workload(workload: Workload, section: str) -> Iterator[Unstated]:
    popularity = "a skewed popularity"
    if workload.popularity == UNIFORM:
        popularity = "all rows equally popular"
    elif isinstance(workload.popularity, Zipf):
        popularity = f"popularity zipf {workload.popularity.theta:g}"
    yield from _rows(WorkloadSection, section, {"popularity": popularity})
    written = workload.write_bytes_per_second
    text = f"{format_rate(written)} of writes" if written else "no writes"
    yield from _rows(Writes, f"{section}.writes", {"bytes_per_second": text})
    if workload.inspection is not None:
        return
    yield from _rows(WorkloadSection, section, {"cell": f"cells of {exact_size(workload.cell_bytes)}"})
    text = "no compression" if workload.codec == "none" else f"{workload.codec} {workload.compression_ratio:g}:1"
    yield from _rows(Compression, f"{section}.compression", {"codec": text})
    yield from _rows(WorkloadSection, section, {"block_size": f"blocks of {exact_size(workload.block_bytes)}"})
    yield from _rows(WorkloadSection, section, {"regions": f"{workload.regions:,} regions"})
