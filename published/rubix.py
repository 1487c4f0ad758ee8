"""A cache of S3 on the nodes of a Presto cluster."""

from __future__ import annotations

from typing import Final

from published.figure import PublishedFigure, PublishedSource, SourceFigures, arithmetic_figure
from sizing.units import format_percent

SOURCE: Final = PublishedSource(
    title="Caching on EMR Using RubiX: Performance Benchmark and Benefits", publisher="DZone (Qubole)"
)
# Cached reads, remote reads, bytes read from cache and from remote (in one unit): the table after the first run.
NODE_1: Final = (17, 109, 6.53, 500.14)
NODE_2: Final = (23, 207, 9.5, 306.47)
LEAST, MOST = 0.06, 0.32  # improvement of query 59 and of query 42


def results() -> SourceFigures:
    """All of this source's figures that can be computed."""
    return SourceFigures(
        source=SOURCE, figures=(*_improvement(), _hit_rate(1, "0.13", NODE_1), _hit_rate(2, "0.1", NODE_2))
    )


def _improvement() -> tuple[PublishedFigure, ...]:
    return (
        arithmetic_figure(
            what="mean improvement of 20 queries",
            place="performance analysis",
            published="20",
            ours=100 * (LEAST + MOST) / 2,
            unit="%",
            how="(time without - time with) / time without; middle of 6 % and 32 %",
            remark="Each query's own figure is in a chart only. A fifth of the time saved is "
            f"{1 / (1 - 0.20):.2f} times the speed, and at most {1 / (1 - MOST):.2f} times; a mean of percentages is "
            "not the percentage of the total.",
        ),
    )


def _hit_rate(node: int, percentage: str, counted: tuple[int, int, float, float]) -> PublishedFigure:
    cached, remote, cached_mb, remote_mb = counted
    by_bytes = cached_mb / (cached_mb + remote_mb)
    return arithmetic_figure(
        what=f"hit rate of node {node}",
        place="table after the first run",
        published=percentage,
        ours=cached / (cached + remote),
        unit="",
        how=f"{cached} / ({cached} + {remote}) reads",
        remark=f"Of the bytes, {format_percent(by_bytes)}: a hit ratio of requests says little where they differ so in "
        "size."
        if node == 1
        else f"Of the bytes, {format_percent(by_bytes)}.",
    )
