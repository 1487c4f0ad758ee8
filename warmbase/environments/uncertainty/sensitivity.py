"""The price and the latency for the lowest and the highest value of each input, with all other inputs unchanged.

An input that the file states as a range goes from one end of the range to the other. Any other input goes from a fifth
below its value to a fifth above it, but not to a value that the file may not have, such as a row smaller than its cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.engine import engine_of
from warmbase.environments.reader.assignment import Assignment, assigned
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.environments.reader.ranges import InputRange, RangedDocument
from warmbase.environments.reader.read import environment_of
from warmbase.environments.uncertainty.engine_facet import planning_of
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.sizing.workload.popularity import Zipf
from warmbase.sizing.workload.workload import OpenLoad, Workload

__all__ = ["REACH", "Figures", "Sensitivity", "figures_of", "sensitivities", "workload_numbers"]

REACH: Final = 0.2  # judgement: a careful estimate of a workload may be wrong by a fifth


Figures = tuple[float, float] | tuple[None, None]
"""The price in USD a month and the latency in ms; None if no cluster meets the targets or a value is invalid."""


class Sensitivity(Struct, frozen=True, kw_only=True):
    """The price and the latency at both ends of an input.

    The latency is the p99 of reads, or the mean of queries in the busiest hour.
    """

    one: InputRange
    usd_per_month: tuple[float | None, float | None]
    latency_ms: tuple[float | None, float | None]

    @classmethod
    def between(cls, one: InputRange, low: Figures, high: Figures) -> Sensitivity:
        """Return the sensitivity to an input, given the price and the latency at its ends."""
        return cls(one=one, usd_per_month=(low[0], high[0]), latency_ms=(low[1], high[1]))

    @property
    def span_usd(self) -> float:
        """Return how far the price moves; it is infinite if an end has no price."""
        low, high = self.usd_per_month
        return float("inf") if low is None or high is None else abs(high - low)


def sensitivities(ranged: RangedDocument, cluster: str) -> list[Sensitivity]:
    """Return the inputs of a cluster's plan; the one that moves the price most is first."""
    middle = ranged.middle
    results = [_sensitivity(middle, path, one, cluster) for path, one in _inputs(ranged, middle, cluster)]
    return sorted(results, key=lambda result: -result.span_usd)


def _inputs(ranged: RangedDocument, middle: Document, cluster: str) -> Iterator[tuple[YamlPath, InputRange]]:
    yield from ranged.ranges.items()
    environment = environment_of(middle)
    for path, unit, value in planning_of(engine_of(environment, cluster)).numbers(environment, cluster):
        if path in ranged.ranges or not environment.states(path_text(path)):
            continue
        low, high = (1 - REACH) * value, (1 + REACH) * value
        reach = InputRange(key=path_text(path), where=environment.source, low=low, high=high, unit=unit)
        ends = (end if _is_valid(middle, path, reach.text(end)) else value for end in (low, high))
        yield path, replace(reach, **dict(zip(("low", "high"), ends, strict=True)))


def _is_valid(document: Document, path: YamlPath, text: str) -> bool:
    try:
        environment_of(assigned(document, [Assignment.at(path, text, document.source)]))
    except InvalidInput:
        return False
    return True


def workload_numbers(workload: Workload) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Yield the path, the unit and the value of each number that the workload or one of its tables has.

    The regions of a table with several families are left out, because those of one family cannot differ.
    """
    families = Counter(part.name.partition("/")[0] for part in workload.parts)
    for part in workload.parts:
        section = ("workload", "tables", part.name) if workload.tables else ("workload",)
        shares_regions, stated = families[part.name.partition("/")[0]] > 1, part.inspection is None
        load = part.load if isinstance(part.load, OpenLoad) else None
        multiple = (
            load.at_peak.reads_per_second / load.reads_per_second if load and load.peak_hours is not None else None
        )
        numbers: tuple[tuple[tuple[str, ...], str, float | None], ...] = (
            (("stored",), "B", part.stored_bytes if stated else None),
            (("cell",), "B", part.cell_bytes),
            (("row",), "B", part.row_bytes),
            (("compression", "ratio"), "", part.compression_ratio if part.compressed else None),
            (("reads", "per_second"), "", load.reads_per_second if load else None),
            (("reads", "peak_per_second"), "", load.peak_reads_per_second if load else None),
            (("reads", "seasons", "peak"), "x", multiple),
            (("writes", "bytes_per_second"), "B", part.write_bytes_per_second or None),
            (("popularity", "zipf"), "", part.popularity.theta if isinstance(part.popularity, Zipf) else None),
            (("regions",), "", part.regions if stated and not shares_regions else None),
        )
        for path, unit, value in numbers:
            if value is not None:
                yield (*section, *path), unit, value


def _sensitivity(middle: Document, path: YamlPath, one: InputRange, cluster: str) -> Sensitivity:
    changes = (Assignment.at(path, one.text(value), one.where) for value in (one.low, one.high))
    low, high = (figures_of(middle, cluster, [change]) for change in changes)
    return Sensitivity.between(one, low, high)


def figures_of(document: Document, cluster: str, changes: Sequence[Assignment] = ()) -> Figures:
    """Return the price and the latency of a cluster's plan."""
    try:
        environment = environment_of(assigned(document, changes))
        return planning_of(engine_of(environment, cluster)).figures(environment, cluster)
    except (Infeasible, InvalidInput):
        return None, None
