"""The proposal of a heal: which regions are away from their blocks, the moves that bring them home, and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.page_entry import page_entry
from configurations.launch import Launch
from operations.cache_heal import Heal
from operations.description import DescribedCluster
from operations.heal_proposal import LEAST_GETS, HealProposal, moves_by_target
from sizing.units import format_duration, format_size

# judgement: the shell of a step starts in 20 s, and EMR starts a step within 20 s.
STEP_SECONDS: Final = 40


def heal_page(cluster: DescribedCluster, proposal: HealProposal, heal: Heal, launch: Launch) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns, as far as the names of servers and tables allow."""
    yield f"{launch.plan.cluster}: {cluster.id}, {cluster.state}"
    homes = proposal.state.homes
    yield from page_entry(
        "current",
        f"{len(proposal.state.servers)} RegionServers; {proposal.at_home(homes)} of {len(proposal.regions)} regions are"
        f" where their blocks are cached: {format_size(proposal.home_bytes)} of {format_size(proposal.cached_bytes)}",
    )
    oldest = max((cache.age_seconds for cache in proposal.contents.values()), default=0.0)
    yield from page_entry("indexes", f"the oldest was written {format_duration(oldest)} ago")
    if proposal.interrupted:
        yield from page_entry("continues", "a heal that was interrupted")
    elif not proposal.moves:
        yield from page_entry(
            "proposed",
            f"nothing to gain: no move would save more than {LEAST_GETS} GETs, or make room in a cache",
        )
        return
    titles = [stage.title for stage in heal.stages(proposal)]
    for number, title in enumerate(titles):
        yield from page_entry("" if number else "proposed", title)
    if proposal.moves:
        yield from _moves(proposal)
    yield from _cost(proposal, len(titles))


def _moves(proposal: HealProposal) -> Iterator[str]:
    """Yield how many regions go where, and what that gains."""
    counts = proposal.state.region_counts
    for number, (server, moves) in enumerate(moves_by_target(proposal.moves).items()):
        yield from page_entry(
            "" if number else "moves", f"{moves} to {server}, which has {counts.get(server, 0)} regions now"
        )
    yield from page_entry("bound", f"no move gives a RegionServer more than {proposal.bound} regions")
    healed = format_size(proposal.home_bytes + proposal.gained_bytes)
    yield from page_entry(
        "cache",
        f"afterwards, {healed} of {format_size(proposal.cached_bytes)} are cached where their region is open:"
        f" {format_size(proposal.gained_bytes)} more than now",
    )
    if proposal.freed_bytes:
        yield from page_entry(
            "", f"{format_size(proposal.freed_bytes)} of second copies in other caches make room for other blocks"
        )
    yield from page_entry(
        "s3",
        f"{proposal.gets_saved:,} GETs saved, one for each block that reads would fetch again; the moves cost a few"
        " GETs for each store file",
    )


def _cost(proposal: HealProposal, stages: int) -> Iterator[str]:
    seconds = proposal.move_seconds + stages * STEP_SECONDS
    most = "moves and pauses" if proposal.move_seconds > seconds / 2 else "EMR steps to start"
    yield from page_entry("time", f"{format_duration(seconds)}, most of it for {most} (estimate)")
    yield from page_entry(
        "offline",
        "each region for a few seconds while it moves, and again while its table is reopened; clients retry",
    )
    yield from page_entry("dollars", "nothing")
