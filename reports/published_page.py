"""The page docs/published-results.md, which compares published figures with ours, source by source."""

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

ENVIRONMENT: Final = "published-emr"
FINE_BELOW: Final = 10
"""Ratios from here on are shown with one decimal."""


def published_benchmark() -> Benchmark:
    """The published cluster, as `environments/published-emr.yaml` pins it."""
    environment = read_environment(ENVIRONMENT)
    return Benchmark(requirements=requirements(environment, environment.active), world=world(environment))


def page_text() -> str:
    """Return the page, in Markdown."""
    benchmark = published_benchmark()
    results = all_results(benchmark)
    return section(
        _introduction(),
        _at_a_glance(results),
        benchmark_section(benchmark),
        *(_source_section(source) for source in results),
        _slots_section(),
        _worth_section(benchmark) + "\n",
    )


def _introduction() -> str:
    opening = paragraph(
        "Six published documents describe systems like the one that warmbase builds. This page compares each of their "
        "figures that can be computed with ours. `warmbase published` prints it, and a test keeps it current: none of "
        "our numbers is typed by hand."
    )
    meanings = bullets(
        "**model**: the calculator computed our figure from the inputs that the source states. If the source states "
        "none, the row names the inputs.",
        "**arithmetic**: our figure follows from other numbers of the same source. A ratio that is not 1 is then a "
        "contradiction within the source.",
        "**ratio**: our figure divided by theirs; for a range, both ends. `~`, `<` and `>` mean that the source says "
        "about, under or over; if our figure satisfies such a bound, it counts as within 5 %.",
    )
    closing = paragraph(
        "Assumptions of the calculator are marked `judgement` in the modules of `sizing/`, each with its argument."
    )
    return section("# Published results compared with the calculator", opening, meanings, closing)


def _at_a_glance(sources: Sequence[SourceFigures]) -> str:
    header = ("source", "figures", "model", "arithmetic", *(verdict.value for verdict in Verdict))
    every = [figure for source in sources for figure in source.figures]
    rows = [(source.source.publisher, *_counts(source.figures)) for source in sources]
    rows.append(("**all**", *_counts(every)))
    apart_by = [figure.kind for figure in every if figure.verdict is Verdict.APART]
    text = paragraph(
        f"Of the {len(apart_by)} figures that are further apart, {apart_by.count(FigureOrigin.ARITHMETIC)} are "
        f"contradictions within a source, and {apart_by.count(FigureOrigin.MODEL)} are differences between the "
        "calculator and a source. The remarks below each table give the reason if it is known."
    )
    return section("## At a glance", table(header, rows, right=range(1, len(header))), text)


def _counts(figures: Sequence[PublishedFigure]) -> list[str]:
    kinds, verdicts = Counter(figure.kind for figure in figures), Counter(figure.verdict for figure in figures)
    counted = [len(figures), *(kinds[kind] for kind in FigureOrigin), *(verdicts[verdict] for verdict in Verdict)]
    return [str(count) for count in counted]


def _source_section(results: SourceFigures) -> str:
    header = ("", "figure and place", "stated", "ours", "ratio", "ours is")
    title = f"## {results.source.publisher}: *{results.source.title}*"
    remarks = (f"**{number}**: {figure.remark}" for number, figure in enumerate(results.figures, 1) if figure.remark)
    return section(title, table(header, _rows(results.figures), right=(0, 2, 3, 4)), bullets(*remarks))


def _rows(figures: Iterable[PublishedFigure]) -> Iterator[tuple[str, ...]]:
    """Yield one row for each figure, numbered for the remarks below the table."""
    for number, figure in enumerate(figures, 1):
        yield (
            str(number),
            f"**{figure.what}**, {figure.place}",
            f"{figure.published} {figure.unit}".rstrip(),
            f"{_amount(figure.computed)} {figure.unit}".rstrip(),
            _ratio(figure.ratio),
            f"{figure.kind}: {figure.how}",
        )


def _amount(amount: Amount) -> str:
    return _span(format_number(amount.least), format_number(amount.most))


def _ratio(ratio: Amount) -> str:
    return _span(*(f"{end:.2f}" if end < FINE_BELOW else f"{end:.1f}" for end in (ratio.least, ratio.most)))


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least}-{most}"


def _slots_section() -> str:
    text = paragraph(
        "The recipe of the AWS Big Data Blog has a placeholder for `hbase.bucketcache.bucket.sizes`. A block ends with "
        "a whole cell, so it exceeds 64 KiB by up to one cell. HBase's default list allows 1 KiB for that; a longer "
        "block takes a slot of 97 KiB. The table shows the bytes of blocks divided by the bytes of their slots, and "
        "how many more blocks our list holds in the same cache:"
    )
    header = ("cell, serialised", "default list", "ours", "more blocks in the cache", "sizes in ours")
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
    return section("## What the sources leave open: bucket sizes", text, table(header, rows, right=range(5)))


def _worth_section(benchmark: Benchmark) -> str:
    saved, peak = worth(benchmark)
    prices = benchmark.world.prices
    text = paragraph(
        f"The AWS Big Data Blog mentions lower S3 access cost. At {prices.region} prices of {prices.as_of}, saving "
        f"{saved.gets_per_hour:,} GETs an hour saves {format_usd(saved.usd_per_month)} a month, and saving "
        f"{peak.gets_per_hour:,} (its figure 4) saves {format_usd(peak.usd_per_month)}. The volumes of the cache cost "
        f"{format_usd(saved.cache_usd_per_month)}: {saved.cache_usd_per_month / saved.usd_per_month:.1f} and "
        f"{peak.cache_usd_per_month / peak.usd_per_month:.1f} times as much. The cache does not pay for itself with "
        "saved GETs. It buys latency, throughput, and freedom from throttling."
    )
    return section("## The value of the saved GETs", text)
