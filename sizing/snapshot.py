"""How long a snapshot takes to leave a cluster, and to come to one.

`ExportSnapshot` copies store files with as many mappers as it is given; each is one stream. A copy into HDFS
sends every byte again for each further replica, and that network is what a restore of a large table is bound
by.
"""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sizing.candidate import Candidate

Limit = Literal["network", "disk", "streams"]

# judgement: 40-90 MB/s for one stream to or from S3; the low end.
STREAM_BYTES_PER_SECOND: Final = 40e6
# judgement: mappers share the node with RegionServers that serve; a quarter of the network is left to these.
NETWORK_FRACTION: Final = 0.75


class Copy(Struct, frozen=True, kw_only=True):
    """A copy of `copied_bytes` by `mappers` over `servers` nodes, writing each byte `replicas` times.

    `replicas` is 1 into S3 and the replication of HDFS into HDFS: the first copy is local to its mapper.
    `disk_bytes_per_second` per node is what its HDFS volumes read or write; None where none takes part.
    """

    copied_bytes: int
    servers: int
    mappers: int
    network_bytes_per_second: float
    disk_bytes_per_second: float | None = None
    replicas: int = 1
    stream_bytes_per_second: float = STREAM_BYTES_PER_SECOND
    network_fraction: float = NETWORK_FRACTION


class Eta(Struct, frozen=True, kw_only=True):
    """Estimated time of a copy, its rate over the cluster, and what binds it."""

    seconds: float
    bytes_per_second: float
    limit: Limit


def eta(copy: Copy) -> Eta:
    """Divide bytes by min(network / replicas, disks / replicas, mappers x stream rate).

    A node receives each byte once from where it comes and once for each replica that another node sends it.
    What leaves HDFS by short-circuit reads takes the network once. Source: HBase reference guide,
    ExportSnapshot.
    """
    rates: dict[Limit, float] = {
        "network": copy.servers * copy.network_bytes_per_second * copy.network_fraction / copy.replicas,
        "streams": copy.mappers * copy.stream_bytes_per_second,
    }
    if copy.disk_bytes_per_second is not None:
        rates["disk"] = copy.servers * copy.disk_bytes_per_second / copy.replicas
    limit = min(rates, key=lambda name: rates[name])
    return Eta(seconds=copy.copied_bytes / rates[limit], bytes_per_second=rates[limit], limit=limit)


def export_copy(candidate: Candidate) -> Copy:
    """Return the copy of all data to another bucket, with one mapper per node or as many as the environment states."""
    return Copy(
        copied_bytes=candidate.question.requirements.workload.stored_bytes,
        servers=candidate.count,
        mappers=candidate.question.requirements.snapshot_mappers or candidate.count,
        network_bytes_per_second=candidate.instance.network_sustained_bytes_per_second,
    )


def import_copy(candidate: Candidate) -> Copy:
    """Return the copy of all data into the cluster; HDFS receives every byte as often as it keeps copies."""
    return replace(export_copy(candidate), replicas=candidate.question.mode.data_copies if candidate.disk else 1)
