"""How reads spread over blocks, given how they spread over rows.

A cache holds blocks, and a block is as popular as its rows together. Rows of one rank lie anywhere in the key
space (YCSB hashes them; most key designs do), so a block draws its rows at random, and many rows in a block
flatten the skew. Blocks are told apart by the rank of their hottest row, and within a rank by two values that
match the first three moments of what their other rows add. That makes a thousand classes of 10⁹ rows.

Error: hit ratios are within 0.15 points of those of blocks drawn one by one for zipf, within 1 point for a hot set
(worst at 30 rows a block); `tests/sizing/test_popularity.py` holds both.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Final, NoReturn, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from sizing.distinct import distinct
from sizing.problem import InvalidInput, Problem

Floats = NDArray[np.float64]

YCSB_RANKS: Final = 10**10  # YCSB ScrambledZipfianGenerator.ITEM_COUNT: ranks it draws from, whatever the table
SINGLE_RANKS: Final = 64  # judgement: the hottest rows are classes of their own
RANK_RATIO: Final = 1.05  # judgement: below them a class spans 5 % of ranks, and so at most 5 % of popularity
WEIGHT_RATIO: Final = 1.02  # judgement: blocks within 2 % of each other's popularity are one class
NEGLIGIBLE_BLOCKS: Final = 1e-9  # of a class, by expectation
ALIKE: Final = 1e-9  # relative variance below which rows are equally popular; float64 leaves 1e-16


class RowPopularity(Hashable, Protocol):
    """How reads spread over rows, hottest first."""

    def reads_of_hottest(self, ranks: Floats, rows: float) -> Floats:
        """Return the share of all reads that go to the hottest rows, for this number of them among all rows."""

    def breaks(self, rows: float) -> Sequence[float]:
        """Ranks at which popularity drops at once."""

    def ranks_of(self, rows: float) -> float:
        """Return how many ranks reads are drawn from, if this many rows are stored."""


class Curve(Struct, frozen=True, kw_only=True):
    """A measured curve: `points` of (share of rows, share of reads), cumulative, hottest rows first.

    It runs straight between points and from (0, 0) to (1, 1), and must rise and flatten: raises InvalidInput.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        rows, reads = self._axes()
        widths, rises = np.diff(rows), np.diff(reads)
        slopes = rises / np.where(widths > 0, widths, np.nan)
        if not (np.all(widths > 0) and np.all(rises >= 0) and np.all(np.diff(slopes) <= ALIKE * slopes[:-1])):
            raise InvalidInput([_bad_curve(self.points)])

    def _axes(self) -> tuple[Floats, Floats]:
        inner = [point for point in self.points if point not in {(0, 0), (1, 1)}]
        rows, reads = np.array([(0.0, 0.0), *inner, (1.0, 1.0)]).T
        return rows, reads

    def reads_of_hottest(self, ranks: Floats, rows: float) -> Floats:
        """Interpolate straight between the points."""
        return np.asarray(np.interp(ranks / rows, *self._axes()))

    def breaks(self, rows: float) -> Sequence[float]:
        """Return the points themselves."""
        return [share * rows for share, _ in self.points]

    def ranks_of(self, rows: float) -> float:
        """Return one for each row."""
        return rows


class Zipf(Struct, frozen=True, kw_only=True):
    """The row of rank i is read in proportion to i^-theta.

    `ranks` is how many ranks the generator draws from before it hashes them over the rows; None for one to each
    row. YCSB's `zipfian` is Zipf(theta=0.99, ranks=YCSB_RANKS), flatter than a zipf over the rows themselves.
    """

    theta: float
    ranks: int | None = None

    def reads_of_hottest(self, ranks: Floats, rows: float) -> Floats:
        """Generalised harmonic numbers, the first SINGLE_RANKS summed, the others by the midpoint integral."""
        harmonic = self._harmonic(np.append(ranks, rows))
        return np.asarray(harmonic[:-1] / harmonic[-1])

    def _harmonic(self, ranks: Floats) -> Floats:
        single = np.concatenate(([0.0], np.cumsum(np.arange(1, SINGLE_RANKS + 1) ** -self.theta)))
        summed = np.interp(ranks, np.arange(SINGLE_RANKS + 1), single)
        begin, end = SINGLE_RANKS + 0.5, np.maximum(ranks, SINGLE_RANKS) + 0.5
        power = 1 - self.theta
        tail = np.log(end / begin) if power == 0 else (end**power - begin**power) / power
        return np.asarray(summed + tail)

    def breaks(self, rows: float) -> Sequence[float]:  # noqa: ARG002 - the protocol's parameter
        """None: popularity falls smoothly."""
        return ()

    def ranks_of(self, rows: float) -> float:
        """As many as the generator has, however few rows they are hashed over."""
        return max(self.ranks or rows, rows)


