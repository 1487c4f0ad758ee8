"""The proposal of a major compaction in waves: what is compacted, how long that takes, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from cli.page_entry import page_entry
from configurations.launch import Launch
from operations.compaction_waves import CompactionWaves, StoredRegion, next_wave, wave_sizes
from operations.description import DescribedCluster
from sizing.units import format_duration, format_percent, format_rate, format_size

# judgement: two whole minutes after a wave, and one until CloudWatch shows the figures.
GATE_SECONDS: Final = 180


def compact_page(
    cluster: DescribedCluster, due: Mapping[str, StoredRegion], waves: CompactionWaves, launch: Launch
) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns."""
    yield f"{launch.plan.cluster}: {cluster.id}, {cluster.state}"
    tables = sorted({region.table for region in due.values()})
    size = format_size(sum(region.stored_bytes for region in due.values()))
    if not due:
        yield from page_entry("current", "every region was compacted lately; there is nothing to do")
        return
    yield from page_entry(
        "current", f"{len(due)} regions, {size} in all, were not compacted lately: {', '.join(tables)}"
    )
    sizes, at_once = wave_sizes(due), len(next_wave(due))
    plural = f"{len(sizes)} waves" if len(sizes) > 1 else "1 wave"
    yield from page_entry("proposed", f"{plural} of at most {at_once} regions: one of each RegionServer at a time")
    yield from page_entry("time", _time(sizes, launch))
    yield from page_entry(
        "cache",
        "the blocks of a region's new files are cached again, and then its old blocks are dropped; the plan leaves"
        " room for one region of each server",
    )
    yield from page_entry(
        "floor",
        f"after each wave, every RegionServer must answer {format_percent(waves.floor)} of its reads from its cache"
        " again",
    )
    yield from page_entry("s3", f"{size} are read, from the caches as far as they hold them, and written")


def _time(sizes: list[int], launch: Launch) -> str:
    """Return how long the waves take at the least rate to which HBase limits compactions."""
    limit, plain = launch.plan.writes.settings.compaction_lower_bytes, launch.environment.workload.compression_ratio
    seconds = [size * plain / limit + GATE_SECONDS for size in sizes]
    return (
        f"{format_duration(sum(seconds))}, at the {format_rate(limit)} to which HBase limits the compactions of a"
        f" RegionServer, with {format_duration(GATE_SECONDS)} for each wave until its hit ratios are published"
        " (estimate)"
    )
