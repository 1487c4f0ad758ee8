"""The cheapest way to serve blocks of many lengths with few slots, exactly.

Slots ascend, and so does the claim of one block in them; every class is a run of neighbouring slots and pays the claim
of its last. Serving the first j slots with t classes costs min over i of cost(t - 1, i) + claim(j) x blocks(i, j], a
matrix whose rows' minima move right only (Monge, since claims ascend): each of its layers is solved in n log n instead
of n². Source: Aggarwal and others, "Geometric applications of a matrix-searching algorithm", 1987.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Partition(Struct, frozen=True, kw_only=True):
    """Cheapest service of the first i slots with at most t classes, for every i and t up to a limit.

    `costs[t, i]` is its cost and `begins[t, i]` the number of slots before its last class; `blocks_below[i]` counts
    the blocks of the first i slots.
    """

    blocks_below: Floats
    costs: Floats
    begins: Integers

    @classmethod
    def of(cls, blocks_below: Floats, claims: Floats, most: int) -> Partition:
        """Return all cheapest services with 0 to `most` classes, given one block's claim in each slot, ascending."""
        ends = np.arange(len(blocks_below))
        padded = np.concatenate((claims[:1], claims))
        costs, begins = [np.where(ends == 0, 0.0, np.inf)], [np.zeros_like(ends)]
        if most:
            costs.append(padded * blocks_below)
            begins.append(np.zeros_like(ends))
        rows = _Rows(blocks_below=blocks_below, claims=padded, totals=blocks_below, last=ends)
        for _ in range(2, most + 1):
            cost, begin = rows.minima(costs[-1])
            costs.append(cost)
            begins.append(begin)
        return cls(blocks_below=blocks_below, costs=np.array(costs), begins=np.array(begins))

    def closed(self, most: int, claims: Floats) -> tuple[Floats, Integers]:
        """The cost when one more class of each given claim (ascending) serves all slots from some point on.

        Returns the cheapest cost and that point, for each claim; `most` classes at most serve the slots before it.
        """
        everything = np.full(len(claims), self.blocks_below[-1])
        last = np.full(len(claims), len(self.blocks_below) - 1)
        rows = _Rows(blocks_below=self.blocks_below, claims=claims, totals=everything, last=last)
        return rows.minima(self.costs[most])

    def ends(self, end: int, most: int) -> list[int]:
        """Return the ends of the classes, ascending, in the cheapest service of the first `end` slots."""
        class_ends: list[int] = []
        while end > 0:
            begin = int(self.begins[most, end])
            if begin < end:
                class_ends.append(end)
            end, most = begin, most - 1
        return class_ends[::-1]


def partition_cost(blocks_below: Floats, claims: Floats, closing_claim: float, most: int) -> float:
    """The cost of the cheapest service with at most `most` classes and one that closes; quick for under 100 slots."""
    padded = np.concatenate((claims[:1], claims))
    blocks = blocks_below[:, None] - blocks_below[None, :]
    steps = np.where(blocks >= 0, padded[:, None] * blocks, np.inf)
    costs = steps[:, 0] if most else np.where(np.arange(len(padded)) == 0, 0.0, np.inf)
    for _ in range(2, most + 1):
        costs = (steps + costs).min(axis=1)
    return float((costs + closing_claim * (blocks_below[-1] - blocks_below)).min())


class _Rows(Struct, frozen=True, kw_only=True):
    """Rows of costs[i] + claims[r] x (totals[r] - blocks_below[i]) over i <= last[r]; claims and last ascend."""

    blocks_below: Floats
    claims: Floats
    totals: Floats
    last: Integers

    def minima(self, costs: Floats) -> tuple[Floats, Integers]:
        """Return each row's minimum and its column: rows by halving strides, each between its neighbours' columns."""
        rows = len(self.claims)
        minima, columns = np.empty(rows), np.zeros(rows, dtype=np.int64)
        stride = 1 << rows.bit_length()
        while stride > 1:
            row = np.arange(stride // 2, rows + 1, stride) - 1
            before, after = row - stride // 2, row + stride // 2
            low = np.where(before >= 0, columns[np.maximum(before, 0)], 0)
            high = np.where(after < rows, columns[np.minimum(after, rows - 1)], self.last[-1])
            minima[row], columns[row] = self._minima_within(costs, row, low, np.minimum(high, self.last[row]))
            stride //= 2
        return minima, columns

    def _minima_within(self, costs: Floats, rows: Integers, low: Integers, high: Integers) -> tuple[Floats, Integers]:
        """Return the minimum and first column of these rows, each over its own columns low to high."""
        lengths = high - low + 1
        starts = np.cumsum(lengths) - lengths
        member = np.repeat(np.arange(len(rows)), lengths)
        column = np.arange(len(member)) - np.repeat(starts - low, lengths)
        blocks = self.totals[rows][member] - self.blocks_below[column]
        values = costs[column] + self.claims[rows][member] * blocks
        minima = np.minimum.reduceat(values, starts)
        least = np.flatnonzero(values == minima[member])
        return minima, column[least[np.searchsorted(member[least], np.arange(len(rows)))]]