UNIFORM: Final = Curve(points=())


class TablesPopularity(Struct, frozen=True):
    """Stands for the popularities of several tables, which have no common one: every method raises LookupError."""

    def _refuse(self, *_: object) -> NoReturn:
        raise LookupError("each table has a popularity of its own")

    reads_of_hottest = breaks = ranks_of = _refuse


BY_TABLE: Final = TablesPopularity()


def hot_set(*, rows_fraction: float, reads_fraction: float) -> Curve:
    """That share of the rows gets that share of the reads; the others share what is left."""
    return Curve(points=((rows_fraction, reads_fraction),))


class Popularity(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Classes of blocks: `blocks` is the number in each, `weights` the chance that a read is of one given block.

    Shapes (classes,); blocks may be fractions (expected counts); weights x blocks sum to 1. The classes of a
    table are in order of popularity, the most popular first. `tables` is the index of each class's table, or None for
    one table. `room` is the length of a block divided by the mean length, or None if all blocks are equally long.
    """

    weights: Floats
    blocks: Floats
    tables: NDArray[np.int64] | None = None
    room: Floats | None = None

    def by_table(self, values: Floats) -> Floats:
        """Return these values of classes, summed over each table; from shape (..., classes) to (..., tables)."""
        if self.tables is None:
            return np.asarray(values.sum(axis=-1, keepdims=True))
        return np.asarray(np.add.reduceat(values, np.flatnonzero(np.diff(self.tables, prepend=-1)), axis=-1))

    @cached_property
    def claims(self) -> Floats:
        """Return the cache space of the blocks of each class, in blocks of mean length; shape (classes,)."""
        return self.blocks if self.room is None else self.blocks * self.room

    @property
    def total_blocks(self) -> float:
        """Return the cache space of all blocks that are ever read, in blocks of mean length."""
        return float(self.claims[self.weights > 0].sum())


def mixed_popularity(
    tables: Sequence[Popularity], read_shares: Sequence[float], block_bytes: Sequence[float]
) -> Popularity:
    """Return the blocks of several tables, which have these shares of all block reads and blocks of these mean bytes.

    A cache that holds all blocks holds as many as if each had the mean length; one with small blocks only holds more.
    """
    weights = [table.weights * share for table, share in zip(tables, read_shares, strict=True)]
    counts = [table.blocks.sum() for table in tables]
    mean_bytes = np.dot(counts, block_bytes) / sum(counts)
    classes = [len(table.blocks) for table in tables]
    return Popularity(
        weights=np.concatenate(weights),
        blocks=np.concatenate([table.blocks for table in tables]),
        tables=np.repeat(np.arange(len(tables)), classes),
        room=np.repeat(np.asarray(block_bytes) / mean_bytes, classes),
    )


def block_popularity(rows: RowPopularity, blocks: float, rows_per_block: float) -> Popularity:
    """Return how reads spread over `blocks` blocks of `rows_per_block` rows each.

    A row larger than a block (below 1 row per block) has blocks of its own, which share its popularity. Raises
    InvalidInput unless both are positive.
    """
    if not (blocks > 0 and rows_per_block > 0):
        raise InvalidInput([_no_blocks(blocks, rows_per_block)])
    stored = max(1.0, blocks * rows_per_block)
    ranks = rows.ranks_of(stored)
    draws = max(1.0, rows_per_block) * ranks / stored
    edges = _edges(ranks, rows.breaks(ranks))
    counts, reads = np.diff(edges), np.diff(rows.reads_of_hottest(edges, ranks))
    chance = _hottest_in(edges / ranks, draws)
    weights, split = _weights(counts, np.maximum(reads, 0) / counts, draws)
    return _merged(weights.ravel(), (chance[:, None] * split).ravel(), blocks)


def _edges(rows: float, breaks: Sequence[float]) -> Floats:
    """Ranks that part classes: every one up to SINGLE_RANKS, then 5 % apart, and the breaks."""
    steps = max(0, int(np.log(max(rows / SINGLE_RANKS, 1.0)) / np.log(RANK_RATIO)))
    wide = SINGLE_RANKS * RANK_RATIO ** np.arange(1, steps + 1)
    edges = distinct(np.concatenate((np.arange(SINGLE_RANKS + 1.0), wide, breaks, [rows])))
    return np.asarray(edges[edges <= rows])


def _hottest_in(shares: Floats, draws: float) -> Floats:
    """Chance that the hottest of `draws` rows lies between neighbouring shares of all rows."""
    with np.errstate(divide="ignore"):
        above = draws * np.log1p(-shares)
    return np.asarray(np.exp(above[:-1]) * -np.expm1(above[1:] - above[:-1]))


def _weights(counts: Floats, weights: Floats, draws: float) -> tuple[Floats, Floats]:
    """For blocks by the class of their hottest row: two weights, and the share of the blocks that has each.

    The other rows are drawn from those not hotter; two values match mean, variance and third moment of their sum
    (Gauss quadrature of two nodes).
    """
    own = np.where(counts > 1, counts / 2, 0.0)
    powers = weights ** np.arange(1, 4)[:, None]
    below = np.cumsum((counts * powers)[:, ::-1], axis=1)[:, ::-1] - counts * powers + own * powers
    others = np.maximum(np.cumsum(counts[::-1])[::-1] - counts + own, 1.0)
    first, second, third = below / others
    variance = np.where(second > first**2 * (1 + ALIKE), second - first**2, 0.0) * (draws - 1)
    skew = (third - 3 * first * second + 2 * first**3) * (draws - 1)
    deviation = np.sqrt(variance)
    half = np.divide(skew, 2 * variance, out=np.zeros_like(skew), where=variance > 0)
    reach = np.sqrt(half**2 + variance)
    high = np.divide(reach - half, 2 * reach, out=np.full_like(skew, 0.5), where=deviation > 0)
    mean = weights + (draws - 1) * first
    cool = np.maximum(mean + half - reach, weights)  # fewer than one further row leaves the hottest alone
    warm = np.divide(mean - (1 - high) * cool, high, out=np.zeros_like(mean), where=high > 0)
    return np.stack((warm, cool), axis=1), np.stack((high, 1 - high), axis=1)


def _merged(weights: Floats, shares: Floats, blocks: float) -> Popularity:
    """Return this many blocks of these weights in these shares; weights within 2 % of each other are one class."""
    likely = shares * blocks > NEGLIGIBLE_BLOCKS
    weights, shares = weights[likely], shares[likely]
    with np.errstate(divide="ignore"):
        step = np.floor(np.log(weights / weights.max()) / np.log(WEIGHT_RATIO) + ALIKE)
    _, member = np.unique(-step, return_inverse=True)
    counts = np.bincount(member, weights=shares).astype(np.float64)
    reads = np.bincount(member, weights=shares * weights).astype(np.float64)
    counts *= blocks / counts.sum()
    return Popularity(weights=reads / reads.sum() / counts, blocks=counts)


def _bad_curve(points: object) -> Problem:
    return Problem(
        where="popularity",
        what="the curve cannot be a popularity",
        why=f"(share of rows, share of reads) must rise from (0, 0) to (1, 1) and flatten: {points}",
        fix="sort the rows by reads, hottest first, and give cumulative shares from 0 to 1",
    )


def _no_blocks(blocks: float, rows_per_block: float) -> Problem:
    return Problem(
        where="popularity",
        what="nothing is read",
        why=f"blocks is {blocks} and rows per block is {rows_per_block}; both must be positive",
        fix="state how much is stored, and the mean size of a row",
    )
