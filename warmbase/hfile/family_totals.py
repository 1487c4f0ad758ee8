"""The totals of one column family, estimated from those of its files that were read.

Each total has an interval that contains the truth 95 times in 100. Sizes of all files are known, and what is estimated
(blocks, bytes of index) goes with size. So files are put into strata of equal bytes, the largest are taken for certain,
and in each stratum a ratio to size is estimated. Deviations from it are pooled over the strata: a rare odd file then
widens the whole, wherever it was drawn. Two cautions for skewed populations, which a plain t interval misses: the worst
deviation counts as if one more were unseen, and the interval leans to the side to which deviations are skewed (Hall
1992). Checked on seeded populations; what no file of the sample shows, no interval has.

Source: Cochran, Sampling Techniques, chapters 5A and 6; Hall, On the Removal of Skewness by Transformation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from statistics import NormalDist
from typing import Final

from msgspec import Struct, field

from warmbase.ground.block import FamilyTotals as Inspected
from warmbase.ground.block import LengthHistogram
from warmbase.hfile.checkpoint import UnreadableFile
from warmbase.hfile.descriptor import Descriptor
from warmbase.hfile.file_stats import FileStats, coarse
from warmbase.hfile.layout import FamilyFiles, FileEntry

LEAST_OF_STRATUM: Final = 5  # judgement: narrow strata, whose deviations are pooled
CONFIDENCE: Final = 0.95
LEAST_ERROR: Final = 0.001  # judgement: of what was not seen; a member's own figure is seldom exact
FEWEST_DEGREES: Final = 3  # judgement: below it a t quantile says nothing but that little was seen


class Stratum(Struct, frozen=True):
    """Members by number, and how many of them are drawn."""

    members: tuple[int, ...]
    count: int


class Estimate(Struct, frozen=True):
    """A total, and between which it lies in 95 of 100 samples."""

    value: float
    low: float
    high: float

    @property
    def relative_error(self) -> float:
        """Half the interval, of the value; 0 where nothing is estimated."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


def strata(sizes: Sequence[int], count: int) -> tuple[Stratum, ...]:
    """The strata from which about `count` members are drawn: the largest for certain, others from equal bytes."""
    order = sorted(range(len(sizes)), key=lambda member: (-sizes[member], member))
    if count >= len(order):
        return (Stratum(tuple(order), len(order)),) if order else ()
    sure, rest_bytes = 0, sum(sizes)
    while sure < count - 1 and sizes[order[sure]] * (count - sure) >= rest_bytes:
        rest_bytes -= sizes[order[sure]]
        sure += 1
    largest = [Stratum(tuple(order[:sure]), sure)] if sure else []
    return (*largest, *_equal(order[sure:], sizes, max(1, count - sure)))


def _equal(members: Sequence[int], sizes: Sequence[int], count: int) -> list[Stratum]:
    parts = max(1, count // LEAST_OF_STRATUM)
    rest_bytes, passed_bytes = sum(sizes[member] for member in members), 0
    groups: list[list[int]] = [[]]
    for member in members:
        if passed_bytes * parts >= rest_bytes * len(groups) and len(groups) < parts:
            groups.append([])
        groups[-1].append(member)
        passed_bytes += sizes[member]
    draws = max(2, round(count / len(groups)))
    return [Stratum(tuple(part), min(draws, len(part))) for part in groups]


def drawn(stratum: Stratum, random: Random) -> list[int]:
    """Draw members of the stratum, each as likely as the other."""
    return sorted(random.sample(stratum.members, stratum.count))


def estimate(sizes: Sequence[int], strata: Sequence[Stratum], sample: Mapping[int, float]) -> Estimate:
    """The total of a figure over all members, from its values for those that were drawn.

    A member that was drawn and has no value (a file that cannot be read) counts as one that was not drawn.
    """
    measured, parts = 0.0, []
    for stratum in strata:
        values = {member: sample[member] for member in stratum.members if member in sample}
        if len(values) == len(stratum.members):
            measured += sum(values.values())
        elif values:
            parts.append(_Part.of(sizes, stratum, values))
    guessed = measured + sum(part.total for part in parts)
    if not parts:
        return Estimate(guessed, guessed, guessed)
    least = measured + sum(part.sampled for part in parts)
    below, above = (max(half, LEAST_ERROR * (guessed - least)) for half in _half_widths(parts))
    return Estimate(guessed, max(least, guessed - below), guessed + above)


class _Part(Struct, frozen=True):
    """One stratum that was read only in part: its bytes and ratio, and the deviations from the ratio for each byte."""

    size_bytes: int
    members: int
    ratio: float
    sampled: float
    deviations: tuple[float, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], stratum: Stratum, values: Mapping[int, float]) -> _Part:
        weigh = {member: max(1, sizes[member]) for member in stratum.members}
        ratio = sum(values.values()) / sum(weigh[member] for member in values)
        # A ratio of few members lies close to them: their deviations are that much larger.
        inflation = math.sqrt(len(values) / max(1, len(values) - 1))
        deviations = tuple(inflation * (value / weigh[member] - ratio) for member, value in values.items())
        return cls(sum(weigh.values()), len(weigh), ratio, sum(values.values()), deviations)

    @property
    def total(self) -> float:
        return self.size_bytes * self.ratio

    @property
    def unseen(self) -> float:
        """Return the weight with which the variance of a deviation counts in the variance of the total."""
        count = len(self.deviations)
        return self.size_bytes**2 * (1 - count / self.members) / count


def _half_widths(parts: Sequence[_Part]) -> tuple[float, float]:
    """Return half the interval below the estimate, and half of it above."""
    deviations = [deviation for part in parts for deviation in part.deviations]
    pooled = [*deviations, max(deviations, key=abs)]
    variance = sum(deviation**2 for deviation in pooled) / len(pooled)
    if variance == 0:
        return 0.0, 0.0
    error = math.sqrt(variance * sum(part.unseen for part in parts))
    quantile = _t_quantile(len(deviations) - len(parts))
    skewness = sum(deviation**3 for deviation in pooled) / len(pooled) / variance**1.5
    lean = skewness / (6 * math.sqrt(len(deviations))) * (1 + 2 * quantile**2)
    return error * max(quantile, quantile - lean), error * max(quantile, quantile + lean)


def _t_quantile(degrees: int) -> float:
    """Return the quantile of Student's t, by its expansion in the normal one. Source: Abramowitz and Stegun, 26.7.5."""
    z, n = NormalDist().inv_cdf((1 + CONFIDENCE) / 2), max(FEWEST_DEGREES, degrees)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def total(estimates: Sequence[Estimate]) -> Estimate:
    """Add up estimates that were drawn independently of each other."""
    value = sum(part.value for part in estimates)
    below = math.sqrt(sum((part.value - part.low) ** 2 for part in estimates))
    above = math.sqrt(sum((part.high - part.value) ** 2 for part in estimates))
    return Estimate(value, value - below, value + above)


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
