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

# judgement: the page shows the servers with the lowest locality, because a cluster may have hundreds.
SERVERS_ON_PAGE: Final = 12


def locality_page(
    cluster: DescribedCluster, proposal: LocalityProposal, heal: LocalityHeal, launch: Launch
) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns, as far as the names of servers allow."""
    yield f"{launch.plan.cluster}: {cluster.id}, {cluster.state}"
    total = proposal.locality.total
    yield from page_entry(
        "current",
        f"{len(proposal.locality.servers)} RegionServers; {_local(total)} in the store files of their regions is on"
        " their own hosts",
    )
    if not total.moves:
        yield from page_entry("proposed", "nothing to gain: no replica can be moved to the host of its RegionServer")
    else:
        yield from _moves(proposal, heal)
    if away_bytes := total.bytes - total.local_bytes - total.moved_bytes:
        yield from page_entry(
            "remote",
            f"{format_size(away_bytes)} cannot be made local: every replica is on a host where another region needs"
            " it, or the DataNode would be more than 90 % full",
        )


def _moves(proposal: LocalityProposal, heal: LocalityHeal) -> Iterator[str]:
    servers = sorted(proposal.locality.servers.items(), key=lambda entry: (entry[1].local_fraction, entry[0]))
    lacking = [(name, server) for name, server in servers if server.moves]
    for number, (name, server) in enumerate(lacking[:SERVERS_ON_PAGE]):
        moved = f"{server.moves:,} replicas ({format_size(server.moved_bytes)})"
        yield from page_entry("" if number else "servers", f"{name}: {_local(server)} is local; {moved} move to it")
    if lacking[SERVERS_ON_PAGE:]:
        yield from page_entry("", f"and {len(lacking) - SERVERS_ON_PAGE} more")
    stages = list(heal.stages(proposal))
    for number, stage in enumerate(stages):
        yield from page_entry("" if number else "proposed", stage.title)
    total, rate = proposal.locality.total, proposal.bandwidth_bytes_per_second
    yield from page_entry(
        "network",
        f"{format_size(total.moved_bytes)} between DataNodes, each with {format_rate(rate)} for what it sends and"
        " receives; the number of replicas does not change",
    )
    seconds = proposal.seconds + len(stages) * STEP_SECONDS
    yield from page_entry(
        "time", f"{format_duration(seconds)}, {format_duration(proposal.seconds)} of it for moves (estimate)"
    )
    yield from page_entry(
        "offline", "nothing: regions stay open, and their RegionServers read from the new locations within 30 s"
    )
    yield from page_entry("dollars", "nothing")


def _local(locality: ServerLocality) -> str:
    return f"{format_percent(locality.local_fraction)} of {format_size(locality.bytes)}"
