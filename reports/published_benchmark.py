"""The section of docs/published-results.md on the EMR benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from published.benchmark import (
    HANDLERS,
    ROUND_TRIPS_MS,
    YCSB_ZIPF,
    ZIPF,
    Benchmark,
    BenchmarkReading,
    Uncached,
)
from published.stated import COLD, FIELD_BYTES, FIELDS, RECORDS, WARM, WARM_MS
from reports.markdown import bullets, paragraph, section, table
from sizing.resource import Hits
from sizing.units import MIB, format_percent, format_rate, format_size, format_usd

__all__ = ["benchmark_section"]

ROW_BYTES: Final = FIELDS * FIELD_BYTES


def benchmark_section(benchmark: Benchmark) -> str:
    """Prediction, formula, what it rests on, the other readings, the run without cache, what provisioning would do."""
    parts = (_prediction, _formula, _rests_on, _other_readings, _without_cache, _provisioning)
    return section("## The EMR benchmark", *(part(benchmark) for part in parts))


def _prediction(benchmark: Benchmark) -> str:
    found, core, volume = benchmark.as_published(), benchmark.plan.core, benchmark.cache_volume
    in_flight = WARM * WARM_MS / 1000
    said = paragraph(
        "[`environments/published-emr.yaml`](../environments/published-emr.yaml) pins the cluster as published: "
        f"{core.count} x {core.instance_type}, each with one gp3 volume for the cache, of {volume.iops:,} IOPS and, as "
        f"the source names no throughput, the {volume.throughput_mib_s} MiB/s that gp3 includes. 1,000 requests are in "
        "flight, which is what the published throughput times latency gives. A read is one row of 850 kB (2,000 fields "
        f"of 425 B; {format_size(found.row_bytes)} in the file), and every block is cached."
    )
    rows = (
        ("reads", f"{WARM}/s", f"{found.reads_per_second:.1f}/s", f"{found.reads_per_second / WARM:.2f}"),
        (
            "mean latency",
            f"{WARM_MS:,} ms",
            f"{1000 * found.latency_seconds:,.0f} ms",
            f"{1000 * found.latency_seconds / WARM_MS:.2f}",
        ),
        ("requests in flight", f"{in_flight:,.0f}", f"{found.in_flight:,.0f}", f"{found.in_flight / in_flight:.2f}"),
    )
    return section(said, table(("", "published", "predicted", "ratio"), rows, right=(1, 2, 3)))


def _formula(benchmark: Benchmark) -> str:
    found, candidate = benchmark.as_published(), benchmark.candidate
    read, limit = candidate.question.read, found.bottleneck
    edges = found.disk_bytes - read.blocks * read.cached_length_bytes
    sustained = candidate.instance.ebs_sustained_bytes_per_second / MIB
    formula = f"""\
