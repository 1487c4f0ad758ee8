"""The six published sources that `warmbase published` compares with."""

from __future__ import annotations

from published import cloudera, emr, hubspot, intel, pluggable_cache, rubix
from published.benchmark import Benchmark
from published.cod import Cod
from published.figure import SourceFigures


def all_results(benchmark: Benchmark) -> tuple[SourceFigures, ...]:
    """Every figure that can be computed, source by source."""
    return (
        emr.results(benchmark),
        cloudera.results(Cod(like=benchmark.requirements, world=benchmark.world)),
        hubspot.results(),
        intel.results(),
        rubix.results(),
        pluggable_cache.results(),
    )
