"""Totals of one column family, estimated from those of its files that were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from hfile.checkpoint import UnreadableFile
from hfile.descriptor import Descriptor
from hfile.file_stats import FileStats, coarse
from hfile.layout import FamilyFiles, FileEntry
from sizing.block import LengthHistogram
from sizing.inspection import FamilyTotals as Inspected
from sizing.sampling import Estimate, Stratum, estimate

MOST_LENGTHS: Final = 512  # judgement: told apart in one family
FIGURES: Final = ("blocks", "cached_bytes", "compressed_bytes", "index_bytes", "bloom_bytes", "cells", "rows")
NO_BLOCKSIZE: Final = "0"


class FamilyTotals(Struct, frozen=True, kw_only=True):
    """One family: figures with their intervals, and as the calculator takes it, None where it has no block.

    `unread` are files that could not be read, which count as empty; `unread_bytes` what all such files have. Of
    `partly` files the index was read in part. Codec, encoding and Bloom filter are of the larger part, `kind_fraction`
    of the bytes that were read.
    """

    table: str
    name: str
    files: int
    regions: int
    stored_bytes: int
    files_read: int
    unread: int
    unread_bytes: Estimate
    partly: int
    kind_fraction: float
    figures: Mapping[str, Estimate]
    inspected: Inspected | None


class Gathered(Struct):
    """Readings of one family's files as they come, folded: `strata` are by number in `family.files`."""

    family: FamilyFiles
    strata: Sequence[Stratum]
    values: dict[int, tuple[float, ...]] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    lengths: dict[int, Counter[int]] = field(default_factory=dict)
    compressed: dict[int, Counter[int]] = field(default_factory=dict)
    kinds: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    sums: Counter[str] = field(default_factory=Counter)
    partly: int = 0
    largest_cell_bytes: int = 0

    def add(self, stratum: int, member: int, reading: FileStats | UnreadableFile) -> None:
        """Add the figures of one file."""
        if isinstance(reading, UnreadableFile):
            # What a file had that is gone lies in another: it counts as one that was not drawn.
            if reading.is_deleted:
                return
            self.unread.add(member)
            self.values[member] = (0.0,) * len(FIGURES)
            return
        # Without a ROW Bloom filter nobody has counted rows: as many as cells at the most.
        rows = reading.cells if reading.rows is None else reading.rows
        figures = {name: getattr(reading, name) for name in FIGURES if name != "rows"} | {"rows": rows}
        self.values[member] = tuple(float(figures[name]) for name in FIGURES)
        self.lengths.setdefault(stratum, Counter()).update(reading.lengths)
        self.compressed.setdefault(stratum, Counter()).update(reading.compressed_lengths)
        self.partly += not reading.exact
        self.kinds[reading.codec, reading.encoding, reading.bloom] += max(1, reading.size_bytes)
        self.sums["cells"] += reading.cells
        self.sums["keys"] += reading.key_bytes * reading.cells
        self.sums["values"] += reading.value_bytes * reading.cells
        self.sums["tried"] += reading.trial_bytes
        self.sums["tried_compressed"] += reading.trial_compressed_bytes
        self.largest_cell_bytes = max(self.largest_cell_bytes, reading.largest_cell_bytes)

    def totals(self, descriptor: Descriptor | None) -> FamilyTotals:
        """Return the totals of all files, including those that were not read."""
        files, sizes = self.family.files, [file.size_bytes for file in self.family.files]
        figures = {
            name: estimate(sizes, self.strata, {member: figures[place] for member, figures in self.values.items()})
            for place, name in enumerate(FIGURES)
        }
        unread = {member: float(sizes[member]) if member in self.unread else 0.0 for member in self.values}
        unread_bytes = estimate(sizes, self.strata, unread)
        return FamilyTotals(
            table=self.family.table,
            name=self.family.name,
            files=len(files),
            regions=self.family.regions,
            stored_bytes=sum(sizes),
            files_read=len(self.values) - len(self.unread),
            unread=len(self.unread),
            unread_bytes=unread_bytes,
            partly=self.partly,
            kind_fraction=self.kinds.most_common(1)[0][1] / self.kinds.total() if self.kinds else 1.0,
            figures=figures,
            inspected=self._inspected(files, figures, descriptor, unread_bytes),
        )

    def _inspected(
        self,
        files: Sequence[FileEntry],
        figures: Mapping[str, Estimate],
        descriptor: Descriptor | None,
        unread_bytes: Estimate,
    ) -> Inspected | None:
        lengths, compressed = self._histogram(self.lengths), self._histogram(self.compressed)
        if lengths is None or compressed is None:
            return None
        settings = descriptor.families.get(self.family.name, {}) if descriptor else {}
        block_bytes = settings.get("BLOCKSIZE", NO_BLOCKSIZE)
        codec, encoding, bloom = self.kinds.most_common(1)[0][0]
        cells = max(1, self.sums["cells"])
        return Inspected(
            table=self.family.table,
            name=self.family.name,
            lengths=lengths,
            compressed_lengths=compressed,
            index_bytes=round(figures["index_bytes"].value),
            bloom_bytes=round(figures["bloom_bytes"].value),
            cells=max(1, round(figures["cells"].value)),
            rows=max(1, round(figures["rows"].value)),
            largest_cell_bytes=max(1, self.largest_cell_bytes),
            codec=codec,
            encoding=encoding,
            files=len(files),
            regions=self.family.regions,
            bloom=bloom,
            key_bytes=round(self.sums["keys"] / cells),
            value_bytes=round(self.sums["values"] / cells),
            block_bytes=int(block_bytes) if block_bytes.isdigit() else 0,
            files_read=len(self.values) - len(self.unread),
            unread_bytes=round(unread_bytes.value),
            zstd_ratio=round(self.sums["tried"] / max(1, self.sums["tried_compressed"]), 2),
            relative_error=round(figures["cached_bytes"].relative_error, 4),
        )

    def _histogram(self, by_stratum: Mapping[int, Counter[int]]) -> LengthHistogram | None:
        """Return the lengths of blocks in all files, each stratum scaled by its bytes over the bytes that were read."""
        whole: dict[int, float] = {}
        for number, lengths in by_stratum.items():
            members = self.strata[number].members
            sizes = {member: max(1, self.family.files[member].size_bytes) for member in members}
            factor = sum(sizes.values()) / sum(size for member, size in sizes.items() if member in self.values)
            for length, count in lengths.items():
                whole[length] = whole.get(length, 0.0) + count * factor
        pairs = [(length, round(count)) for length, count in coarse(whole, MOST_LENGTHS).items() if round(count) > 0]
        return LengthHistogram.of(pairs) if pairs else None
