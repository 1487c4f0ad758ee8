"""The proposal of a heal on HDFS: the locality of each RegionServer, the replicas that would move, and the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.heal_page import STEP_SECONDS
from cli.page_entry import page_entry
from configurations.launch import Launch
from operations.description import DescribedCluster
from operations.locality_heal import LocalityHeal, LocalityProposal, ServerLocality
from sizing.units import format_duration, format_percent, format_rate, format_size

# judgement: a page shows the servers that lack most; a cluster has hundreds.
SERVERS_ON_PAGE: Final = 12


def locality_page(
    cluster: DescribedCluster, proposal: LocalityProposal, heal: LocalityHeal, launch: Launch
) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns, as far as the names of servers allow."""
    yield f"{launch.plan.cluster}: {cluster.id}, {cluster.state}"
    total = proposal.locality.total
    yield from page_entry(
        "current",
        f"{len(proposal.locality.servers)} RegionServers; {_local(total)} of the store files of their regions is on"
        " their own hosts",
    )
    if not total.moves:
        yield from page_entry("proposed", "nothing to be gained: no replica of a block can come closer to its region")
    else:
        yield from _moves(proposal, heal)
    if away_bytes := total.bytes - total.local_bytes - total.moved_bytes:
        yield from page_entry(
            "stays away",
            f"{format_size(away_bytes)}: another region needs every replica on its host, or the DataNode would be more"
            " than 90 % full",
        )


def _moves(proposal: LocalityProposal, heal: LocalityHeal) -> Iterator[str]:
    servers = sorted(proposal.locality.servers.items(), key=lambda entry: (entry[1].local_fraction, entry[0]))
    lacking = [(name, server) for name, server in servers if server.moves]
    for number, (name, server) in enumerate(lacking[:SERVERS_ON_PAGE]):
        text = f"{name}: {_local(server)} is local; {server.moves:,} replicas, {format_size(server.moved_bytes)}, come"
        yield from page_entry("" if number else "servers", text)
    if lacking[SERVERS_ON_PAGE:]:
        yield from page_entry("", f"and {len(lacking) - SERVERS_ON_PAGE} more")
    stages = list(heal.stages(proposal))
    for number, stage in enumerate(stages):
        yield from page_entry("" if number else "proposed", stage.title)
    total, rate = proposal.locality.total, proposal.bandwidth_bytes_per_second
    yield from page_entry(
        "network",
        f"{format_size(total.moved_bytes)} between DataNodes, each with {format_rate(rate)} for what it sends and"
        " receives; the number of replicas stays",
    )
    seconds = proposal.seconds + len(stages) * STEP_SECONDS
    yield from page_entry(
        "time", f"{format_duration(seconds)}, {format_duration(proposal.seconds)} of it for moves (estimate)"
    )
    yield from page_entry("offline", "nothing: regions stay open, and learn the new places of their blocks within 30 s")
    yield from page_entry("dollars", "nothing")


def _local(locality: ServerLocality) -> str:
    return f"{format_percent(locality.local_fraction)} of {format_size(locality.bytes)}"
