"""docs/published-results.md: every published figure beside ours, source by source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from environments.planning import requirements, world
from environments.reader import read_environment
from published.benchmark import Benchmark
from published.figure import Amount, FigureOrigin, PublishedFigure, SourceFigures, Verdict
from published.open_questions import slots, worth
from published.sources import all_results
from reports.markdown import bullets, paragraph, section, table
from reports.published_benchmark import benchmark_section
from sizing.units import format_number, format_percent, format_usd

__all__ = ["page_text", "published_benchmark"]

ENVIRONMENT: Final = "published-emr"
FINE_BELOW: Final = 10
"""Ratios from here on are told with one decimal."""


def published_benchmark() -> Benchmark:
    """The published cluster, as `environments/published-emr.yaml` pins it."""
    environment = read_environment(ENVIRONMENT)
    return Benchmark(requirements=requirements(environment, environment.active), world=world(environment))


def page_text() -> str:
    """The whole page."""
    benchmark = published_benchmark()
    found = all_results(benchmark)
    return section(
        _introduction(),
        _at_a_glance(found),
        benchmark_section(benchmark),
        *(_source_section(results) for results in found),
        _slots_section(),
        _worth_section(benchmark) + "\n",
    )


def _introduction() -> str:
    opening = paragraph(
        "Five published documents describe systems like the one that warmbase builds. This page sets each figure of "
        "theirs that can be computed beside ours. It is printed by `warmbase published` and held current by a test: no "
        "number of ours is typed in."
    )
    meanings = bullets(
        "**model**: the calculator, given the inputs that the source states and, where it states none, those named "
        "in the row.",
        "**arithmetic**: the source's own other numbers. A ratio that is not 1 is then a contradiction within the "
        "source.",
        "**ratio**: ours over theirs; of a range, both ends. `~`, `<` and `>` are the source's about, under and "
        "over; a bound that ours keeps counts as within 5 %.",
    )
    closing = paragraph(
        "What the calculator takes for granted is marked `judgement` in the modules of `sizing/`, each with its "
        "argument."
    )
    return section("# Published results, and what the calculator makes of them", opening, meanings, closing)


def _at_a_glance(found: Sequence[SourceFigures]) -> str:
    header = ("source", "figures", "model", "arithmetic", *(verdict.value for verdict in Verdict))
    every = [figure for results in found for figure in results.figures]
    rows = [(results.source.publisher, *_counts(results.figures)) for results in found]
    rows.append(("**all**", *_counts(every)))
    apart_by = [figure.kind for figure in every if figure.verdict is Verdict.APART]
    said = paragraph(
        f"Of the {len(apart_by)} further apart, {apart_by.count(FigureOrigin.ARITHMETIC)} are a source against its own"
        f" numbers, and {apart_by.count(FigureOrigin.MODEL)} the calculator against a source. Where the reason is"
        " known, the remarks below each table give it."
    )
    return section("## At a glance", table(header, rows, right=range(1, len(header))), said)


def _counts(figures: Sequence[PublishedFigure]) -> list[str]:
    kinds, verdicts = Counter(figure.kind for figure in figures), Counter(figure.verdict for figure in figures)
    counted = [len(figures), *(kinds[kind] for kind in FigureOrigin), *(verdicts[verdict] for verdict in Verdict)]
    return [str(count) for count in counted]


def _source_section(results: SourceFigures) -> str:
    header = ("", "figure, and where", "stated", "ours", "ratio", "ours is")
    title = f"## {results.source.publisher}: *{results.source.title}*"
    remarks = (f"**{number}**: {figure.remark}" for number, figure in enumerate(results.figures, 1) if figure.remark)
    return section(title, table(header, _rows(results.figures), right=(0, 2, 3, 4)), bullets(*remarks))


def _rows(figures: Iterable[PublishedFigure]) -> Iterator[tuple[str, ...]]:
    """Yield one row for each figure, numbered for the remarks below the table."""
    for number, figure in enumerate(figures, 1):
        yield (
            str(number),
            f"**{figure.what}**, {figure.place}",
            f"{figure.stated} {figure.unit}".rstrip(),
            f"{_amount(figure.computed)} {figure.unit}".rstrip(),
            _ratio(figure.ratio),
            f"{figure.kind}: {figure.how}",
        )


def _amount(amount: Amount) -> str:
    return _span(format_number(amount.least), format_number(amount.most))


def _ratio(ratio: Amount) -> str:
    return _span(*(f"{each:.2f}" if each < FINE_BELOW else f"{each:.1f}" for each in (ratio.least, ratio.most)))


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least}-{most}"


def _slots_section() -> str:
    said = paragraph(
        "The recipe of the AWS Big Data Blog has a placeholder for `hbase.bucketcache.bucket.sizes`. A block ends at a "
        "cell, so it overshoots 64 KiB by up to one; HBase's default list allows 1 KiB for that, and what is longer "
        "goes to a slot of 97 KiB. Bytes of blocks over bytes of their slots, and how many more blocks ours holds in "
        "the same cache:"
    )
    header = ("cell, serialised", "default list", "ours", "more blocks held", "sizes in ours")
    rows = [
        (
            f"{slot.cell_bytes:,} B",
            format_percent(slot.default_fraction),
            format_percent(slot.ours_fraction),
            format_percent(slot.more_blocks_fraction),
            str(len(slot.sizes)),
        )
        for slot in slots()
    ]
    return section("## What the sources leave open: bucket sizes", said, table(header, rows, right=range(5)))


def _worth_section(benchmark: Benchmark) -> str:
    stated, peak = worth(benchmark)
    prices = benchmark.world.prices
    said = paragraph(
        f"The AWS Big Data Blog speaks of lower S3 access cost. At {prices.region} prices of {prices.as_of}, "
        f"{stated.gets_per_hour:,} GETs an hour saved are {format_usd(stated.usd_per_month)} a month, and "
        f"{peak.gets_per_hour:,} (its figure 4) {format_usd(peak.usd_per_month)}. The volumes of the cache cost "
        f"{format_usd(stated.cache_usd_per_month)}: {stated.cache_usd_per_month / stated.usd_per_month:.1f} and "
        f"{peak.cache_usd_per_month / peak.usd_per_month:.1f} times as much. A cache does not pay for itself by saved "
        "GETs: it buys latency, throughput, and freedom from throttling."
    )
    return section("## What the saved GETs are worth", said)
