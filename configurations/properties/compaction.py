"""Properties of compactions: large ones wait for the night, because the blocks that one replaces leave the cache.

The night is that of the AWS region. HBase's off-peak hours alone make no compaction wait: they raise the ratio by which
files are selected, and lift the limit on throughput. So by day the size of a minor compaction is limited, and at night
its throughput. HBase runs one off-peak compaction at a time on a RegionServer.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    BYTES,
    EMR_HBASE_S3,
    HBASE_262,
    HBASE_CONFIGURATION,
    LONG,
    THREADS,
    Applied,
    Decimal,
    Whole,
)
from warmbase.facts.ec2 import utc_offset_hours
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.server.write_path import (
    DAY_LIMIT_BYTES,
    FEWEST_FILES,
    LARGE_COMPACTION_BYTES,
    LOWER_BOUND_BYTES,
    MOST_FILES,
    RATIO,
)

# judgement: most services have the fewest reads in these four hours; override them if your users are elsewhere.
NIGHT_BEGINS: Final = 1
NIGHT_ENDS: Final = 5
# The ratio by day. In a simulation of HBase's selection, HBase's default at night, 5, writes up to twice as much,
# because HBase then rewrites a region as soon as it has received a fifth of its size.
NIGHT_RATIO: Final = RATIO
HOURS: Final = 24

_core = partial(
    hbase_site, applied=Applied.LIVE, when=RenderingContext.is_active, source=f"{HBASE_262}; {HBASE_CONFIGURATION}"
)


def hour_utc(hour: int, region: str) -> int:
    """Return an hour of the region's winter time in UTC, as nodes count them; half hours of an offset are cut off."""
    return (hour - int(utc_offset_hours(region))) % HOURS


