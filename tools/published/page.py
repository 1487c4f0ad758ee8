"""The page docs/published-results.md, which compares published figures with ours, source by source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tools.published.benchmark import (
    COLD,
    FIELD_BYTES,
    FIELDS,
    HANDLERS,
    RECORDS,
    ROUND_TRIPS_MS,
    WARM,
    WARM_MS,
    YCSB_ZIPF,
    ZIPF,
    Benchmark,
    BenchmarkReading,
    slots,
    worth,
)
from tools.published.figure import FigureOrigin, SourceFigures, Verdict
from tools.published.sources import all_results
from warmbase.environments.planning import requirements, world
from warmbase.environments.reader import read_environment
from warmbase.ground.units import MIB, format_number, format_percent, format_rate, format_size, format_usd
from warmbase.reports.markdown import bullets, paragraph, section, table
from warmbase.sizing.workload.read import Hits

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
    parts = (_prediction, _formula, _rests_on, _other_readings, _without_cache, _provisioning)
    return section(
        _introduction(),
        _at_a_glance(results),
        section("## The EMR benchmark", *(part(benchmark) for part in parts)),
        *(_source_section(source) for source in results),
        _slots_section(),
        _worth_section(benchmark) + "\n",
    )


def _introduction() -> str:
    opening = paragraph(
        "Six published documents describe systems like the one that warmbase builds. This page compares each of their "
        "figures that can be computed with ours. `python -m tools.reference published-results` prints it, and a "
        "test keeps it current: none of "
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
    rows = []
    for name, figures in (*((source.publisher, source.figures) for source in sources), ("**all**", every)):
        counts = Counter([*(figure.kind for figure in figures), *(figure.verdict for figure in figures)])
        rows.append((name, str(len(figures)), *(str(counts[column]) for column in (*FigureOrigin, *Verdict))))
    apart_by = [figure.kind for figure in every if figure.verdict is Verdict.APART]
    text = paragraph(
        f"Of the {len(apart_by)} figures that are further apart, {apart_by.count(FigureOrigin.ARITHMETIC)} are "
        f"contradictions within a source, and {apart_by.count(FigureOrigin.MODEL)} are differences between the "
        "calculator and a source. The remarks below each table give the reason if it is known."
    )
    return section("## At a glance", table(header, rows, right=range(1, len(header))), text)


def _source_section(results: SourceFigures) -> str:
    def span(least: str, most: str) -> str:
        return least if least == most else f"{least}-{most}"

    header = ("", "figure and place", "stated", "ours", "ratio", "ours is")
    rows, remarks = [], []
    for number, figure in enumerate(results.figures, 1):
        computed, ratio = figure.computed, figure.ratio
        amount = span(format_number(computed.least), format_number(computed.most))
        rows.append(
            (
                str(number),
                f"**{figure.what}**, {figure.place}",
                f"{figure.published} {figure.unit}".rstrip(),
                f"{amount} {figure.unit}".rstrip(),
                span(*(f"{end:.2f}" if end < FINE_BELOW else f"{end:.1f}" for end in (ratio.least, ratio.most))),
                f"{figure.kind}: {figure.how}",
            )
        )
        if figure.remark:
            remarks.append(f"**{number}**: {figure.remark}")
    title = f"## {results.publisher}: *{results.title}*"
    return section(title, table(header, rows, right=(0, 2, 3, 4)), bullets(*remarks))


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


ROW_BYTES: Final = FIELDS * FIELD_BYTES


def _prediction(benchmark: Benchmark) -> str:
    prediction, core, volume = benchmark.as_published(), benchmark.plan.core, benchmark.cache_volume
    in_flight = WARM * WARM_MS / 1000
    introduction = paragraph(
        "[`environments/published-emr.yaml`](../environments/published-emr.yaml) pins the cluster as published: "
        f"{core.count} x {core.instance_type}, each with one gp3 volume of {volume.iops:,} IOPS for the cache. The "
        f"source states no throughput, so the volume has the {volume.throughput_mib_s} MiB/s that gp3 includes. 1,000 "
        "requests are in flight, as the published throughput times the published latency says. A read is one row of "
        f"850 kB (2,000 fields of 425 B; {format_size(prediction.row_bytes)} in the file), and every block is cached."
    )
    rows = (
        ("reads", f"{WARM}/s", f"{prediction.reads_per_second:.1f}/s", f"{prediction.reads_per_second / WARM:.2f}"),
        (
            "mean latency",
            f"{WARM_MS:,} ms",
            f"{1000 * prediction.latency_seconds:,.0f} ms",
            f"{1000 * prediction.latency_seconds / WARM_MS:.2f}",
        ),
        (
            "requests in flight",
            f"{in_flight:,.0f}",
            f"{prediction.in_flight:,.0f}",
            f"{prediction.in_flight / in_flight:.2f}",
        ),
    )
    return section(introduction, table(("", "published", "predicted", "ratio"), rows, right=(1, 2, 3)))


def _formula(benchmark: Benchmark) -> str:
    prediction, candidate = benchmark.as_published(), benchmark.candidate
    read, limit = candidate.inputs.read, prediction.bottleneck
    edges = prediction.disk_bytes - read.blocks * read.cached_length_bytes
    sustained = candidate.instance.ebs_sustained_bytes_per_second / MIB
    formula = f"""\
