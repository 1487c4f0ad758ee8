"""An invented run with everything that a page may have to show; no number of it was ever measured."""

from __future__ import annotations

import math
from typing import Final

from lab.hbase.experiment import SAME, at_most, within, within_difference, within_factor
from lab.hbase.result import Chart, Machine, Measurement, Run, Scenario, Series, Substitution

__all__ = ["HOSTILE", "RUN", "hostile_run"]

GIB: Final = 2**30
HOSTILE: Final = """</title><script>alert("x")</script> & 'a' | b"""


def _curve(seconds: float, most: float, name: str, noise: float = 0.0) -> Series:
    points = tuple(
        (x / 2, most * (1 - math.exp(-x / 2 / seconds)) * (1 + noise * math.sin(x * 1.7))) for x in range(1200)
    )
    return Series(name=name, points=points)


WARMING: Final = Scenario(
    name="warm-up",
    title="Warming by reads and by prefetch",
    question="How fast does an empty BucketCache fill, and does the hit ratio follow the curve that the plan predicts?",
    figures=(
        Measurement(
            case="reads alone",
            name="hit ratio after 10 min",
            measured=0.91271,
            predicted=0.9231,
            because="the LRU curve of Zipf 0.99 over 600,000 rows, at the reads a second that were measured",
            target=within_difference(0.03),
        ),
        Measurement(
            case="prefetch",
            name="time until 95 % of the blocks are cached",
            unit="s",
            measured=41.07,
            predicted=33.6,
            because="18,766 blocks of 64 KiB over 8 threads of `hbase.hfile.thread.prefetch`, 20 ms to the first byte "
            "of each GET, and what is left of 2 cores while the load runs beside it",
            target=within(0.2),
        ),
        Measurement(
            case="prefetch",
            name="GETs in all",
            unit="GETs",
            measured=18_939,
            predicted=18_766,
            because="one for each block",
            target=within(0.05),
        ),
        Measurement(
            case="prefetch",
            name="idle cores",
            measured=0.04,
            because="of all cores, while it ran: bound by this machine's cores, which the clients and the S3 server "
            "share",
        ),
        Measurement(
            case="prefetch",
            name="read from S3",
            unit="B/s",
            measured=31.3e6,
            because="bytes that the proxy counted, over the time that prefetch took",
        ),
    ),
    charts=(
        Chart(
            title="Hit ratio while the cache warms by reads alone",
            x="time since the first read, s",
            y="hit ratio of the BucketCache",
            series=(
                _curve(150, 0.93, "uniform", 0.02),
                _curve(140, 0.93, "predicted uniform"),
                _curve(70, 0.97, "Zipf 0.99", 0.01),
                _curve(66, 0.97, "predicted Zipf 0.99"),
            ),
        ),
        Chart(
            title="GETs while prefetch fills the cache",
            x="time since the region opened, s",
            y="GETs since the start",
            series=(_curve(20, 18_939, "prefetch"), _curve(17, 18_766, "predicted prefetch")),
        ),
    ),
    limits=(
        "S3 is a proxy on loopback that waits 20 ms before the first byte: it neither throttles nor varies.",
        "One RegionServer; a cluster's regions open in parallel.",
    ),
    seed=7,
    began="2026-03-01T10:02:11+00:00",
    seconds=611.4,
    tried=(
        Substitution(
            key="hbase.rs.prefetchblocksonopen", rendered="true", lab="false", why="so that reads alone warm the cache"
        ),
    ),
)

RESTART: Final = Scenario(
    name="restart",
    title="Restart with and without a persistent cache",
    question="What is left of the cache after a clean stop, kill -9, and without `hbase.bucketcache.persistent.path`?",
    figures=(
        Measurement(
            case="clean stop",
            name="blocks recovered",
            unit="blocks",
            measured=18_766,
            predicted=18_766,
            because="all that were cached",
            target=SAME,
        ),
        Measurement(
            case="kill -9",
            name="blocks recovered",
            unit="blocks",
            measured=17_102,
            predicted=18_771,
            because="all but those cached since the last checkpoint, `hbase.bucketcache.persist.intervalinmillis` ago",
            target=within(0.02),
        ),
        Measurement(
            case="kill -9",
            name="time until all regions are back",
            unit="s",
            measured=27.81,
            predicted=9.3,
            because="session time-out, reading the index back, one region open after the other",
            target=within_factor(2),
        ),
        Measurement(
            case="no persistent path",
            name="hit ratio of the first 15 s",
            measured=0.0000312,
            predicted=0.0,
            because="the cache begins empty",
            target=at_most(0.05),
        ),
        Measurement(
            case="no persistent path",
            name="the RegionServer says",
            measured="Persistence file missing! It's ok if it's first run",
            predicted="Persistence file missing! It's ok if it's first run",
            because="its log, 2.6.4",
            target=SAME,
        ),
    ),
    charts=(
        Chart(
            title="Reads a second after the restart",
            x="time since the process was started, s",
            y="reads/s",
            series=(
                Series(name="clean stop", points=((25, 6284), (40, 12_100), (55, 15_020), (70, 15_344))),
                Series(name="kill -9", points=((28, 6809), (43, 11_870), (58, 14_900), (73, 15_201))),
                Series(name="no persistent path", points=((24, 210), (39, 240), (54, 262), (69, 301))),
            ),
        ),
    ),
    limits=("Eighteen regions; what a terabyte of index takes to read back is computed, not measured.",),
    seed=8,
    began="2026-03-01T10:14:00+00:00",
    seconds=262,
)

