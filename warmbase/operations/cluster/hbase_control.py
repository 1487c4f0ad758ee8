"""A running HBase as the commands that restart servers and move regions see it: what they read, and what they do.

A server is named by its address, `host:port`, which stays the same over a restart; a region by its encoded name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from warmbase.ground.errors import Refused
from warmbase.hfile.cache_index import CachedFile
from warmbase.operations.aws.progress import Say

META_TABLE: Final = "hbase:meta"
FIRST_POLL_SECONDS: Final = 0.5


class Region(Struct, frozen=True, kw_only=True):
    """A region of an enabled table. `server` is None while no server has it open.

    `moved` is true where the server before this one was another: until the region is closed and opened in place, the
    master would assign it to that other server when this one restarts.
    """

    table: str
    server: str | None
    moved: bool = False


class HBaseState(Struct, frozen=True, kw_only=True):
    """The regions and servers that the master knows. `servers` has the start time of each, in ms since 1970."""

    servers: Mapping[str, int]
    regions: Mapping[str, Region]
    in_transition: int
    balancer_is_on: bool

    @property
    def homes(self) -> dict[str, str]:
        """Return the server of each open region."""
        return {name: region.server for name, region in self.regions.items() if region.server is not None}

    @property
    def closed(self) -> int:
        """Return the number of regions that no server has open."""
        return len(self.regions) - len(self.homes)

    @property
    def region_counts(self) -> Mapping[str, int]:
        """Return the number of regions of each server that has any."""
        return Counter(self.homes.values())

    @property
    def moved_tables(self) -> tuple[str, ...]:
        """Return the tables with regions that would not return to their server after a restart."""
        return tuple(sorted({region.table for region in self.regions.values() if region.moved}))


class RegionMove(Struct, frozen=True, kw_only=True):
    """The move of one region from the server that has it open to another."""

    region: str
    table: str
    source: str
    target: str


class CacheContents(Struct, frozen=True, kw_only=True):
    """The files that a server's cache holds, by its persisted index: of each the blocks and bytes.

    `age_seconds` is the age of the index. The cache may have differed from it for `behind_seconds`; past
    `longest_seconds`, HBase should have written a new one.
    """

    age_seconds: float
    behind_seconds: float
    longest_seconds: float
    files: Mapping[str, CachedFile]


class CacheReads(Struct, frozen=True, kw_only=True):
    """Block reads of one server that its BucketCache answered, and those that it did not."""

    hits: float
    misses: float

    @property
    def hit_ratio(self) -> float | None:
        """Return the share that the cache answered; None where nothing was read."""
        reads = self.hits + self.misses
        return self.hits / reads if reads else None


class StoredRegion(Struct, frozen=True, kw_only=True):
    """The store files of an open region, as its server last reported them.

    `compacted_at` is when its last major compaction wrote its files, in seconds since 1970; 0 if none ever has.
    """

    table: str
    server: str
    files: int
    stored_bytes: int
    compacted_at: float


Families: TypeAlias = Mapping[str, Mapping[str, str]]
"""Attributes of families, by the name of the family."""


class LiveTables(Struct, frozen=True, kw_only=True):
    """The attributes of the families of each enabled user table, and the most regions that a change reopens at once.

    `loading` names the tables that have the settings of an initial load.
    """

    most_regions: int
    tables: Mapping[str, Families]
    loading: Sequence[str] = ()


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds. `before` is the window of the hit ratios before an operation."""

    before: float = 600.0  # judgement: ten published minutes
    # judgement: the master's own wait for a server that restarts is bounded by the plan; this covers the largest index.
    home: float = 3600.0
    elsewhere: float = 120.0  # judgement: a region that is open elsewhere for two minutes will not come back by itself
    opened: float = 600.0  # judgement: the master opens the regions of a table in batches, each in seconds
    warm: float = 900.0  # judgement: one minute that is published late, and some that are disturbed
    # judgement: the blocks of one region are cached again in minutes; past this, the cache has no room for them.
    recovery: float = 3600.0
    poll: float = 10.0

    @property
    def pauses(self) -> tuple[float, float]:
        """Return the first pause and the longest between two looks."""
        return min(FIRST_POLL_SECONDS, self.poll), self.poll


class ReadsControl(Protocol):
    """Reads the figures of caches. Raises OperationFailed where that fails."""

    def now(self) -> float:
        """Return the time of the service that publishes the figures, in seconds since 1970."""

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        """Return the reads of each server since that time (seconds since 1970), for the servers that are known.

        Only whole periods count: a server whose figures are published by the minute is missing until one whole minute
        after that time is published.
        """


class StateControl(Protocol):
    """Reads the state of a running HBase. Raises OperationFailed where that fails."""

    def state(self, say: Say) -> HBaseState:
        """Return what the master knows now."""


class RegionControl(StateControl, Protocol):
    """Reopens the regions of a running HBase. Every method raises OperationFailed where that fails."""

    def switch_balancer(self, say: Say, *, on: bool) -> None:
        """Switch the balancer, and wait for the moves that it has begun."""

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        """Close and open every region of these tables on the server that has it."""


class HBaseControl(RegionControl, ReadsControl, Protocol):
    """Restarts servers too, and reads their caches. Every method raises OperationFailed where that fails."""

    def unready(self, servers: Sequence[str], say: Say) -> Mapping[str, str]:
        """Return the servers that would lose their cache if they restarted now, each with the reason."""

    def lost_servers(self, servers: Iterable[str]) -> frozenset[str]:
        """Return those of these servers that never return, because their node has been terminated."""

    def restart(self, server: str, say: Say) -> None:
        """Stop the process of one RegionServer in order and start it again; return once it has been started."""


def quiet_state(hbase: StateControl, why: str, say: Say) -> HBaseState:
    """Return the state of HBase. Raises Refused, with this reason, if HBase is not quiet."""
    state = hbase.state(say)
    refuse_unquiet(state, why)
    return state


def hit_ratios(hbase: ReadsControl, since: float) -> dict[str, float]:
    """Return the hit ratio of each server that has published reads since that time."""
    reads = hbase.cache_reads(since)
    return {server: read.hit_ratio for server, read in reads.items() if read.hit_ratio is not None}


def refuse_unquiet(state: HBaseState, why: str) -> None:
    """Refuse to act, for this reason, while regions are in transition or not open. Raises Refused."""
    counts = {
        "regions are in transition": state.in_transition,
        "regions of enabled tables are not open": state.closed,
    }
    for reason, count in counts.items():
        if count:
            raise Refused.of(
                where="HBase",
                what=f"is not quiet: {count} {reason}",
                why=why,
                fix="wait until every region is open (the master's page, or warmbase status), then run the same command"
                " again",
            )
