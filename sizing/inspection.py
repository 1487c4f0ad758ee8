"""The contents of real store files: the histogram of their blocks instead of an estimate of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from sizing.block import LengthHistogram

__all__ = ["FamilyTotals", "Inspection"]


class FamilyTotals(Struct, frozen=True, kw_only=True):
    """One column family of one table, all its store files together.

    `lengths` are cached lengths with blocks decompressed (but still encoded), `compressed_lengths` with blocks as on
    disk, which is what `hbase.block.data.cachecompressed` caches; both count every data block of the family.
    `index_bytes` are its leaf and root indexes, `bloom_bytes` its Bloom chunks: the combined cache keeps both in L1.
    `bloom` is their kind, keys and values are means, `block_bytes` is the BLOCKSIZE that its table states; empty, or 0,
    where nobody has said. `zstd_ratio` is by how much ZSTD would shorten blocks that are not compressed. Of `files` so
    many were read, and perhaps `unread_bytes` are in such as cannot be, and are missing in every figure;
    `relative_error` is half the 95 % interval of its cached bytes.
    """

    table: str
    name: str
    lengths: LengthHistogram
    compressed_lengths: LengthHistogram
    index_bytes: int
    bloom_bytes: int
    cells: int
    rows: int
    largest_cell_bytes: int
    codec: str
    encoding: str
    files: int
    regions: int
    bloom: str = ""
    key_bytes: int = 0
    value_bytes: int = 0
    block_bytes: int = 0
    files_read: int = 0
    unread_bytes: int = 0
    zstd_ratio: float = 0.0
    relative_error: float = 0.0


class Inspection(Struct, frozen=True, kw_only=True):
    """A whole HBase root, as it was at `inspected_at`; `stored_bytes` is what lay in it."""

    root: str
    inspected_at: str
    stored_bytes: int
    families: tuple[FamilyTotals, ...]
    coprocessors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The classes of the coprocessors of each table that has some."""

    def of_table(self, name: str) -> Inspection:
        """Return the inspection of one table, or of one family if the name is `table/family`.

        The stored bytes are divided among families in proportion to the bytes of their blocks, indexes and Bloom
        chunks. Raises LookupError if the inspection has no such table or family.
        """
        families = tuple(family for family in self.families if name in {family.table, f"{family.table}/{family.name}"})
        if not families:
            known = ", ".join(dict.fromkeys(f"{family.table}/{family.name}" for family in self.families))
            raise LookupError(f"the inspection of {self.root} has no table or family {name}; it has {known}")
        share = sum(map(_stored, families)) / sum(map(_stored, self.families))
        tables = {family.table for family in families}
        return replace(
            self,
            families=families,
            stored_bytes=max(1, round(share * self.stored_bytes)),
            coprocessors={table: classes for table, classes in self.coprocessors.items() if table in tables},
        )

    @property
    def rows(self) -> int:
        """Rows of the largest family of each table, for a row has cells in several."""
        tables = {family.table for family in self.families}
        return sum(max(family.rows for family in self.families if family.table == table) for table in tables)

    @property
    def regions(self) -> int:
        """Return the regions of all tables that have a store file; families share their table's."""
        tables = {family.table for family in self.families}
        return sum(max(family.regions for family in self.families if family.table == table) for table in tables)

    @property
    def l1_bytes(self) -> int:
        """Return the bytes of indexes and Bloom chunks of all families."""
        return sum(family.index_bytes + family.bloom_bytes for family in self.families)

    def lengths(self, *, compressed: bool) -> LengthHistogram:
        """Cached lengths of all data blocks, as the cache would hold them."""
        histograms = [family.compressed_lengths if compressed else family.lengths for family in self.families]
        return LengthHistogram.of(pair for histogram in histograms for pair in histogram.pairs)


def _stored(family: FamilyTotals) -> int:
    return family.compressed_lengths.total_bytes + family.index_bytes + family.bloom_bytes