COMPACTION: Final = (
    _core(
        "hbase.hregion.majorcompaction",
        Whole(unit="ms", least=0, most=LONG),
        "a major compaction replaces every cached block, so it runs when you start it, and not by the calendar",
        value="0",
        when=RenderingContext.has_bucket_cache,
        needed_by="hit ratio under writes, and compactions in waves",
    ),
    _core(
        "hbase.hregion.majorcompaction.jitter",
        Decimal(unit="fractions of the interval", least=0, most=1),
        "spreads the calendar's major compactions; without a calendar it has no effect",
    ),
    _core(
        "hbase.offpeak.start.hour",
        Whole(unit="o'clock UTC", least=-1, most=23),
        f"large compactions wait until {NIGHT_BEGINS} o'clock by the region's winter time, because the blocks "
        "that one replaces drop out of the cache, and most services have the fewest reads then",
        value=lambda context: str(hour_utc(NIGHT_BEGINS, context.region)),
        needed_by="compactions by day and at night",
    ),
    _core(
        "hbase.offpeak.end.hour",
        Whole(unit="o'clock UTC", least=-1, most=23),
        f"large compactions start until {NIGHT_ENDS} o'clock by the region's winter time",
        value=lambda context: str(hour_utc(NIGHT_ENDS, context.region)),
        needed_by="compactions by day and at night",
    ),
    _core(
        "hbase.hstore.compaction.ratio.offpeak",
        Decimal(unit="ratio", above=0),
        "the ratio by which HBase selects files for compaction in the off-peak hours; this is HBase's default "
        "by day. With its off-peak default of 5, HBase rewrites a whole region, and replaces its cached blocks, as "
        "soon as the region has received a fifth of its size",
        value=str(NIGHT_RATIO),
        needed_by="bytes that compactions write",
    ),
    _core(
        "hbase.hstore.compaction.max.size",
        BYTES,
        f"by day, a minor compaction reads at most {DAY_LIMIT_BYTES / GIB:.0f} GiB, enough for flushes and a "
        "few rounds of merging them, or a quarter of what a region receives in a day if that is more. Where one "
        "compaction at a time cannot merge a day's writes in a night, no compaction waits for the night",
        figure="writes.settings.day_limit_bytes",
    ),
    _core(
        "hbase.hstore.compaction.max.size.offpeak",
        BYTES,
        "at night one compaction at a time on a RegionServer reads files of any size",
        value=str(LONG),
        needed_by="bytes that compactions write",
    ),
    _core(
        "hbase.hstore.compaction.min.size",
        BYTES,
        "files that together are smaller than this are merged whatever their ratio. The default of 128 MiB does "
        "not follow the flush size, and with it each flush of a few MiB is written dozens of times. HBase writes least "
        "if this is the size of one flush's store file; a store then has about two files more",
        figure="writes.settings.min_size_bytes",
        source=f"{HBASE_262}; hbase-default.xml",
    ),
    _core(
        "hbase.hstore.compaction.throughput.offpeak",
        Whole(unit="bytes/s", least=1, most=LONG),
        "the rate of a quiet day; without a limit, compactions at night would use the whole throughput of the "
        "cache volume",
        figure="writes.settings.night_bytes",
    ),
    _core(
        "hbase.hstore.compaction.throughput.lower.bound",
        Whole(unit="bytes/s", least=1, most=LONG),
        "the rate at which compactions write by day while stores have few files: HBase's default of "
        f"{LOWER_BOUND_BYTES / MIB:.0f} MiB/s, or what the planned writes need",
        figure="writes.settings.compaction_lower_bytes",
    ),
    _core(
        "hbase.hstore.compaction.throughput.higher.bound",
        Whole(unit="bytes/s", least=1, most=LONG),
        "the highest rate at which compactions write by day, when stores have many files: twice the lower one, "
        "as in HBase's defaults",
        figure="writes.settings.compaction_higher_bytes",
    ),
    _core(
        "hbase.hstore.blockingStoreFiles",
        Whole(unit="store files", least=1),
        "a store with more files than this is not flushed until a compaction has merged some, or until"
        " hbase.hstore.blockingWaitTime has passed. A store whose compactions keep up has at most 14. EMR documents a"
        " default of 10",
        applied=Applied.ROLLING_RESTART,
        figure="writes.settings.blocking_store_files",
        source=f"{HBASE_262}; {EMR_HBASE_S3}",
    ),
    _core(
        "hbase.hstore.flusher.count",
        THREADS,
        "the number of regions that are flushed at the same time, enough to keep up with the planned writes",
        applied=Applied.ROLLING_RESTART,
        figure="writes.settings.flushers",
        source=HBASE_262,
    ),
    _core(
        "hbase.hstore.compaction.min",
        Whole(unit="store files", least=2),
        "the number of files that starts a compaction. EMR is said to set its old name, "
        "hbase.hstore.compactionThreshold, to 8; HBase reads the old name only where this one is missing",
        value=str(FEWEST_FILES),
        needed_by="bytes that compactions write, files of a store, reads from S3",
        source=HBASE_262,
    ),
    _core(
        "hbase.hstore.compaction.max",
        Whole(unit="store files", least=2),
        "a compaction merges no more files than this",
        value=str(MOST_FILES),
        needed_by="bytes that compactions write, and the initial load",
        source=HBASE_262,
    ),
    _core(
        "hbase.hstore.compaction.ratio",
        Decimal(unit="ratio", above=0),
        "by day, HBase merges a file only if it is at most this many times as large as the newer files together",
        value=str(RATIO),
        needed_by="bytes that compactions write",
    ),
    _core(
        "hbase.regionserver.thread.compaction.throttle",
        BYTES,
        "the size from which a compaction counts as large; HBase's default",
        value=str(LARGE_COMPACTION_BYTES),
        applied=Applied.ROLLING_RESTART,
        needed_by="the numbers of threads for small and for large compactions",
        source=HBASE_262,
    ),
    _core(
        "hbase.regionserver.thread.compaction.large",
        THREADS,
        "the number of large compactions at the same time; each reads S3 and writes the cache while reads are served",
        figure="writes.settings.large_compactions",
    ),
    _core(
        "hbase.regionserver.thread.compaction.small",
        THREADS,
        "the number of small compactions at the same time, enough to keep up with the planned writes",
        figure="writes.settings.small_compactions",
    ),
)
