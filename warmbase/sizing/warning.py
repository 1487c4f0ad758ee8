"""Warnings and advice: missed targets, risks of a deployment, the age of facts, and settings that store files suggest.

Warnings are about a plan before its deployment, such as a target that a pinned cluster misses, or a volume faster than
its instance, and about the age of its release and prices.

Advice is about a column family whose store files were inspected: whether to cache it, block size, encoding, codec,
Bloom filter. Files say how data lie, and not how they are read: each piece of advice says what it would save, and what
it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from msgspec import Struct

from warmbase.ground.block import KEY_LENGTH_BYTES, SEQUENCE_ID_BYTES, VALUE_LENGTH_BYTES, FamilyTotals, Inspection
from warmbase.ground.units import (
    GIB,
    HOURS_PER_DAY,
    KIB,
    MIB,
    SECONDS_PER_HOUR,
    format_duration,
    format_percent,
    format_size,
)
from warmbase.sizing import gp3
from warmbase.sizing.plan import MISSED_TARGET, Warning  # noqa: A004 - the plan's own word
from warmbase.sizing.requirements import Requirements, Volume, World
from warmbase.sizing.search.candidate import Candidate, Shortfall
from warmbase.sizing.search.disks import FILL_FRACTION
from warmbase.sizing.server.memory import index_bytes_per_block
from warmbase.sizing.workload.read import PIECE_BYTES
from warmbase.sizing.workload.workload import ENCODED_KEY_FRACTION, JITTER_FRACTION, LEAST_REGIONS, OpenLoad

NOMINAL_BLOCK_BYTES: Final = 64 * KIB
"""HBase's BLOCKSIZE unless a table states another."""
COLLECTOR: Final = "zgc"
LARGE_CELL: Final = 2  # judgement: blocks of one cell each, twice as long as a block is meant to be
SMALL_BLOCK_BYTES: Final = 16 * KIB  # judgement: below it the heap's 540 B a block are 3 % of what is cached
SMALL_HEAP_BYTES: Final = 256 << 20  # judgement: a plan's step of heap; less changes nothing
LARGE_BLOCK_BYTES: Final = 160 * KIB  # judgement: more than twice the default
SMALL_CELL_FRACTION: Final = 1 / 32  # judgement: of a block, where one is read for one cell
KEY_FRACTION: Final = 0.4  # judgement: published figures for FAST_DIFF begin at keys as long as values
WORTH_RATIO: Final = 1.3  # judgement: ZSTD costs processor time at each miss
FILES_OF_REGION: Final = 1.5  # judgement: with one file each, a filter spares nothing


class Advice(Struct, frozen=True, kw_only=True):
    """One setting of one family: what to change, why, and what it changes besides."""

    table: str
    family: str
    setting: str
    why: str
    but: str


def advice(inspection: Inspection) -> tuple[Advice, ...]:
    """Return the advice, family by family."""
    return tuple(
        Advice(table=family.table, family=family.name, setting=setting, why=why, but=but)
        for family in inspection.families
        for setting, why, but in _settings(family)
    )