```text
reads/s              ≤ nodes x min(volume, what the instance sustains) / disk bytes of a read
                     = {candidate.count} x min({benchmark.cache_volume.throughput_mib_s} MiB/s, {sustained:.0f} MiB/s) \
/ {found.disk_bytes:,.0f} B = {limit.max_reads_per_second:.1f}/s
disk bytes of a read = blocks x cached length + edge pages
                     = {read.blocks:.2f} x {read.cached_length_bytes:,} B + {edges:,.0f} B
blocks of a read     = 1 + (row - cell) / payload of a block, for a row starts and ends inside one
```"""
    others = sorted((each for each in found.limits if each != limit), key=lambda each: each.max_reads_per_second)
    closing = paragraph(
        f"Mean-value analysis of 1,000 requests over {candidate.count} such queues leaves "
        f"{found.reads_per_second:.1f}/s of that. The next limits are `{others[0].name}` at "
        f"{others[0].max_reads_per_second:,.0f} reads/s and `{others[1].name}` at "
        f"{others[1].max_reads_per_second:,.0f}. No constant is fitted to this source: the inputs are its row, its "
        "nodes and its volumes, the limits that AWS documents, and HBase's layout of blocks."
    )
    return section(f"The bottleneck is `{limit.name}`:", formula, closing)


def _rests_on(benchmark: Benchmark) -> str:
    flat, of_flat = benchmark.page_cached(YCSB_ZIPF, ROW_BYTES)
    steep, of_steep = benchmark.page_cached(ZIPF, ROW_BYTES)
    together = benchmark.together(Hits(ratio=0.95, page_cache_fraction=flat))
    cell, count = benchmark.workload.key_value_bytes, benchmark.candidate.count
    readings = (
        ("**as predicted**: every block cached, those of a row in neighbouring slots", benchmark.as_published()),
        ("95 % of block reads answered by the cache", benchmark.missing(0.95)),
        ("each block in a slot somewhere else", benchmark.scattered()),
        (f"cells with their keys: 2,000 x {cell} B = {FIELDS * cell / 1000:.0f} kB a row", benchmark.serialised()),
        (f"page cache answers {format_percent(flat)}: YCSB's zipfian", of_flat),
        (f"page cache answers {format_percent(steep)}: Zipf 0.99 over the rows", of_steep),
        (f"all of these at once, page cache {format_percent(flat)}", together),
    )
    points = bullets(
        "**Hits.** The source says over 95 %; its cache size is not stated.",
        "**Slots.** A row's blocks are cached one after the other and share their edge pages, unless writer threads "
        "interleave.",
        "**The row.** 850 kB is taken as published, though HBase stores a key beside each value.",
        "**The page cache.** It is counted for nothing, because a plan that counts on it breaks when the heap grows. "
        f"With the heap that the calculator gives them, the {count} nodes would have "
        f"{format_size(benchmark.page_cache_bytes)} of it, and the reads of YCSB's workload C are skewed.",
    )
    volume = benchmark.cache_volume.throughput_mib_s * MIB
    per_node = WARM * ROW_BYTES / count
    closing = paragraph(
        "The first three lower the prediction, the last raises it by more: counted together they would predict "
        f"{together.reads_per_second / WARM:.1f} times the published rate. So the agreement to within 6 % is of one "
        "resource and one row size, and may be partly luck. So may the observation behind it: "
        f"{WARM} x 850 kB over {count} nodes are {format_rate(per_node)} each, {format_percent(per_node / volume)} of "
        "what the volume has, but the size of a row is just what the source contradicts itself in."
    )
    opening = paragraph(
        "Inputs that the source does not settle. Each row changes one of them and nothing else, the last row all:"
    )
    return section("### What the agreement rests on", opening, _readings(readings), points, closing)


def _other_readings(benchmark: Benchmark) -> str:
    other = benchmark.by_records()
    heap, ram = benchmark.compressed_heap_bytes(), benchmark.plan.memory.ram_bytes
    row = f"{benchmark.records_row_bytes / 1000:.1f} kB"
    opening = paragraph(
        f"{RECORDS:,} records in the stated 7.9 TB are {row} each, not 850 kB. Then the same cluster does:"
    )
    elsewhere = paragraph(
        f"The published rate would be {format_percent(WARM / other.bottleneck.max_reads_per_second)} of what the "
        "volumes carry, and the limit of the test no resource that the calculator knows: the clients, three processes "
        f"that take apart {WARM * FIELDS / 10**6:.1f} million cells a second, or the RegionServers' CPU for each cell, "
        f"which is counted here by the block. The calculator would be {other.reads_per_second / WARM:.1f} times too "
        "optimistic, and more EBS throughput would have bought nothing."
    )
    compressed = paragraph(
        f"A third reading, 850 kB of values compressed to {row}, is hardly possible on these nodes with blocks of 64 "
        f"KiB: the index of so many short blocks would need {format_size(heap)} of heap on each, of {format_size(ram)} "
        "of RAM, and YCSB's random values do not compress so far."
    )
    reading = _readings([(f"7.9 TB / {RECORDS:,} = {row} a row", other)])
    return section(f"### The other reading: {row} a row", opening, reading, elsewhere, compressed)


def _without_cache(benchmark: Benchmark) -> str:
    found = benchmark.uncached()
    every = [each.reads_per_second for one in found for each in (one.one_prefix, one.several_prefixes)]
    limit = next(each for each in found[0].one_prefix.limits if each.name == "s3-requests")
    opening = paragraph(
        f"The source measured {COLD} reads/s and states neither its handlers nor its time to S3, which decide: the "
        "blocks of a row come from S3 one after the other, a GET each, and hold a handler meanwhile. So there is a "
        f"range, {min(every):,.0f} to {max(every):,.0f} reads/s, and no prediction. Reads a second by handlers and "
        "time to S3's first byte:"
    )
    rows = [(str(handlers), *(_both(one) for one in found if one.handlers == handlers)) for handlers in HANDLERS]
    header = ("handlers on a node", *(f"{trip} ms" for trip in ROUND_TRIPS_MS))
    closing = paragraph(
        f"Of two numbers, the first is with the {limit.capacity:,.0f} GETs a second that S3 documents for one prefix, "
        f"which allow {limit.max_reads_per_second:,.0f} reads/s, and the second with as many prefixes as it takes. "
        "That the former lies near the published number means nothing until handlers, latency and prefixes are known."
    )
    return section("### Without the cache", opening, table(header, rows, right=range(len(header))), closing)


def _both(one: Uncached) -> str:
    first, second = (f"{each.reads_per_second:,.0f}" for each in (one.one_prefix, one.several_prefixes))
    return first if first == second else f"{first} or {second}"


def _provisioning(benchmark: Benchmark) -> str:
    bought, before, prices = benchmark.provisioned(), benchmark.as_published(), benchmark.world.prices
    volume, found = bought.volume, bought.predicted
    rate = f"{volume.throughput_mib_s} MiB/s"
    opening = paragraph(
        f"An {benchmark.candidate.instance.name} sustains {rate} to all its EBS volumes; the test left that of the "
        f"cache at {benchmark.cache_volume.throughput_mib_s} MiB/s. With {rate}, and the {volume.iops:,} IOPS that "
        "carry them in blocks of 64 KiB, the calculator predicts:"
    )
    closing = paragraph(
        f"That is {found.reads_per_second / before.reads_per_second:.2f} times as much, in "
        f"{1000 * found.latency_seconds:,.0f} ms, for {format_usd(bought.usd_per_month_more)} a month more on a bill "
        f"of {format_usd(benchmark.plan.cost.usd_per_month)} ({prices.region}, {prices.as_of}). It holds under the "
        "first reading only, and less what the system volume takes of the same limit: a hypothesis to test, not a "
        "promise."
    )
    reading = _readings([(f"{rate} and {volume.iops:,} IOPS on each cache volume", found)])
    return section("### What more throughput would have given", opening, reading, closing)


def _readings(readings: Iterable[tuple[str, BenchmarkReading]]) -> str:
    header = ("reading", "disk bytes a read", "reads/s", f"over {WARM}", "bottleneck")
    rows = [
        (
            what,
            f"{found.disk_bytes / 1000:,.0f} kB",
            f"{found.reads_per_second:,.0f}",
            f"{found.reads_per_second / WARM:.2f}",
            f"`{found.bottleneck.name}`",
        )
        for what, found in readings
    ]
    return table(header, rows, right=(1, 2, 3))
