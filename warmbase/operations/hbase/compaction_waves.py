"""A major compaction in waves: one region of each RegionServer at a time, while the caches keep answering the reads.

A major compaction writes all cells of a region into new store files. The cache holds none of their blocks at first, and
all regions of a table compacted at once push out what the cache held. In a wave, each server compacts one region, for
which the plan leaves room in its cache. The next wave begins when every server answers as many of its reads from its
cache as the floor asks for. Nothing is kept between runs: a region that was compacted is left out of the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, Protocol

from msgspec import Struct

from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.ground.units import format_percent, format_size
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.hbase_control import (
    Patience,
    ReadsControl,
    StateControl,
    StoredRegion,
    hit_ratios,
    quiet_state,
)
from warmbase.operations.cluster.journals import Journals

CONTINUE: Final = "run the same command again: it continues with the regions that have not been compacted"


class CompactionControl(StateControl, ReadsControl, Protocol):
    """Reads and compacts the regions of a running HBase. Each method raises OperationFailed where it does not do it."""

    def stored_regions(self, say: Say) -> Mapping[str, StoredRegion]:
        """Return every open region of a user table, by its encoded name."""

    def compact(self, regions: Sequence[str], say: Say) -> None:
        """Compact each of these regions into one store file for each family, and return when all are compacted."""


class CompactionWaves(Struct, frozen=True, kw_only=True):
    """The major compaction of every region that was not compacted after `before`, in seconds since 1970.

    `tables` are the tables to compact; empty for all. `floor` is the least hit ratio of a server.
    """

    hbase: CompactionControl
    tables: AbstractSet[str]
    before: float
    floor: float
    patience: Patience = Patience()

    def due(self, say: Say) -> dict[str, StoredRegion]:
        """Return the regions that are to be compacted, by their encoded names. Raises Refused for an unknown table."""
        regions = self.hbase.stored_regions(say)
        known = {region.table for region in regions.values()}
        if unknown := sorted(self.tables - known):
            raise Refused(
                [
                    Problem(
                        where=table,
                        what="has no open region",
                        why=f"RegionServers report regions of {', '.join(sorted(known)) or 'no table'}",
                        fix="name a table as HBase's shell lists it, and enable it",
                    )
                    for table in unknown
                ]
            )
        return {
            name: region
            for name, region in sorted(regions.items())
            if region.files and region.compacted_at < self.before and (not self.tables or region.table in self.tables)
        }

    def proposal(self, journals: Journals, say: Say) -> dict[str, StoredRegion]:
        """Return the regions that are due, once every region is open and no other operation is interrupted.

        Raises Refused otherwise: a compaction would write files with attributes that nobody has checked, or on a server
        whose cache does not hold the region. Also raises as `due` does.
        """
        journals.refuse_interrupted()
        quiet_state(self.hbase, "a region that is not open would be left out", say)
        return self.due(say)

    def check(self) -> None:
        """Raise Refused where a server answers fewer reads from its cache than the floor asks for."""
        for server, ratio in hit_ratios(self.hbase, self.hbase.now() - self.patience.before).items():
            if ratio < self.floor:
                raise Refused.of(
                    where=server,
                    what=f"answers {format_percent(ratio)} of its reads from its cache",
                    why=f"that is below the floor of {format_percent(self.floor)} already, and a compaction lowers it",
                    fix="wait until its cache is warm (warmbase status), or state a lower --floor",
                )

    def stages(self) -> Iterator[Stage]:
        """Yield a stage for each wave until no region is due that these stages have not compacted."""
        compacted = set[str]()
        while due := {name: region for name, region in self.due(lambda _: None).items() if name not in compacted}:
            wave = next_wave(due)
            compacted.update(wave)
            title = f"compact {len(wave)} region{'s' * (len(wave) != 1)} of {len(due)}"
            yield Stage(title=title, act=partial(self._compact, due))

    def _compact(self, due: Mapping[str, StoredRegion], say: Say) -> str:
        """Compact a wave, and wait until every server that published its reads is at the floor again."""
        wave = next_wave(due)
        observed = hit_ratios(self.hbase, self.hbase.now() - self.patience.before).keys()
        self.hbase.compact(wave, say)
        compacted = f"{format_size(sum(due[name].stored_bytes for name in wave))} compacted"
        if not observed:
            return f"{compacted}; no reads were published, so hit ratios were not checked"
        since, low = self.hbase.now(), dict[str, float]()
        where, what, floor, reported = "", "", format_percent(self.floor), ""
        for _ in turns(self.patience.recovery, *self.patience.pauses):
            ratios = hit_ratios(self.hbase, since)
            if silent := observed - ratios.keys():
                if not low:
                    where, what = ", ".join(sorted(silent)), "has published no reads since the wave"
                continue
            low = {server: ratio for server, ratio in ratios.items() if ratio < self.floor}
            if not low:
                return f"{compacted}; lowest hit ratio {format_percent(min(ratios.values()))}"
            where = min(sorted(low), key=lambda server: low[server])
            what = f"{where} answers {format_percent(low[where])} of its reads from its cache"
            if what != reported:
                say(f"{what}; the floor is {floor}")
            reported, since = what, self.hbase.now()
        raise OperationFailed.of(
            where=where,
            what=what,
            why=f"the floor is {floor}, and {self.patience.recovery / 60:,.0f} minutes have passed since the wave; the"
            " compaction stops here",
            fix=f"see how its cache fills (warmbase status); then {CONTINUE}, or state a lower --floor",
        )


def next_wave(due: Mapping[str, StoredRegion]) -> list[str]:
    """Return the encoded names of the regions that are compacted next: the first region of each server."""
    first: dict[str, str] = {}
    for name, region in due.items():
        first.setdefault(region.server, name)
    return sorted(first.values())


def wave_sizes(due: Mapping[str, StoredRegion]) -> list[int]:
    """Return the bytes of the largest region of each wave, which decides how long the wave takes."""
    remaining, sizes = dict(due), list[int]()
    while remaining:
        wave = next_wave(remaining)
        sizes.append(max(remaining.pop(name).stored_bytes for name in wave))
    return sizes