def _settings(family: FamilyTotals) -> Iterator[tuple[str, str, str]]:
    """Yield each setting that a family's store files suggest, what it saves, and what it costs."""
    mean, blocks, total_bytes = family.lengths.mean_bytes, family.lengths.blocks, family.lengths.total_bytes
    if mean >= LARGE_CELL * (family.block_bytes or NOMINAL_BLOCK_BYTES) and family.cells <= 2 * blocks:
        yield (
            "cache: false for the family (BLOCKCACHE => 'false'), or a family of its own as MOB",
            (
                f"its blocks hold one cell of {format_size(round(mean))} each and would take {format_size(total_bytes)}"
                " of the cache"
            ),
            "not where these are the reads that must be fast",
        )
    heap_bytes, fewer = blocks * index_bytes_per_block(COLLECTOR) + family.index_bytes, mean / NOMINAL_BLOCK_BYTES
    is_small = family.block_bytes < NOMINAL_BLOCK_BYTES and mean < SMALL_BLOCK_BYTES
    if is_small and heap_bytes * (1 - fewer) > SMALL_HEAP_BYTES:
        yield (
            "BLOCKSIZE => '65536'",
            (
                f"{blocks:,} blocks of {format_size(round(mean))} take {format_size(heap_bytes)} of all heaps once"
                f" cached; at 64 KiB {format_size(round(heap_bytes * fewer))} (estimate)"
            ),
            "each read of one cell then takes four times as much from the cache's volume, or more",
        )
    is_large = family.block_bytes != NOMINAL_BLOCK_BYTES and mean > LARGE_BLOCK_BYTES
    if is_large and (cell := total_bytes / family.cells) < SMALL_CELL_FRACTION * mean:
        yield (
            "BLOCKSIZE => '65536'",
            (
                f"a read of one cell of {format_size(round(cell))} takes a block of {format_size(round(mean))} from"
                " the cache's volume"
            ),
            "scans read as fast either way; the index of the cache grows with the blocks",
        )
    overhead = KEY_LENGTH_BYTES + VALUE_LENGTH_BYTES + SEQUENCE_ID_BYTES + family.key_bytes
    share = overhead / (overhead + family.value_bytes)
    if family.encoding == "NONE" and family.key_bytes and share >= KEY_FRACTION:
        encoded_bytes = round(total_bytes * (1 - share * (1 - ENCODED_KEY_FRACTION["FAST_DIFF"])))
        yield (
            "DATA_BLOCK_ENCODING => 'FAST_DIFF'",
            (
                f"{share:.0%} of its bytes are keys, of {family.key_bytes} B for values of {family.value_bytes} B;"
                f" encoded, as blocks also are in the cache, it would take {format_size(encoded_bytes)} there, not"
                f" {format_size(total_bytes)} (estimate)"
            ),
            "a seek within a block then decodes from its beginning; ROW_INDEX_V1 does not, and saves nothing",
        )
    if family.codec == "none" and family.zstd_ratio >= WORTH_RATIO:
        yield (
            "COMPRESSION => 'ZSTD'",
            (
                f"ZSTD made the blocks that were tried {family.zstd_ratio:.1f} times shorter; with "
                "hbase.block.data.cachecompressed the cache holds that much more"
            ),
            "each hit then decompresses: the processor pays for what the cache saves",
        )
    if family.bloom == "NONE" and family.files > FILES_OF_REGION * family.regions:
        yield (
            "BLOOMFILTER => 'ROW'",
            f"a get asks each of a region's {family.files / family.regions:.1f} files: a filter spares most of them",
            "a family that is only scanned needs none",
        )


MOST_REGIONS = 200  # HBase reference guide, "Regions per RegionServer": 20 to 200
LARGEST_REGION_BYTES = 50 * 10**9  # HBase reference guide, "Regions": "Aim to have regions sized between 10 and 50 GB"
SLOW_RESTART_SECONDS = 600  # judgement: ten minutes without its regions is what an on-call engineer must know before
SHORT_COLD_SECONDS = 60  # judgement: HBase's default time-out of a call; a client waits for so long without an error
MOST_ERROR = 0.05  # judgement: half an interval; a cache is planned with as much to spare
LITTLE_OVER_BYTES = 8_192  # judgement: a block that is meant to be 64 KiB, and not one of 128 KiB


def missed_target(shortfall: Shortfall) -> Warning:
    """Return the warning about a target that a pinned cluster misses."""
    return Warning(
        id=f"{MISSED_TARGET}{shortfall.target.replace('_', '-')}",
        severity="warning",
        message=shortfall.reason,
        fix="leave core to the calculator (auto), or lower the target",
    )