ALLOCATOR: Final = Scenario(
    name="bucket-sizes",
    title="Bucket sizes",
    question="Does the RegionServer hold as many blocks as the model of its allocator says?",
    figures=tuple(
        Measurement(
            case=f"{cell:,} B a cell, {sizes} list",
            name="blocks held",
            unit="blocks",
            measured=blocks,
            predicted=blocks,
            because="the allocator, modelled bucket by bucket",
            target=SAME,
        )
        for cell, sizes, blocks in ((100, "default", 15_884), (100, "our", 16_068), (10_240, "default", 11_890))
    ),
    charts=(),
    limits=(),
    seed=9,
    began="2026-03-01T10:20:00+00:00",
    seconds=95.2,
)

RUN: Final = Run(
    environment="prod",
    release="emr-7.12.0",
    command="warmbase lab prod --scenario all --output html",
    software=(("HBase", "2.6.4-hadoop3"), ("Hadoop", "3.4.2"), ("JVM", "Temurin 21.0.8"), ("YCSB", "0.17.0")),
    substitution="emr-7.12.0 has HBase 2.6.2-amzn-2; here is Apache's 2.6.4, the nearest on Maven Central.",
    machine=Machine(
        cores=2,
        memory_bytes=24 * GIB,
        kernel="Linux 6.1.0",
        disk_is_limited=False,
        memory_is_limited=False,
    ),
    scale=(
        ("BucketCache of a node", "1.27 TiB", "1 GiB"),
        ("heap of a RegionServer", "31 GiB", "1.5 GiB"),
        ("data", "7.185 TiB", "1.25 GiB"),
        ("RegionServers", "12", "1"),
    ),
    properties=47,
    substitutions=(
        Substitution(
            key="hbase.rootdir", rendered="s3://warmbase-prod/hbase/", lab="s3a://lab/", why="the S3 server of the lab"
        ),
        Substitution(
            key="fs.s3a.endpoint", rendered=None, lab="http://127.0.0.1:41873", why="the S3 server of the lab"
        ),
        Substitution(
            key="hbase.bucketcache.bucket.sizes",
            rendered=",".join(str(size) for size in range(5_120, 70_000, 1_024)),
            lab=None,
            why="one scenario sets it, the others do not need it",
        ),
        Substitution(key="hbase.bucketcache.size", rendered="1331200", lab="1024", why="the size of this machine"),
    ),
    scenarios=(WARMING, RESTART, ALLOCATOR),
)


def hostile_run() -> Run:
    """A run whose every text is markup."""
    figure = Measurement(
        case=HOSTILE,
        name=HOSTILE,
        unit=HOSTILE,
        measured=1.5,
        predicted=HOSTILE,
        because=HOSTILE,
        target=SAME,
    )
    line = Series(name=HOSTILE, points=((0, 1), (1, 2)))
    scenario = Scenario(
        name=HOSTILE,
        title=HOSTILE,
        question=HOSTILE,
        figures=(figure,),
        charts=(Chart(title=HOSTILE, x=HOSTILE, y=HOSTILE, series=(line,)),),
        limits=(HOSTILE,),
        seed=1,
        began=HOSTILE,
        seconds=1,
        tried=(Substitution(key=HOSTILE, rendered=HOSTILE, lab=HOSTILE, why=HOSTILE),),
    )
    return Run(
        environment=HOSTILE,
        release=HOSTILE,
        command=HOSTILE,
        software=((HOSTILE, HOSTILE),),
        substitution=HOSTILE,
        machine=Machine(cores=1, memory_bytes=GIB, kernel=HOSTILE, disk_is_limited=True, memory_is_limited=True),
        scale=((HOSTILE, HOSTILE, HOSTILE),),
        properties=1,
        substitutions=(Substitution(key=HOSTILE, rendered=HOSTILE, lab=HOSTILE, why=HOSTILE),),
        scenarios=(scenario,),
    )
