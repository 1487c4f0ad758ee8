"""The bill of the workers of an analytics cluster, and the targets that they miss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from sizing.engines.trino.workers import Workers
from sizing.inputs import UTILISATION

__all__ = ["BUDGET", "ROUNDING", "Evaluated", "Shortfall", "shortfalls"]

BUDGET: Final = "budget"
ROUNDING: Final = 1e-9  # relative: of two orders of float64 arithmetic


class Shortfall(Struct, frozen=True, kw_only=True):
    """A target that a cluster misses, with the value that it has and the limit, in `unit`."""

    target: str
    actual: float
    limit: float
    unit: str

    @property
    def excess(self) -> float:
        """Return by which factor the value is beyond its limit."""
        smaller, larger = sorted((self.actual, self.limit))
        return larger / smaller if smaller > 0 else math.inf


class Evaluated(Struct, frozen=True, kw_only=True):
    """A cluster with the sum of its bill and the targets that it misses."""

    workers: Workers
    usd_per_month: float
    shortfalls: tuple[Shortfall, ...]

    @property
    def serves(self) -> bool:
        """Return whether the cluster meets all targets but the budget, so that a dearer one is no better."""
        return all(shortfall.target == BUDGET for shortfall in self.shortfalls)

    @property
    def rank(self) -> tuple[int, float, float, int]:
        """Order clusters: the fewest missed targets first, then those missed by least, then by bill and workers."""
        excess = max((shortfall.excess for shortfall in self.shortfalls), default=1.0)
        return len(self.shortfalls), round(excess, 3), self.usd_per_month, self.workers.count


def shortfalls(workers: Workers) -> Iterator[Shortfall]:
    """Yield each target that the cluster misses in the busiest hour, after the loss of `lost_nodes` workers."""
    choice = workers.choice
    targets, rate = choice.targets, choice.workload.peak_queries_per_second
    servers = workers.count - targets.lost_nodes
    if servers < 1:
        unit = "worker" if workers.count == 1 else "workers"
        yield Shortfall(target="lost_nodes", actual=workers.count, limit=targets.lost_nodes + 1, unit=unit)
        return
    ratio = workers.hit_ratio(servers)
    if workers.has_cache and ratio < targets.hit_ratio - ROUNDING:
        yield Shortfall(target="hit_ratio", actual=ratio, limit=targets.hit_ratio, unit="of page reads")
    utilisation = workers.utilisation(servers, ratio, rate)
    if utilisation > UTILISATION * (1 + ROUNDING):
        yield Shortfall(target="load", actual=utilisation, limit=UTILISATION, unit="utilisation")
    at_loss = workers.utilisation(servers, workers.ratio_after_loss, rate)
    if at_loss >= 1:
        yield Shortfall(target="load_after_loss", actual=at_loss, limit=1.0, unit="utilisation")
    seconds = workers.query_seconds(servers, ratio, rate)
    if targets.query_seconds is not None and seconds > targets.query_seconds * (1 + ROUNDING):
        yield Shortfall(target="query_time", actual=seconds, limit=targets.query_seconds, unit="s")