def warnings(candidate: Candidate) -> Iterator[Warning]:
    """Yield what a user should know before a deployment: slow restarts, cold caches, crashes, regions and volumes."""
    inputs, world, count = candidate.inputs, candidate.inputs.world, candidate.count
    requirements, workload, cold = inputs.requirements, inputs.requirements.workload, candidate.cold
    restart, load = candidate.region_server.restart, workload.load
    if restart.away_seconds > SLOW_RESTART_SECONDS:
        yield Warning(
            id="restart-slow",
            severity="warning",
            message=f"a RegionServer with {candidate.share.cached_blocks:,} cached blocks is unavailable for "
            f"{format_duration(restart.away_seconds)} during a restart (estimate), and so are its regions",
            fix="use more and smaller nodes; from HBase 2.6.5 (no EMR release yet) the index is read in the background",
        )
    if cold is not None and inputs.offered_reads_per_second is not None:
        # A client waits for a call only so long before it gives up.
        now, carried = cold.served(0.0), cold.course.carried_seconds
        if not now.carries and (carried is None or carried > SHORT_COLD_SECONDS):
            until = "never serves them all" if carried is None else f"serves them all after {format_duration(carried)}"
            yield Warning(
                id="cold-load",
                severity="warning",
                message=f"with cold caches, the cluster serves only {now.possible_per_second:,.0f} of"
                f" {now.offered_per_second:,.0f} reads/s, limited by {now.bottleneck}, and {until} (estimate)",
                fix="add clients gradually; to limit this time, set targets.carries_load_within",
            )
    if isinstance(load, OpenLoad) and load.peak_hours is not None:
        # A cluster that starts after a peak should be warm before the next one, under the load outside it.
        outside = candidate.cold_start(count, inputs.outside_peak)
        quiet_seconds = (HOURS_PER_DAY - load.peak_hours) * SECONDS_PER_HOUR
        if outside is not None and outside.course.prefetch_seconds > quiet_seconds:
            yield Warning(
                id="cold-peak",
                severity="info",
                message=f"after a start, an empty cache takes {format_duration(outside.course.prefetch_seconds)} to"
                f" fill (estimate), but only {format_duration(quiet_seconds)} pass between two peaks, so the cache is"
                " still partly empty in the first peak",
                fix=f"set targets.warm_up to {format_duration(quiet_seconds)}, unless you accept that S3 serves more of"
                " the reads in that peak",
            )
    if (offline := candidate.offline).seconds > SLOW_RESTART_SECONDS:
        yield Warning(
            id="crash-offline-long",
            severity="warning",
            message=f"after a crash, the rows of a node are offline for {format_duration(offline.seconds)} (estimate),"
            f" because the master waits {format_duration(offline.retention_seconds)} for the node to return",
            fix="set targets.offline_after_crash; the plan then chooses smaller nodes, or a shorter wait",
        )
    if requirements.wal_service:
        yield Warning(
            id="wal-service-not-priced",
            severity="warning",
            message="EMR bills EMR WAL by hours, GiB written and GiB replayed; the price list has none of these prices,"
            " so the cost does not include EMR WAL",
            fix="look up the price on the Amazon EMR pricing page",
        )
    # One operation would read a slightly smaller block. Blocks end at cells, so most of them are at most half a cell
    # longer than their mean.
    length = inputs.read.cached_length_bytes
    over = length - PIECE_BYTES
    smaller_kib = math.floor((workload.block_bytes - over - workload.key_value_bytes / 2) / KIB)
    applies = inputs.mode.has_bucket_cache and not workload.compressed and not workload.tables
    if applies and 0 < over < LITTLE_OVER_BYTES and smaller_kib >= 1:
        read = inputs.read.of_disk
        yield Warning(
            id="block-read-in-pieces",
            severity="info",
            message=f"a cached block of {length:,} B (mean) is read in two pieces, {PIECE_BYTES // KIB} KiB and the"
            f" rest: {read.ios:.2f} disk operations and {read.bytes / 1000:.1f} kB per block",
            fix=f"set BLOCKSIZE to {smaller_kib * KIB} ({smaller_kib} KiB), with which nearly every block is one piece;"
            " the change takes effect with the next major compaction",
        )
    number = workload.regions
    if number / count > MOST_REGIONS:
        yield Warning(
            id="regions-many",
            severity="warning",
            message=f"{number / count:,.0f} regions on each RegionServer; the HBase guide recommends 20 to"
            f" {MOST_REGIONS}",
            fix="merge regions (a larger hbase.hregion.max.filesize), or use more nodes",
        )
    if number < count * LEAST_REGIONS:
        yield Warning(
            id="regions-few",
            severity="info",
            message=f"{number} {'region does' if number == 1 else 'regions do'} not spread evenly over {count}"
            " RegionServers, so the caches fill unevenly, too; and if a table has only one region on a server, that"
            " region splits at 256 MiB",
            fix=f"split the table into {count * LEAST_REGIONS} regions or more",
        )
    regions = inputs.regions
    # Each region draws its own limit, and the lowest that it can draw is an eighth below.
    if regions.mean_bytes >= regions.split_bytes * (1 - JITTER_FRACTION):
        keeps_blocks = world.release.keeps_blocks_on_split
        after = "" if keeps_blocks else ", and each split drops the cached blocks of its region"
        yield Warning(
            id="regions-split",
            severity="warning",
            message=f"{regions.count:,} regions of {format_size(regions.mean_bytes)} exceed the size at which HBase"
            f" splits them, {format_size(regions.split_bytes)} (HBase varies it by an eighth): they will split{after}",
            fix="remove the override of hbase.hregion.max.filesize, or set workload.regions to the number of regions"
            " after the splits",
        )
    if regions.mean_bytes > LARGEST_REGION_BYTES:
        enough = sum(max(part.regions, math.ceil(part.stored_bytes / LARGEST_REGION_BYTES)) for part in workload.parts)
        yield Warning(
            id="regions-large",
            severity="info",
            message=f"regions have {format_size(regions.mean_bytes)} each, and the HBase guide recommends 10 to 50 GB:"
            " a major compaction rewrites a whole region at once",
            fix=f"presplit the tables into {enough:,} regions or more",
        )
    for inspection in workload.inspections:
        yield from _families(inspection)
    yield from _tables(candidate)
    if (volume := candidate.data_volume) is not None:
        yield from _volumes(candidate, volume)


