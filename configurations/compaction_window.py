"""When large compactions may run: at night where the region is, for each drops cached blocks and fills them anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from facts.regions import utc_offset_hours

__all__ = ["CompactionWindow", "compaction_window"]

# judgement: four hours in which most services are asked least; a service whose users are elsewhere overrides them.
NIGHT_BEGINS: Final = 1
NIGHT_ENDS: Final = 5
HOURS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionWindow:
    """Hours of the day, as nodes count them: in UTC. It may pass midnight."""

    start_hour: int
    end_hour: int


def compaction_window(region: str) -> CompactionWindow:
    """One to five at night by the winter clock of the region; half hours are cut off."""
    offset = int(utc_offset_hours(region))
    return CompactionWindow(start_hour=(NIGHT_BEGINS - offset) % HOURS, end_hour=(NIGHT_ENDS - offset) % HOURS)
