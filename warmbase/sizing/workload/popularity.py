"""How reads spread over blocks and over the RegionServers of a cluster, given how they spread over rows.

A cache holds blocks, and a block is as popular as its rows together. Rows of one rank lie anywhere in the key space
(YCSB hashes them; most key designs do), so a block draws its rows at random, and many rows in a block flatten the skew.
Blocks are told apart by the rank of their hottest row, and within a rank by two values that match the first three
moments of what their other rows add. That makes a thousand classes of 10⁹ rows.

Error: hit ratios are within 0.15 points of those of blocks drawn one by one for zipf, within 1 point for a hot set
(worst at 30 rows a block); `tests/sizing/test_popularity.py` holds both.

`Imbalance` is how much more the busiest RegionServer serves than the mean. HBase's balancer gives every server the same
number of regions, give or take one, and does not know their popularity. A server with a popular region, or with one
region more, is used up first. Regions are placed at random a few hundred times, with a fixed seed, and the plan uses
the mean of the busiest server's share.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from typing import Final, Literal, NoReturn

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import MIB

Floats = NDArray[np.float64]

YCSB_RANKS: Final = 10**10  # YCSB ScrambledZipfianGenerator.ITEM_COUNT: ranks it draws from, whatever the table
SINGLE_RANKS: Final = 64  # judgement: the hottest rows are classes of their own
RANK_RATIO: Final = 1.05  # judgement: below them a class spans 5 % of ranks, and so at most 5 % of popularity
WEIGHT_RATIO: Final = 1.02  # judgement: blocks within 2 % of each other's popularity are one class
NEGLIGIBLE_BLOCKS: Final = 1e-9  # of a class, by expectation
ALIKE: Final = 1e-9  # relative variance below which rows are equally popular; float64 leaves 1e-16


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
            bad_curve = Problem(
                where="popularity",
                what="the curve cannot be a popularity",
                why="(share of rows, share of reads) must rise from (0, 0) to (1, 1) and flatten",
                fix="sort the rows by reads, hottest first, and give cumulative shares from 0 to 1",
            )
            raise InvalidInput([bad_curve])

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
        ranks = np.append(ranks, rows)
        single = np.concatenate(([0.0], np.cumsum(np.arange(1, SINGLE_RANKS + 1) ** -self.theta)))
        summed = np.interp(ranks, np.arange(SINGLE_RANKS + 1), single)
        begin, end = SINGLE_RANKS + 0.5, np.maximum(ranks, SINGLE_RANKS) + 0.5
        power = 1 - self.theta
        tail = np.log(end / begin) if power == 0 else (end**power - begin**power) / power
        harmonic = summed + tail
        return np.asarray(harmonic[:-1] / harmonic[-1])

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
RowPopularity = Curve | Zipf | TablesPopularity
"""How reads spread over rows, hottest first.