def _tables(candidate: Candidate) -> Iterator[Warning]:
    """Name each table whose own reads are outside a target, which is for the reads of all tables."""
    inputs, targets = candidate.inputs, candidate.inputs.requirements.targets
    if not inputs.demand.blocks.tables:
        return
    ratios = inputs.table_hit_ratios(candidate.hit_ratio(candidate.count))
    paths = candidate.performance(candidate.count).paths
    for path, ratio, table in zip(paths, ratios, inputs.table_reads, strict=True):
        seconds, most = path.percentiles.p99_ms / 1000, targets.p99_seconds
        outside = []
        if inputs.mode.has_bucket_cache and table.read.cacheable and ratio < targets.hit_ratio:
            outside.append(f"a hit ratio of {format_percent(ratio)} (target {format_percent(targets.hit_ratio)})")
        if most is not None and seconds > most:
            outside.append(f"a p99 of {format_duration(seconds)} (target {format_duration(most)})")
        if outside:
            yield Warning(
                id=f"table-{path.name}",
                severity="info",
                message=f"table {path.name} alone has {' and '.join(outside)}; the targets are for the reads of all"
                " tables together",
                fix="set stricter targets, or plan a cluster for this table alone",
            )


def _families(inspection: Inspection) -> Iterator[Warning]:
    """Yield the advice that an inspection's store files suggest, and warn where their figures are uncertain."""
    for family in inspection.families:
        if family.relative_error > MOST_ERROR:
            yield Warning(
                id=f"inspection-{family.table}-{family.name}",
                severity="warning",
                message=f"the blocks of {family.table} {family.name} are known only to within"
                f" {family.relative_error:.0%}: "
                f"{family.files_read:,} of {family.files:,} files were read",
                fix="run warmbase inspect with more --files, or with --all",
            )
        if family.unread_bytes:
            yield Warning(
                id=f"unread-{family.table}-{family.name}",
                severity="warning",
                message=f"store files of {family.table} {family.name} that could not be read hold an estimated "
                f"{format_size(family.unread_bytes)}, which the plan does not include",
                fix="run warmbase inspect to see which files and why, or set workload.stored yourself",
            )
    for advised in advice(inspection):
        yield Warning(
            id=f"family-{advised.table}-{advised.family}",
            severity="info",
            message=f"{advised.table} {advised.family}: {advised.why}",
            fix=f"{advised.setting}; but {advised.but}",
        )


