"""How YCSB's reads fall on blocks: where its own hash puts its own draws, which are neither random nor quite zipfian.

A row's key is `user` and a hash of its number, and blocks hold neighbouring keys. Reads choose the number: of a hot set
the first so many, and of a zipfian choice the hash of a rank among 10,000,000,000, modulo the rows. Source: YCSB
0.17.0, CoreWorkload.buildKeyName, HotspotIntegerGenerator, ScrambledZipfianGenerator, ZipfianGenerator,
Utils.fnvhash64.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sizing.popularity import YCSB_RANKS, Popularity

Floats = NDArray[np.float64]
OFFSET: Final = np.uint64(0xCBF29CE484222325)
PRIME: Final = np.uint64(1_099_511_628_211)
OCTET: Final = np.uint64(0xFF)
ZIPFIAN_CONSTANT: Final = 0.99
ZETA: Final = 26.46902820178302
"""YCSB's zeta for that constant and its number of ranks."""
HASHED_RANKS: Final = 1 << 21
"""The ranks whose rows are computed; those beyond are thousands for each row."""


def hashed(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the absolute value of FNV-1 with 64 bits over eight octets, the lowest first."""
    hashes, rest = np.full(numbers.shape, OFFSET), numbers.copy()
    for _ in range(8):
        hashes = (hashes ^ (rest & OCTET)) * PRIME
        rest = rest >> np.uint64(8)
    return np.asarray(np.abs(hashes.view(np.int64)))


@cache
def hot_set_drawn(rows: int, blocks: int, *, rows_fraction: float, reads_fraction: float) -> Popularity:
    """A hot set of the first rows by number, which lie where their hashes put them."""
    hot = np.arange(rows) < int(rows * rows_fraction)
    weights = np.where(hot, reads_fraction / hot.sum(), (1 - reads_fraction) / (rows - hot.sum()))
    return _of_blocks(weights, blocks)


@cache
def zipfian_drawn(rows: int, blocks: int) -> Popularity:
    """A zipfian choice: each of the first ranks on the row that it is hashed to, the others evenly on all."""
    shares = np.diff(drawn_below(np.arange(HASHED_RANKS + 1, dtype=np.float64)))
    rows_of = hashed(np.arange(HASHED_RANKS, dtype=np.uint64)) % rows
    weights = np.bincount(rows_of, weights=shares, minlength=rows)
    return _of_blocks(weights + (1 - shares.sum()) / rows, blocks)


def drawn_below(ranks: Floats) -> Floats:
    """Share of draws below each rank. The first two are drawn as they should be, the others by an approximation.

    YCSB takes u, even between 0 and 1, to the rank n (η u - η + 1)^(1 / (1 - θ)) (Gray and others, SIGMOD 1994): this
    is its inverse. Of the hundred hottest ranks it draws 0.207 where the sum of their shares is 0.200.
    """
    first, both = 1 / ZETA, (1 + 0.5**ZIPFIAN_CONSTANT) / ZETA
    eta = (1 - (2 / YCSB_RANKS) ** (1 - ZIPFIAN_CONSTANT)) / (1 - both)
    beyond = ((ranks / YCSB_RANKS) ** (1 - ZIPFIAN_CONSTANT) - 1 + eta) / eta
    return np.select([ranks <= 0, ranks <= 1, ranks <= 2], [0.0, first, both], beyond)  # noqa: PLR2004 - two of its own


def _of_blocks(weights: Floats, blocks: int) -> Popularity:
    """Return the popularity of blocks of neighbouring keys, each with as many rows."""
    rows = len(weights)
    keys = hashed(np.arange(rows, dtype=np.uint64)).astype(str)
    of_block = np.arange(rows) * blocks // rows
    block_weights = np.sort(np.bincount(of_block, weights=weights[np.argsort(keys, kind="stable")], minlength=blocks))[
        ::-1
    ]
    return Popularity(weights=block_weights / block_weights.sum(), blocks=np.ones(blocks))
