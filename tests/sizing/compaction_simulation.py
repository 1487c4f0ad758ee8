"""A store whose cells are overwritten evenly: each flush adds a file, and HBase's own rule merges some of them.

The rule is read from HBase 2.6.2: SortedCompactionPolicy.selectCompaction and ExploringCompactionPolicy. It shares no
code with the calculator. Compactions take no time, so that a store has at most the files that the rule itself leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

HOURS = 24.0


class Selection(Struct, frozen=True, kw_only=True, dict=True):
    """The properties of HBase that select files: `hbase.hstore.compaction.*` and `hbase.hstore.blockingStoreFiles`."""

    min_size: float = 128.0
    max_size: float = math.inf
    ratio: float = 1.2
    min_files: int = 3
    max_files: int = 10
    blocking_files: int = 16

    def choose(self, files: list[float]) -> slice | None:
        """Return the files to merge, oldest first; None where the rule finds none."""
        oldest = next((place for place, size in enumerate(files) if size <= self.max_size), len(files))
        stuck = len(files) >= self.blocking_files
        best: slice | None = None
        for place in self._windows(oldest, len(files)):
            size, largest = _size(files, place), max(files[place])
            in_ratio = size < self.min_size or largest <= (size - largest) * self.ratio
            if size <= self.max_size and in_ratio and (best is None or _is_better(files, place, best, stuck=stuck)):
                best = place
        if best is None and stuck:
            return min(self._windows(oldest, len(files)), key=lambda place: _size(files, place), default=None)
        return best

    def _windows(self, oldest: int, count: int) -> Iterator[slice]:
        for start in range(oldest, count):
            for end in range(start + self.min_files, min(count, start + self.max_files) + 1):
                yield slice(start, end)


def _size(files: list[float], place: slice) -> float:
    chosen: list[float] = files[place]
    return sum(chosen)


def _is_better(files: list[float], place: slice, best: slice, *, stuck: bool) -> bool:
    many, most = len(files[place]), len(files[best])
    size, least = _size(files, place), _size(files, best)
    if stuck:
        return most / least * 1.05 < many / size
    return many > most or (many == most and size < least)


class SimulatedStore(Struct, kw_only=True, dict=True):
    """A store with one file as large as its region, and the bytes that were flushed and written to it since."""

    region: float
    flush: float
    flushed: float = 0.0
    written: float = 0.0
    most_files: int = 1

    def __post_init__(self) -> None:
        self.files = [self.region]

    def receive(self, selection: Selection) -> float:
        """Flush once, and merge the files that are selected, of which each overwrites cells of the earlier ones.

        Return the bytes that the merge wrote.
        """
        self.files.append(self.flush)
        self.flushed += self.flush
        self.written += self.flush
        if len(self.files) >= selection.min_files and (chosen := selection.choose(self.files)):
            untouched = math.prod(1 - min(1.0, size / self.region) for size in self.files[chosen])
            merged = self.region * (1 - untouched)
            self.files[chosen] = [merged]
            self.written += merged
        else:
            merged = 0.0
        self.most_files = max(self.most_files, len(self.files))
        return merged

    @property
    def amplification(self) -> float:
        """Return how often a flushed byte was written."""
        return self.written / self.flushed


def simulate_by_day(store: SimulatedStore, selection: Selection, flushes: int) -> SimulatedStore:
    """Return the store after this many flushes under one rule."""
    for _ in range(flushes):
        store.receive(selection)
    return store


def simulate_nights(
    store: SimulatedStore, by_day: Selection, at_night: Selection, day: float, flushes: int
) -> SimulatedStore:
    """Return the store after this many flushes, `day` bytes a day, with another rule from 1 to 5 o'clock."""
    for number in range(flushes):
        hour = (number * store.flush / day) % 1 * HOURS
        store.receive(at_night if 1 <= hour < 5 else by_day)
    return store


class SimulatedServer(Struct, kw_only=True, dict=True):
    """Stores that each receive `day` bytes in a day; one compaction at a time follows the rule of the night.

    It writes `hourly` bytes in an hour.
    """

    stores: list[SimulatedStore]
    by_day: Selection
    at_night: Selection
    day: float
    hourly: float

    def stuck_fraction(self, days: int) -> float:
        """Return the fraction of flushes in this many days after which a store has `blocking_files`."""
        free_at, stuck = 0.0, 0
        flushes = round(days * self.day / self.stores[0].flush)
        for number in range(flushes):
            for place, store in enumerate(self.stores):
                hours = (number + place / len(self.stores)) * HOURS * store.flush / self.day
                is_night = 1 <= hours % HOURS < 5 and hours >= free_at
                stuck += len(store.files) + 1 >= self.by_day.blocking_files
                merged = store.receive(self.at_night if is_night else self.by_day)
                if is_night:
                    free_at = hours + merged / self.hourly
        return stuck / flushes / len(self.stores)
