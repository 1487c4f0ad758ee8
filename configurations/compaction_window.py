"""When large files are compacted: at night where the region is, for what a compaction replaces drops out of the cache.

HBase's off-peak hours alone let nothing wait: they raise the ratio by which files are chosen, and lift the limit on
throughput. So what a minor compaction takes in by day is limited, and the throughput at night. Of those that are larger
one at a time runs on a RegionServer, for HBase has one off-peak compaction at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from configurations.properties.values import LONG
from facts.regions import utc_offset_hours
from sizing.units import GIB, MIB

__all__ = ["CompactionWindow", "compaction_window"]

# judgement: four hours in which most services are asked least; a service whose users are elsewhere overrides them.
NIGHT_BEGINS: Final = 1
NIGHT_ENDS: Final = 5
HOURS: Final = 24
# judgement: flushes of 128 MiB, and what a few rounds make of them; a larger file waits for the night.
MOST_BYTES_BY_DAY: Final = 2 * GIB
LOWER_BOUND_BYTES: Final = 50 * MIB  # hbase.hstore.compaction.throughput.lower.bound: what a quiet day allows


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionWindow:
    """Hours of the day, as nodes count them: in UTC, and it may pass midnight. What is compacted in and out of them."""

    start_hour: int
    end_hour: int
    most_bytes_by_day: int = MOST_BYTES_BY_DAY
    most_bytes_at_night: int = LONG
    bytes_per_second_at_night: int = LOWER_BOUND_BYTES


def compaction_window(region: str) -> CompactionWindow:
    """One to five at night by the winter clock of the region; half hours are cut off."""
    offset = int(utc_offset_hours(region))
    return CompactionWindow(start_hour=(NIGHT_BEGINS - offset) % HOURS, end_hour=(NIGHT_ENDS - offset) % HOURS)
