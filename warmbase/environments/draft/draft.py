"""A draft of an environment file: what a person states, and what warmbase assumes because nobody stated it.

Each assumption has its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field

from warmbase.environments.reader.cluster_schema import GRAVITON_MEMORY_FAMILIES
from warmbase.environments.reader.schema_keys import ANY_NAME, SchemaKey
from warmbase.environments.reader.workload_schema import CELL, REGIONS
from warmbase.facts.releases import newest_release
from warmbase.ground.units import exact_size, format_size, parse_size
from warmbase.sizing.modes import MODES, S3_CACHED
from warmbase.sizing.workload.workload import DEFAULT_SPLIT_BYTES, usual_regions

CLUSTER: Final = "blue"
"""The name of the one cluster of a draft."""
REQUIRED: Final = ("workload.stored", "workload.reads.per_second", "workload.row", "region")
"""Keys for which no assumption would be near the truth."""


class Answer(Struct, frozen=True, kw_only=True):
    """The value of one key, as YAML holds it. `assumed` is the reason for it; empty where a person stated the value."""

    value: object
    assumed: str = ""


class Draft(Struct, frozen=True, kw_only=True):
    """The values that a person states, by path, such as `workload.stored`.

    `remarks` are comments on keys, also by path: where a value comes from, or why the value of a file is not used.
    """

    name: str
    values: Mapping[str, object]
    remarks: Mapping[str, str] = field(default_factory=dict)

    def answer(self, key: SchemaKey) -> Answer | None:
        """Return the stated value of a key, else an assumption, else its default; None for a key without a value."""
        path = key.path.replace(ANY_NAME, CLUSTER)
        if path == "name":
            return Answer(value=self.name)
        if path in self.values:
            return Answer(value=self.values[path])
        if self._is_refused(path):
            return None
        if (assumption := ASSUMPTIONS.get(path)) is not None:
            return Answer(value=assumption.value(self.values), assumed=assumption.why)
        return None if key.default is None else Answer(value=key.default, assumed=key.key.assumed or "the default.")

    def example(self, key: SchemaKey) -> object:
        """Return an example of a key; that of a busiest hour is twice the stated mean, because less is refused."""
        mean = self.values.get("workload.reads.per_second")
        if key.path == "workload.reads.peak_per_second" and isinstance(mean, int | float):
            return 2 * mean
        return key.example

    def _is_refused(self, path: str) -> bool:
        """Return whether a key has no meaning beside the stated values, so that a file may not or need not have it."""
        if path == "network.endpoint_policies":
            return self.values.get("network.vpc", "new") != "new"
        if path in {"storage.root", "storage.wal", "fencing"}:
            mode = MODES.get(str(self.values.get("storage.mode")), S3_CACHED)
            return not mode.keeps_data_in_s3
        return path == "workload.reads.per_second" and "workload.reads.concurrency" in self.values


KeyValues = Mapping[str, object]
"""Values by path, as a person states them: any of them may be invalid."""

LEAST_SERVERS: Final = 2
"""The calculator chooses no fewer core nodes, because HDFS keeps the write-ahead log twice."""
# judgement: between evenly read rows, which need the largest cache, and YCSB's 0.99, with which a plan buys too small a
# cache if the reads are less skewed. Web requests at proxies had 0.64 to 0.83 (Breslau et al., INFOCOM 1999).
MIDDLE_ZIPF: Final = 0.8
AUTO: Final = "auto"


class Assumption(Struct, frozen=True, kw_only=True):
    """A value for a key that nobody states, computed from stated ones, with its reason as a whole sentence."""

    value: Callable[[KeyValues], object]
    why: str


def _constant(value: object, why: str) -> Assumption:
    return Assumption(value=lambda _: value, why=why)


def _bytes(values: KeyValues, path: str) -> int | None:
    """Return a stated size, None where it is not stated or not a size."""
    try:
        return parse_size(str(values.get(path)))
    except (ValueError, OverflowError):
        return None


def _cell(values: KeyValues) -> str:
    """Return the size of the row, or the largest size that a cell may have."""
    row_bytes = _bytes(values, "workload.row") or 1
    return exact_size(min(row_bytes, int(CELL.most)))


def _regions(values: KeyValues) -> int:
    count = values.get("clusters.blue.core.count")
    servers = count if isinstance(count, int) else LEAST_SERVERS
    usual = usual_regions(_bytes(values, "workload.stored") or 1, max(servers, LEAST_SERVERS))
    return min(usual, int(REGIONS.most))


ASSUMPTIONS: Final[Mapping[str, Assumption]] = {
    "release": Assumption(
        value=lambda _: newest_release().label,
        why="the newest release that warmbase has facts about. `aws emr describe-cluster` prints the release"
        " of a running cluster.",
    ),
    "network.availability_zone": Assumption(
        value=lambda values: f"{values.get('region', '')}a",
        why="the Region's first zone. Confirm it: `aws ec2 describe-availability-zones` lists the zones of your"
        " account, and `aws ec2 describe-subnets` prints the zone of each subnet.",
    ),
    "workload.cell": Assumption(value=_cell, why="a row is one cell."),
    "workload.popularity": _constant(
        {"zipf": MIDDLE_ZIPF},
        "a mild skew, like that of web requests (0.64 to 0.83, Breslau et al. 1999). It lies between `uniform`,"
        " which needs the largest cache, and YCSB's {zipf: 0.99}.",
    ),
    "workload.regions": Assumption(
        value=_regions,
        why=f"one region for each {format_size(DEFAULT_SPLIT_BYTES)}, at which HBase splits a region by default, and"
        " at least five for each core node.",
    ),
    "clusters.blue.primary.type": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.type": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.count": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.families": _constant(
        list(GRAVITON_MEMORY_FAMILIES), "the default, Graviton families with much memory for each vCPU."
    ),
    "clusters.blue.core.volumes": _constant(AUTO, "warmbase chooses."),
}
"""Each key whose assumption is not its default."""