```text
reads/s              ≤ nodes x min(volume, sustained by the instance) / disk bytes of a read
                     = {candidate.count} x min({benchmark.cache_volume.throughput_mib_s} MiB/s, {sustained:.0f} MiB/s) \
/ {prediction.disk_bytes:,.0f} B = {limit.max_reads_per_second:.1f}/s
disk bytes of a read = blocks x cached length + edge pages
                     = {read.blocks:.2f} x {read.cached_length_bytes:,} B + {edges:,.0f} B
blocks of a read     = 1 + (row - cell) / payload of a block, because a row starts and ends inside a block
```"""
    others = sorted(
        (resource for resource in prediction.limits if resource != limit),
        key=lambda resource: resource.max_reads_per_second,
    )
    closing = paragraph(
        f"Mean-value analysis of 1,000 requests over {candidate.count} such queues leaves "
        f"{prediction.reads_per_second:.1f}/s of that. The next limits are `{others[0].name}` at "
        f"{others[0].max_reads_per_second:,.0f} reads/s and `{others[1].name}` at "
        f"{others[1].max_reads_per_second:,.0f}. No constant is fitted to this source. The inputs are its row, its "
        "nodes and its volumes, the limits that AWS documents, and HBase's block layout."
    )
    return section(f"The bottleneck is `{limit.name}`:", formula, closing)


def _rests_on(benchmark: Benchmark) -> str:
    flat, of_flat = benchmark.page_cached(YCSB_ZIPF, ROW_BYTES)
    steep, of_steep = benchmark.page_cached(ZIPF, ROW_BYTES)
    together = benchmark.together(Hits(ratio=0.95, page_cache_fraction=flat))
    cell, count = benchmark.workload.key_value_bytes, benchmark.candidate.count
    readings = (
        (
            "**as predicted**: every block is cached, those of a row in neighbouring slots",
            benchmark.as_published(),
        ),
        ("the cache answers 95 % of block reads", benchmark.missing(0.95)),
        ("the blocks of a row lie in scattered slots", benchmark.scattered()),
        (f"cells include their keys: 2,000 x {cell} B = {FIELDS * cell / 1000:.0f} kB a row", benchmark.serialised()),
        (f"page cache answers {format_percent(flat)}: YCSB's zipfian", of_flat),
        (f"page cache answers {format_percent(steep)}: Zipf 0.99 over the rows", of_steep),
        (f"all of these at once, page cache {format_percent(flat)}", together),
    )
    points = bullets(
        "**Hits.** The source says over 95 %, and does not state its cache size.",
        "**Slots.** A row's blocks are cached one after the other and share their edge pages, unless writer threads "
        "interleave.",
        "**Row.** 850 kB is used as published, although HBase stores a key beside each value.",
        "**Page cache.** It is ignored, because a plan that relies on it breaks when the heap grows. "
        f"With the heap that the calculator gives them, the {count} nodes would have "
        f"{format_size(benchmark.page_cache_bytes)} of it, and the reads of YCSB's workload C are skewed.",
    )
    volume = benchmark.cache_volume.throughput_mib_s * MIB
    per_node = WARM * ROW_BYTES / count
    closing = paragraph(
        "The first three lower the prediction, and the last raises it by more: together they would predict "
        f"{together.reads_per_second / WARM:.1f} times the published rate. So the agreement to within 6 % covers one "
        f"resource and one row size, and may be partly luck. The same holds for the observation behind it: {WARM} x "
        f"850 kB over {count} nodes are {format_rate(per_node)} each, {format_percent(per_node / volume)} of the "
        "volume's throughput, but the row size is exactly where the source contradicts itself."
    )
    opening = paragraph(
        "The source leaves some inputs open. Each row changes one of them, and the last row changes all:"
    )
    return section("### Assumptions behind the agreement", opening, _readings(readings), points, closing)


def _other_readings(benchmark: Benchmark) -> str:
    other = benchmark.by_records()
    heap, ram = benchmark.compressed_heap_bytes(), benchmark.plan.memory.ram_bytes
    row = f"{benchmark.records_row_bytes / 1000:.1f} kB"
    opening = paragraph(
        f"{RECORDS:,} records in the stated 7.9 TB are {row} each, not 850 kB. The same cluster would then do:"
    )
    elsewhere = paragraph(
        f"The published rate would then be {format_percent(WARM / other.bottleneck.max_reads_per_second)} of what the "
        "volumes can carry, and the test would have been limited by something that the calculator does not model: the "
        f"clients, three processes that parse {WARM * FIELDS / 10**6:.1f} million cells a second, or the CPU that a "
        f"RegionServer spends per cell, which is counted per block here. The calculator would be "
        f"{other.reads_per_second / WARM:.1f} times too optimistic, and more EBS throughput would have gained nothing."
    )
    compressed = paragraph(
        f"A third reading, 850 kB of values compressed to {row}, is hardly possible on these nodes with blocks of 64 "
        f"KiB. The index of so many short blocks would need {format_size(heap)} of heap on each node, which has "
        f"{format_size(ram)} of RAM, and YCSB's random values do not compress that well."
    )
    reading = _readings([(f"7.9 TB / {RECORDS:,} = {row} a row", other)])
    return section(f"### The other reading: {row} a row", opening, reading, elsewhere, compressed)


def _without_cache(benchmark: Benchmark) -> str:
    runs = benchmark.uncached()
    every = [reading.reads_per_second for run in runs for reading in (run.one_prefix, run.several_prefixes)]
    limit = next(resource for resource in runs[0].one_prefix.limits if resource.name == "s3-requests")
    opening = paragraph(
        f"The source measured {COLD} reads/s. It states neither the number of handlers nor the latency of S3, and "
        "these decide: the blocks of a row come from S3 one after the other, one GET each, and occupy a handler "
        f"meanwhile. So there is a range, {min(every):,.0f} to {max(every):,.0f} reads/s, and no prediction. Reads per "
        "second by handlers and by time to S3's first byte:"
    )
    rows: dict[int, list[str]] = {handlers: [str(handlers)] for handlers in HANDLERS}
    for run in runs:
        rates = [f"{reading.reads_per_second:,.0f}" for reading in (run.one_prefix, run.several_prefixes)]
        rows[run.handlers].append(" or ".join(dict.fromkeys(rates)))
    header = ("handlers per node", *(f"{trip} ms" for trip in ROUND_TRIPS_MS))
    closing = paragraph(
        f"Where a cell has two numbers, the first assumes the {limit.capacity:,.0f} GETs a second that S3 documents "
        f"for one prefix, which allow {limit.max_reads_per_second:,.0f} reads/s, and the second assumes as many "
        "prefixes as needed. The first is close to the published number, but that means nothing until handlers, "
        "latency and prefixes are known."
    )
    return section("### Without the cache", opening, table(header, [*rows.values()], right=range(len(header))), closing)


def _provisioning(benchmark: Benchmark) -> str:
    bought, before, prices = benchmark.provisioned(), benchmark.as_published(), benchmark.world.prices
    volume, prediction = bought.volume, bought.predicted
    rate = f"{volume.throughput_mib_s} MiB/s"
    opening = paragraph(
        f"An {benchmark.candidate.instance.name} sustains {rate} to all its EBS volumes, but the test left the cache's "
        f"volume at {benchmark.cache_volume.throughput_mib_s} MiB/s. With {rate}, and the {volume.iops:,} IOPS that "
        "this takes in blocks of 64 KiB, the calculator predicts:"
    )
    closing = paragraph(
        f"That is {prediction.reads_per_second / before.reads_per_second:.2f} times as much, in "
        f"{1000 * prediction.latency_seconds:,.0f} ms, for {format_usd(bought.usd_per_month_more)} a month more on a "
        f"bill of {format_usd(benchmark.plan.cost.usd_per_month)} ({prices.region}, {prices.as_of}). This holds for "
        "the first reading only, and the system volume takes its part from the same limit. It is a hypothesis to "
        "test, not a promise."
    )
    reading = _readings([(f"{rate} and {volume.iops:,} IOPS on each cache volume", prediction)])
    return section("### The effect of more EBS throughput", opening, reading, closing)


def _readings(readings: Iterable[tuple[str, BenchmarkReading]]) -> str:
    header = ("reading", "disk bytes per read", "reads/s", f"reads/s / {WARM}", "bottleneck")
    rows = [
        (
            name,
            f"{reading.disk_bytes / 1000:,.0f} kB",
            f"{reading.reads_per_second:,.0f}",
            f"{reading.reads_per_second / WARM:.2f}",
            f"`{reading.bottleneck.name}`",
        )
        for name, reading in readings
    ]
    return table(header, rows, right=(1, 2, 3))
