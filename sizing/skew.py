"""How much more the busiest RegionServer is read than the mean, because regions are not equally popular.

HBase's balancer gives every server the same number of regions, give or take one, and does not know their popularity. A
server with a popular region, or with one region more, is used up first. Regions are placed at random a few hundred
times, with a fixed seed, and the plan uses the mean of the busiest server's share.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from sizing.distinct import distinct
from sizing.imbalance import EVEN, Imbalance
from sizing.popularity import Floats, RowPopularity
from sizing.units import MIB

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


class TableLoads(Struct, frozen=True, kw_only=True):
    """The regions of one table of several, and its shares of all requests and of all block reads."""

    regions: RegionLoads
    requests: float
    blocks: float


def tables_imbalance(tables: Sequence[TableLoads], servers: int) -> Imbalance:
    """Return how much more the busiest of this many servers serves than the mean, of all tables together.

    HBase evens out the number of regions over all tables, so where the regions of one table end, those of the next
    begin. Which regions are popular is drawn for each table by itself.
    """
    if servers == 1:
        return EVEN
    requests, blocks, first = np.zeros((PLACEMENTS, servers)), np.zeros((PLACEMENTS, servers)), 0
    for number, table in enumerate(tables):
        turn = (number * PLACEMENTS // len(tables), first % servers)
        for_requests, for_blocks = _table_loads(table.regions, servers)
        requests += table.requests * np.roll(for_requests, turn, axis=(0, 1))
        blocks += table.blocks * np.roll(for_blocks, turn, axis=(0, 1))
        first += table.regions.regions
    return Imbalance(requests=_mean_busiest(requests), blocks=_mean_busiest(blocks))


@lru_cache(maxsize=128)
def _table_loads(loads: RegionLoads, servers: int) -> tuple[Floats, Floats]:
    """Return the shares of the requests and of the block reads of each server; shapes (placements, servers).

    There is only one placement where all regions are read equally often.
    """
    if loads.spread == "even":
        even = _places_of(loads.regions, servers)[None, :] / loads.regions
        return even, even
    if loads.spread == "hashed":
        remembered = min(servers * REMEMBERED_BYTES / loads.row_bytes, loads.rows - 1)
        on_disk = _row_weights(loads.popularity, loads.rows, max(0.0, remembered))
        requests = _request_loads(loads.popularity, loads.rows, loads.regions, servers)
        return requests, _loads(on_disk, loads.regions, servers)
    of_regions = _loads(_region_weights(loads.regions, loads.spread), loads.regions, servers)
    return of_regions, of_regions


@lru_cache(maxsize=4_096)
def imbalance(loads: RegionLoads, servers: int) -> Imbalance:
    """Return how much more the busiest of this many servers serves than the mean."""
    if servers == 1:
        return EVEN
    requests, blocks = _table_loads(loads, servers)
    return Imbalance(requests=_mean_busiest(requests), blocks=_mean_busiest(blocks))


class _Weights(Struct, frozen=True):
    """Shares of the reads: the hottest rows or regions one by one, and the sum and sum of squares of the others.

    `apart` is true for regions, because no two of them are in one place.
    """

    single: Floats
    others: float
    others_squared: float
    apart: bool


@lru_cache(maxsize=128)
def _request_loads(popularity: RowPopularity, rows: float, regions: int, servers: int) -> Floats:
    """Return the shares of the requests of each server, whatever the blocks of a row are."""
    return _loads(_row_weights(popularity, rows, 0.0), regions, servers)


@lru_cache(maxsize=16)
def _row_weights(popularity: RowPopularity, rows: float, remembered: float) -> _Weights:
    """Return how reads spread over the rows that do not stay in memory."""
    ranks = popularity.ranks_of(rows)
    single = remembered + np.arange(min(SINGLE, ranks - remembered) + 1)
    steps = int(np.log(max(1.0, ranks / single[-1])) / np.log(CLASS_RATIO))
    edges = np.concatenate((single[-1] * CLASS_RATIO ** np.arange(steps + 1), popularity.breaks(ranks), [ranks]))
    edges = distinct(np.clip(edges, single[-1], ranks))
    shares, counts = np.diff(popularity.reads_of_hottest(np.append(single, edges[1:]), ranks)), np.diff(edges)
    reads, others = np.split(shares, [len(single) - 1])
    squared = np.divide(others**2, counts, out=np.zeros_like(others), where=counts > 0)
    total = float(reads.sum() + others.sum())
    if total <= 0:
        return _Weights(np.zeros(1), 1.0, 0.0, apart=False)
    return _Weights(reads / total, float(others.sum()) / total, float(squared.sum()) / total**2, apart=False)


def _region_weights(regions: int, exponent: float) -> _Weights:
    weights: Floats = np.arange(1, regions + 1, dtype=np.float64) ** -exponent
    weights /= weights.sum()
    return _Weights(weights[:SINGLE], float(weights[SINGLE:].sum()), float((weights[SINGLE:] ** 2).sum()), apart=True)


def _mean_busiest(loads: Floats) -> float:
    """Return the mean of the busiest server's share over all placements, times the number of servers."""
    return max(1.0, float(loads.shape[1] * loads.max(axis=1).mean()))


def _places_of(regions: int, servers: int) -> NDArray[np.int64]:
    """Return how many of these regions each server has."""
    return np.asarray(regions // servers + (np.arange(servers) < regions % servers))


def _loads(weights: _Weights, regions: int, servers: int) -> Floats:
    """Return the share of the reads of each server in many placements; shape (placements, servers)."""
    cells, shape = _cells(len(weights.single), regions, servers, apart=weights.apart), (PLACEMENTS, servers)
    single = np.bincount(cells, np.tile(weights.single, PLACEMENTS), PLACEMENTS * servers).reshape(shape)
    places = _places_of(regions, servers)
    share, deviation = places / regions, np.sqrt(weights.others_squared * places / regions * (1 - places / regions))
    others = max(1, regions - len(weights.single))
    if weights.apart:
        # Every server has the same number of places, so popular regions take places from others: only weights differ.
        share = np.maximum(0, places - np.bincount(cells, minlength=PLACEMENTS * servers).reshape(shape)) / others
        unequal = max(0.0, weights.others_squared - weights.others**2 / others)
        deviation = np.sqrt(unequal * places / regions * (1 - places / regions))
    return np.asarray(single + weights.others * share + deviation * _normals(servers))


@lru_cache(maxsize=64)
def _cells(count: int, regions: int, servers: int, *, apart: bool) -> NDArray[np.int64]:
    """Return the servers of these places, numbered through all placements; shape (placements x count,)."""
    homes = _places(count, regions, apart=apart) % servers
    return (homes + np.arange(PLACEMENTS)[:, None] * servers).ravel()


@lru_cache(maxsize=16)
def _places(count: int, regions: int, *, apart: bool) -> NDArray[np.int64]:
    """Return the regions in which this many rows lie, or the places of this many regions; shape (placements, count)."""
    draw = np.random.default_rng(SEED)
    if apart and regions <= SHUFFLED_REGIONS:
        return np.argsort(draw.random((PLACEMENTS, regions)), axis=1)[:, :count]
    return draw.integers(0, regions, (PLACEMENTS, count))


def _normals(servers: int) -> Floats:
    """Return deviates for each server; those of the first servers do not depend on the number of servers."""
    return _drawn_normals(1 << (servers - 1).bit_length())[:servers].T


@cache
def _drawn_normals(servers: int) -> Floats:
    return np.random.default_rng(SEED).standard_normal((servers, PLACEMENTS))
