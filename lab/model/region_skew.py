"""Reads skewed over regions, on several RegionServers: each server's share, and the load that the volumes allow."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from lab.model.prediction import LOOPBACK_GBIT_PER_SECOND, LabNode
from sizing.queueing import LoadResult, QueueingNetwork, Station, closed_load, network
from sizing.read import Hits, Read, Timings
from sizing.resource import DISK_RESOURCES, ServingCluster, delay_seconds, resources


def region_shares(regions: int, skew: float) -> tuple[float, ...]:
    """Return each region's share of the reads, the largest first, by Zipf's law with this exponent."""
    weights = [(region + 1) ** -skew for region in range(regions)]
    return tuple(weight / sum(weights) for weight in weights)


def server_shares(shares: Sequence[float], servers: Sequence[int]) -> tuple[float, ...]:
    """Return each server's share of the reads; `servers` has the number of each region's server."""
    regions = list(zip(shares, servers, strict=True))
    return tuple(sum(share for share, home in regions if home == server) for server in sorted(set(servers)))


def skewed_load(node: LabNode, read: Read, shares: Sequence[float], timings: Timings) -> LoadResult:
    """Return the throughput of clients whose reads all hit, with a volume for each server and one machine's cores.

    Each server's volume is a station that is visited as often as the server is read.
    """
    hits = Hits(ratio=1.0)
    one = ServingCluster(
        servers=1,
        vcpus=node.vcpus,
        network_gbit_per_second=LOOPBACK_GBIT_PER_SECOND,
        handlers=node.handlers,
        disk=node.disk,
    )
    delay = delay_seconds(one, read, hits, timings)
    stations = network(resources(one, read, hits, timings), 1, node.vcpus, delay).stations
    disks = {name for names in DISK_RESOURCES.values() for name in names}
    apart = [station for station in stations if station.name not in disks]
    for disk in (station for station in stations if station.name in disks):
        apart += [_visited(disk, number, share) for number, share in enumerate(shares)]
    return closed_load(QueueingNetwork(stations=tuple(apart), delay_seconds=delay), node.clients)


def _visited(disk: Station, number: int, share: float) -> Station:
    return replace(disk, name=f"{disk.name} of server {number}", demand_seconds=share * disk.demand_seconds)
