"""The inspection of a whole HBase root: files are listed, some are read, and the contents of all are estimated.

Files are drawn by family, the largest for certain and the others at random, the same ones for the same seed. Reading
one takes a read of its end, of a few leaves of its index, and of a few headers of compressed blocks, or of one block
where none is compressed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from random import Random
from typing import Final

from msgspec import Struct, field

from warmbase.ground.block import Inspection
from warmbase.hfile.checkpoint import Checkpoint, UnreadableFile
from warmbase.hfile.cursor import DELETED, Cursor, Unreadable
from warmbase.hfile.descriptor import Descriptor, descriptor, live_files, whole
from warmbase.hfile.family_totals import Estimate, FamilyTotals, Gathered, drawn, strata, total
from warmbase.hfile.file_stats import ALL, Depth, FileStats, read_stats
from warmbase.hfile.layout import FamilyFiles, FileEntry, Listing, RootStore, follow_links, listing

LEAVES: Final = 4  # judgement: a leaf names a thousand blocks
HEADERS: Final = 4  # judgement: lengths of compressed blocks are spread; the mean is the trailer's
AHEAD: Final = 4  # times as many readings wait as there are threads
DEAD: Final = "store files that no list names: dead"
UNKNOWN: Final = "store files whose list cannot be read"
ALL_LIVE: Final = None
UNKNOWN_LIVE: Final = frozenset({"what is live is not known"})
"""Names of live files in place of those: every file, and nobody knows which."""
Say = Callable[[str, int, int], None]
"""A report of progress: the step, how far it has come, and of how much; 0 where that is not known."""


class SamplingOptions(Struct, frozen=True, kw_only=True):
    """How much is read: so many `files` in all and so many of each family, or `every` one; `headers` of every block."""

    files: int = 400
    of_family: int = 30
    every: bool = False
    headers: bool = False
    seed: int = 1
    threads: int = 32

    @property
    def depth(self) -> Depth:
        """Return how much of one file is read."""
        leaves, headers = (ALL, ALL) if self.headers else (LEAVES, HEADERS)
        return Depth(leaves=leaves, headers=headers, trials=1)


class RootReport(Struct, frozen=True, kw_only=True):
    """The contents of a root. `apart` counts files and bytes that are not store files of a table, by kind.

    `unread` names files, and lists of live ones, that could not be read, each with the reason.
    """

    root: str
    files: int
    size_bytes: int
    families: tuple[FamilyTotals, ...]
    apart: Mapping[str, tuple[int, int]]
    unread: tuple[tuple[str, str], ...]
    coprocessors: Mapping[str, tuple[str, ...]]
    """The coprocessors of each table that has some."""

    def total(self, figure: str) -> Estimate:
        """Return one figure of all families."""
        return total([family.figures[figure] for family in self.families])

    def inspection(self, at: str) -> Inspection:
        """As the calculator takes it."""
        families = [family for family in self.families if family.inspected is not None]
        return Inspection(
            root=self.root,
            inspected_at=at,
            stored_bytes=sum(family.stored_bytes for family in families),
            families=tuple(family.inspected for family in families if family.inspected is not None),
            coprocessors=self.coprocessors,
        )


def inspect_root(store: RootStore, choice: SamplingOptions, checkpoint: Checkpoint, say: Say) -> RootReport:
    """Reads and writes nothing in the store. Raises what the store raises where it does not answer."""
    with ThreadPoolExecutor(choice.threads) as pool:
        try:
            return _Inspector(store, choice, checkpoint, say, pool).report()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Inspector(Struct):
    """One look: what was listed so far, and what could not be read."""

    store: RootStore
    choice: SamplingOptions
    checkpoint: Checkpoint
    say: Say
    pool: ThreadPoolExecutor
    unread: list[tuple[str, str]] = field(default_factory=list)
    listing: Listing = field(default_factory=Listing)

    def report(self) -> RootReport:
        """List, leave out what is dead, read, estimate."""
        self.listing = listing(self._files())
        descriptors: dict[str, Descriptor] = {}
        for table, stored in self.listing.descriptors.items():
            try:
                descriptors[table] = descriptor(Cursor(stored.path, 0, whole(self.store, stored)))
            except Unreadable as error:
                self.unread.append((stored.path, error.why))
        for family in self.listing.families.values():
            self._keep_live(family, descriptors.get(family.table))
        follow_links(self.listing)
        families = [family for _, family in sorted(self.listing.families.items()) if family.files]
        gathered = self._read(families)
        return RootReport(
            root=self.store.url,
            files=self.listing.files,
            size_bytes=self.listing.size_bytes,
            families=tuple(gathering.totals(descriptors.get(gathering.family.table)) for gathering in gathered),
            apart={kind: (files, size) for kind, (files, size) in sorted(self.listing.apart.items())},
            unread=tuple(self.unread),
            coprocessors={table: read.coprocessors for table, read in sorted(descriptors.items()) if read.coprocessors},
        )

    def _files(self) -> Iterator[FileEntry]:
        for number, stored in enumerate(self.store.files(), 1):
            self.say("listed", number, 0)
            yield stored

    def _keep_live(self, family: FamilyFiles, descriptor: Descriptor | None) -> None:
        """Where lists say which files are live, the others are put apart."""
        if not family.lists or (descriptor is not None and not descriptor.keeps_lists(family.name)):
            return
        live = dict(zip(family.lists, self.pool.map(self._live, family.lists, family.lists.values()), strict=True))
        family.links = [link for link in family.links if _is_live(link[0], live)]
        entries = []
        for stored in family.files:
            directory = stored.path.rpartition("/")[0]
            if live.get(directory, ALL_LIVE) is UNKNOWN_LIVE:
                self.listing.put_apart(UNKNOWN, stored)
            elif not _is_live(stored, live):
                self.listing.put_apart(DEAD, stored)
            else:
                entries.append(stored)
        family.files = entries

    def _live(self, directory: str, lists: Sequence[FileEntry]) -> frozenset[str] | None:
        """HBase replaces a list with each flush: where that happened since it was listed, all files count."""
        try:
            return live_files(self.store, lists)
        except Unreadable as error:
            is_deleted = error.why == DELETED
            more = "; all files of the directory count" if is_deleted else ""
            self.unread.append((directory, f"its list of live files: {error.why}{more}"))
            return ALL_LIVE if is_deleted else UNKNOWN_LIVE

    def _read(self, families: Sequence[FamilyFiles]) -> list[Gathered]:
        all_bytes = max(1, sum(file.size_bytes for family in families for file in family.files))
        gathered, tasks = [], []
        for family in families:
            # The number of files that are read from the family is proportional to its bytes.
            sizes = [file.size_bytes for file in family.files]
            part = max(self.choice.of_family, round(self.choice.files * sum(sizes) / all_bytes))
            gathering = Gathered(family, strata(sizes, len(sizes) if self.choice.every else part))
            gathered.append(gathering)
            # All strata share one generator: generators of their own would draw the same places in each stratum.
            random = Random(f"{self.choice.seed} {family.table} {family.name}")  # noqa: S311 - it must repeat
            for number, stratum in enumerate(gathering.strata):
                tasks += [_Task(gathering, number, member) for member in drawn(stratum, random)]
        self.say("read", 0, len(tasks))
        for count, (task, reading) in enumerate(self._readings(tasks), 1):
            task.gathered.add(task.stratum, task.member, reading)
            if isinstance(reading, UnreadableFile):
                self.unread.append((task.stored.path, reading.why))
            self.say("read", count, len(tasks))
        return gathered

    def _readings(self, tasks: Iterable[_Task]) -> Iterator[tuple[_Task, FileStats | UnreadableFile]]:
        """In their order, so many of them ahead that no thread waits."""
        waiting: deque[tuple[_Task, Future[FileStats | UnreadableFile]]] = deque()
        for task in tasks:
            waiting.append((task, self.pool.submit(self._reading, task.stored)))
            if len(waiting) >= AHEAD * self.choice.threads:
                first, future = waiting.popleft()
                yield first, future.result()
        for task, future in waiting:
            yield task, future.result()

    def _reading(self, stored: FileEntry) -> FileStats | UnreadableFile:
        reading = self.checkpoint.load(stored)
        if reading is None:
            try:
                random = Random(f"{self.choice.seed} {stored.path}")  # noqa: S311 - it must repeat
                reading = read_stats(self.store.readable(stored), self.choice.depth, random)
            except Unreadable as error:
                reading = UnreadableFile(f"at byte {error.offset:,}: {error.why}", is_deleted=error.why == DELETED)
            self.checkpoint.keep(stored, reading)
        return reading


class _Task(Struct, frozen=True):
    """One file to be read."""

    gathered: Gathered
    stratum: int
    member: int

    @property
    def stored(self) -> FileEntry:
        return self.gathered.family.files[self.member]


def _is_live(stored: FileEntry, live: Mapping[str, frozenset[str] | None]) -> bool:
    directory, _, name = stored.path.rpartition("/")
    names = live.get(directory, ALL_LIVE)
    return names is ALL_LIVE or name in names
