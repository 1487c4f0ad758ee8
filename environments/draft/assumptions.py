"""The values that a draft assumes for keys that nobody states, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from environments.reader.bounds import CELL, REGIONS
from environments.reader.cluster_schema import GRAVITON_MEMORY_FAMILIES
from facts.releases import newest_release
from sizing.region_size import DEFAULT_SPLIT_BYTES, usual_regions
from sizing.units import exact_size, format_size, parse_size

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
    "workload.reads.kind": _constant("get", "each request reads one row."),
    "workload.reads.rows": _constant(1, "each request reads one row."),
    "workload.writes.bytes_per_second": _constant("0 B", "nothing is written while the cluster serves."),
    "workload.compression.codec": _constant("none", "HBase's default."),
    "workload.compression.ratio": _constant(1.0, "without a codec nothing is compressed."),
    "workload.block_size": _constant("64 KiB", "HBase's default."),
    "workload.encoding": _constant("NONE", "HBase's default."),
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
    "workload.spread": _constant("hashed", "popular rows lie anywhere in the key space."),
    "clusters.blue.primary.type": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.type": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.count": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.families": _constant(
        list(GRAVITON_MEMORY_FAMILIES), "the default, Graviton families with much memory for each vCPU."
    ),
    "clusters.blue.core.volumes": _constant(AUTO, "warmbase chooses."),
}
"""Each key with an assumption of its own. The other keys have the default of the schema."""