`reads_of_hottest` is the share of all reads that go to the hottest rows, for this number of them among all rows.
`breaks` are ranks at which popularity drops at once. `ranks_of` is how many ranks reads are drawn from, if this many
rows are stored.
"""


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
        nothing = Problem(
            where="popularity",
            what="nothing is read",
            why=f"blocks is {blocks} and rows per block is {rows_per_block}; both must be positive",
            fix="state how much is stored, and the mean size of a row",
        )
        raise InvalidInput([nothing])
    stored = max(1.0, blocks * rows_per_block)
    ranks = rows.ranks_of(stored)
    draws = max(1.0, rows_per_block) * ranks / stored
    # Ranks that part classes: every one up to SINGLE_RANKS, then 5 % apart, and the breaks.
    steps = max(0, int(np.log(max(ranks / SINGLE_RANKS, 1.0)) / np.log(RANK_RATIO)))
    wide = SINGLE_RANKS * RANK_RATIO ** np.arange(1, steps + 1)
    edges = np.unique(np.concatenate((np.arange(SINGLE_RANKS + 1.0), wide, rows.breaks(ranks), [ranks])))
    edges = edges[edges <= ranks]
    counts, reads = np.diff(edges), np.diff(rows.reads_of_hottest(edges, ranks))
    # The chance that the hottest row of a block lies between neighbouring shares of all rows.
    with np.errstate(divide="ignore"):
        above = draws * np.log1p(-edges / ranks)
    chance = np.exp(above[:-1]) * -np.expm1(above[1:] - above[:-1])
    # For blocks by the class of their hottest row: two weights, and the share of the blocks that has each. The other
    # rows are drawn from those not hotter; two values match mean, variance and third moment of their sum (Gauss
    # quadrature of two nodes).
    weights, own = np.maximum(reads, 0) / counts, np.where(counts > 1, counts / 2, 0.0)
    powers = weights ** np.arange(1, 4)[:, None]
    below = np.cumsum((counts * powers)[:, ::-1], axis=1)[:, ::-1] - counts * powers + own * powers
    others = np.maximum(np.cumsum(counts[::-1])[::-1] - counts + own, 1.0)
    first, second, third = below / others
    variance = np.where(second > first**2 * (1 + ALIKE), second - first**2, 0.0) * (draws - 1)
    skew = (third - 3 * first * second + 2 * first**3) * (draws - 1)
    half = np.divide(skew, 2 * variance, out=np.zeros_like(skew), where=variance > 0)
    reach = np.sqrt(half**2 + variance)
    high = np.divide(reach - half, 2 * reach, out=np.full_like(skew, 0.5), where=np.sqrt(variance) > 0)
    mean = weights + (draws - 1) * first
    cool = np.maximum(mean + half - reach, weights)  # fewer than one further row leaves the hottest alone
    warm = np.divide(mean - (1 - high) * cool, high, out=np.zeros_like(mean), where=high > 0)
    # Weights within 2 % of each other are one class.
    weights = np.stack((warm, cool), axis=1).ravel()
    shares = (chance[:, None] * np.stack((high, 1 - high), axis=1)).ravel()
    likely = shares * blocks > NEGLIGIBLE_BLOCKS
    weights, shares = weights[likely], shares[likely]
    with np.errstate(divide="ignore"):
        step = np.floor(np.log(weights / weights.max()) / np.log(WEIGHT_RATIO) + ALIKE)
    _, member = np.unique(-step, return_inverse=True)
    of_class = np.bincount(member, weights=shares).astype(np.float64)
    class_reads = np.bincount(member, weights=shares * weights).astype(np.float64)
    of_class *= blocks / of_class.sum()
    return Popularity(weights=class_reads / class_reads.sum() / of_class, blocks=of_class)


class Imbalance(Struct, frozen=True, kw_only=True):
    """The busiest RegionServer's load over the mean: in requests, and in blocks that come from a disk or from S3.

    Memory answers the hottest rows, so blocks are never spread more unevenly than requests.
    """

    requests: float = 1.0
    blocks: float = 1.0


EVEN: Final = Imbalance()


PLACEMENTS: Final = 192  # judgement: the mean of this many is within 2 % of that of any number
SEED: Final = 20_261
# judgement: the hottest rows or regions are placed one by one; of the others, only sum and variance matter.
SINGLE: Final = 64
CLASS_RATIO: Final = 1.3  # of ranks, for the variance of the others
# judgement: the page cache of a node has gigabytes, and the on-heap cache of a node without a BucketCache has hundreds
# of MiB. At least this much of the hottest data stays there, so the hottest rows are not read from disk or S3 again.
REMEMBERED_BYTES: Final = 64 * MIB
SHUFFLED_REGIONS: Final = 4_096  # of more, two rarely fall into one place

Spread = Literal["hashed", "even"] | float
"""How popularity spreads over regions: popular rows lie anywhere, all regions are equal, or Zipf's exponent over
regions."""


class RegionLoads(Struct, frozen=True, kw_only=True):
    """The regions of a workload, and how its reads spread over them.

    `row_bytes` is the memory that the blocks of one row take; it is infinite if no row stays in memory.
    """

    regions: int
    spread: Spread
    popularity: RowPopularity
    rows: float
    row_bytes: float


@lru_cache(maxsize=4_096)
def imbalance(tables: tuple[tuple[RegionLoads, float, float], ...], servers: int) -> Imbalance:
    """Return how much more the busiest of this many servers serves than the mean, of all tables together.

    A table is its regions, and its shares of all requests and of all block reads. HBase evens out the number of regions
    over all tables, so where the regions of one table end, those of the next begin. Which regions are popular is drawn
    for each table by itself.
    """
    if servers == 1:
        return EVEN
    requests, blocks, first = np.zeros((1, servers)), np.zeros((1, servers)), 0
    for number, (regions, request_share, block_share) in enumerate(tables):
        turn = (number * PLACEMENTS // len(tables), first % servers)
        for_requests, for_blocks = _table_loads(regions, servers)
        requests = requests + request_share * np.roll(for_requests, turn, axis=(0, 1))
        blocks = blocks + block_share * np.roll(for_blocks, turn, axis=(0, 1))
        first += regions.regions
    # The mean of the busiest server's share over all placements, times the number of servers.
    return Imbalance(
        requests=max(1.0, float(servers * requests.max(axis=1).mean())),
        blocks=max(1.0, float(servers * blocks.max(axis=1).mean())),
    )


@lru_cache(maxsize=128)
def _table_loads(loads: RegionLoads, servers: int) -> tuple[Floats, Floats]:
    """Return the shares of the requests and of the block reads of each server; shapes (placements, servers).

    There is only one placement where all regions are read equally often.
    """
    if loads.spread == "even":
        even = (loads.regions // servers + (np.arange(servers) < loads.regions % servers))[None, :] / loads.regions
        return even, even
    if loads.spread == "hashed":
        remembered = min(servers * REMEMBERED_BYTES / loads.row_bytes, loads.rows - 1)
        on_disk = _row_weights(loads.popularity, loads.rows, max(0.0, remembered))
        every_row = _row_weights(loads.popularity, loads.rows, 0.0)
        return _loads(every_row, loads.regions, servers), _loads(on_disk, loads.regions, servers)
    weights: Floats = np.arange(1, loads.regions + 1, dtype=np.float64) ** -loads.spread
    weights /= weights.sum()
    others = weights[SINGLE:]
    by_region = weights[:SINGLE], float(others.sum()), float((others**2).sum())
    of_regions = _loads(by_region, loads.regions, servers, apart=True)
    return of_regions, of_regions


@lru_cache(maxsize=16)
def _row_weights(popularity: RowPopularity, rows: float, remembered: float) -> tuple[Floats, float, float]:
    """Return how reads spread over the rows that do not stay in memory.

    They are the shares of the hottest rows one by one, and the sum and sum of squares of the others.
    """
    ranks = popularity.ranks_of(rows)
    single = remembered + np.arange(min(SINGLE, ranks - remembered) + 1)
    steps = int(np.log(max(1.0, ranks / single[-1])) / np.log(CLASS_RATIO))
    edges = np.concatenate((single[-1] * CLASS_RATIO ** np.arange(steps + 1), popularity.breaks(ranks), [ranks]))
    edges = np.unique(np.clip(edges, single[-1], ranks))
    shares, counts = np.diff(popularity.reads_of_hottest(np.append(single, edges[1:]), ranks)), np.diff(edges)
    reads, others = np.split(shares, [len(single) - 1])
    squared = np.divide(others**2, counts, out=np.zeros_like(others), where=counts > 0)
    total = float(reads.sum() + others.sum())
    if total <= 0:
        return np.zeros(1), 1.0, 0.0
    return reads / total, float(others.sum()) / total, float(squared.sum()) / total**2


def _loads(weights: tuple[Floats, float, float], regions: int, servers: int, *, apart: bool = False) -> Floats:
    """Return the share of the reads of each server in many placements; shape (placements, servers).

    The weights are those of `_row_weights`, or of regions, which are `apart`, because no two are in one place.
    """
    single, others, others_squared = weights
    shape, places = (PLACEMENTS, servers), regions // servers + (np.arange(servers) < regions % servers)
    homes = _places(len(single), regions, apart=apart) % servers
    cells = (homes + np.arange(PLACEMENTS)[:, None] * servers).ravel()
    placed = np.bincount(cells, np.tile(single, PLACEMENTS), PLACEMENTS * servers).reshape(shape)
    share, squared = places / regions, others_squared
    if apart:
        # Every server has the same number of places, so popular regions take places from others: only weights differ.
        rest = max(1, regions - len(single))
        share = np.maximum(0, places - np.bincount(cells, minlength=PLACEMENTS * servers).reshape(shape)) / rest
        squared = max(0.0, others_squared - others**2 / rest)
    deviation = np.sqrt(squared * places / regions * (1 - places / regions))
    normals = _normals(1 << (servers - 1).bit_length())[:servers].T
    return np.asarray(placed + others * share + deviation * normals)


@lru_cache(maxsize=16)
def _places(count: int, regions: int, *, apart: bool) -> NDArray[np.int64]:
    """Return the regions in which this many rows lie, or the places of this many regions; shape (placements, count)."""
    draw = np.random.default_rng(SEED)
    if apart and regions <= SHUFFLED_REGIONS:
        return np.argsort(draw.random((PLACEMENTS, regions)), axis=1)[:, :count]
    return draw.integers(0, regions, (PLACEMENTS, count))


@cache
def _normals(servers: int) -> Floats:
    """Return deviates for each server; those of the first servers do not depend on the number of servers."""
    return np.random.default_rng(SEED).standard_normal((servers, PLACEMENTS))