def _volumes(candidate: Candidate, cache: Volume) -> Iterator[Warning]:
    """Warn of a volume that is too full, and of one that is larger or faster than EMR or the instance allows."""
    cache_bytes = candidate.cache_mib * MIB / cache.count
    if cache_bytes > FILL_FRACTION * cache.size_bytes:
        yield Warning(
            id="cache-volume-full",
            severity="warning",
            message=f"the cache fills {cache_bytes / cache.size_bytes:.0%} of its volume of {cache.size_gib} GiB",
            fix=f"make the volume {round(cache_bytes / FILL_FRACTION / GIB)} GiB or more",
        )
    if cache.type == "nvme":
        return
    if cache.size_gib > gp3.EMR_DOCUMENTED_GIB or cache.throughput_mib_s > gp3.EMR_DOCUMENTED_MIB_S:
        yield Warning(
            id="volume-beyond-emr-documents",
            severity="warning",
            message=f"EMR documents volumes up to {gp3.EMR_DOCUMENTED_GIB:,} GiB and "
            f"{gp3.EMR_DOCUMENTED_MIB_S:,} MiB/s; this one has {cache.size_gib:,} GiB, "
            f"{cache.throughput_mib_s:,} MiB/s",
            fix="the documentation is probably outdated; if EMR refuses the launch, use more nodes",
        )
    sustained = candidate.instance.ebs_sustained_bytes_per_second
    if cache.throughput_mib_s <= gp3.INCLUDED_MIB_S:
        return  # every volume has this much, and it costs nothing
    # The volumes of a cache are never busy evenly, so together they may be faster than the instance.
    together = cache.count if cache.purpose == "data" else 1
    if together * cache.bytes_per_second > sustained:
        yield Warning(
            id="volume-beyond-instance",
            severity="warning",
            message=f"{cache.throughput_mib_s} MiB/s is more than {candidate.instance.name} sustains to EBS "
            f"({sustained / MIB:.0f} MiB/s); the rest is available only in bursts",
            fix="provision what the instance sustains, or take a larger instance",
        )


OLD_PRICES: Final = timedelta(days=90)  # judgement: AWS lowers a price or adds a family about every quarter
_UPGRADE: Final = "to upgrade a running cluster, tear it down and launch it again on that release"


def freshness_warnings(requirements: Requirements, world: World) -> Iterator[Warning]:
    """Yield what a newer release improves for this cluster.

    If the day is known, also yield whether support has ended or prices are old.
    """
    release = world.release
    applies = {
        "": True,
        "cache": requirements.mode.has_bucket_cache,
        "s3": requirements.mode.keeps_data_in_s3,
        "replica": requirements.cluster.role == "replica",
    }
    improvements = [gain for gain in world.improvements if applies.get(gain.concerns)]
    if improvements:
        newest = improvements[-1].release
        yield Warning(
            id="release-newer",
            severity="info",
            message=f"{newest} {'; it '.join(f'{gain.text} ({gain.source})' for gain in improvements)}",
            fix=f"set release: {newest}; {_UPGRADE}",
        )
    if world.prices.basis:
        yield Warning(
            id="prices-estimated",
            severity="warning",
            message=f"no price list of {world.prices.region} was read: every price is an ESTIMATE from"
            f" {world.prices.basis}, so another type or count may be cheaper",
            fix=f"run {world.prices.note.refresh} with credentials of any account",
        )
    if world.today is None:
        return
    if release.support_until and release.support_until < world.today:
        yield Warning(
            id="release-past-support",
            severity="warning",
            message=f"standard support of {release.label} ended on or before {release.support_until}: AWS no longer"
            " fixes defects or security holes in it",
            fix=f"set a newer release; {_UPGRADE}",
        )
    if not world.prices.basis and date.fromisoformat(world.prices.as_of) < world.today - OLD_PRICES:
        yield Warning(
            id="prices-old",
            severity="info",
            message=f"the prices date from {world.prices.as_of}, more than {OLD_PRICES.days} days ago",
            fix=f"run {world.prices.note.refresh}",
        )
