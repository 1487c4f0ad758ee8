"""Publishes the figures of a RegionServer's cache over the last minute. Run by a systemd timer. Python 3.9.

HBase counts since its start, and its own hit ratio is a mean over its lifetime: it says nothing about the present, and
cannot be averaged over servers. So this program takes the difference of the counters on the node, and sends the figures
of each window to CloudWatch. A restart resets the counters: all that they then show has happened since. A window that
could not be published becomes part of the next one. Only the node can tell whether the cache survived a restart, and
whether its index is written.

Exit status: 0 if figures were published, which include a RegionServer that does not answer; 1 if none were.
Source: HBase 2.6 MetricsRegionServerSource; Amazon CloudWatch API Reference, PutMetricData.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from role_requests import (
    METADATA,
    Figure,
    Metadata,
    MetricData,
    Request,
    Unanswered,
    node_dimensions,
    put_metrics,
    send,
)

REGION_SERVER = "http://127.0.0.1:16030"
BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Server"
META = "Namespace_hbase_table_meta_region_1588230740_metric_storeCount"  # hbase:meta has exactly one region
META_BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Regions"
CACHE = Path("/warmbase/cache")
INDEX = CACHE / "index" / "bucketcache.index"
BLOCK_DEVICES = Path("/sys/dev/block")
JOB_FLOW = Path("/mnt/var/lib/info/job-flow.json")
STATE = Path("/var/lib/warmbase/cache-counters.json")
# The page comes from counters in memory; a RegionServer that takes longer is in a long pause.
JMX_SECONDS = 5.0
# judgement: the figures of a longer window would pass for those of a minute.
LONGEST_WINDOW_SECONDS = 900.0
COLD, COOL = 0.80, 0.90
# judgement: longer than any planned warm-up; what is not cached again by then is no longer read.
LONG_UP_SECONDS = 6 * 3600.0
# judgement: two misses in a handful of reads a minute are not a cold cache.
LEAST_READS = 60
LARGEST_LONG = (1 << 63) - 1
SECTOR_BYTES = 512  # the unit of /sys/dev/block/*/stat, whatever the device's own sector is


class Counters(NamedTuple):
    """The counters of the RegionServer since `started` and of its cache volumes, and how full its cache is."""

    started: int
    hits: int
    misses: int
    evictions: int
    failed_insertions: int
    long_pauses: int
    used_bytes: int
    free_bytes: int
    volume_bytes: list[int]
    volume_operations: list[int]


class Memory(NamedTuple):
    """The state that one run leaves for the next.

    `bytes_before_restart` is what was cached when the RegionServer last ended; `changed_at` is when its cache first
    differed from its index, and None while it does not.
    """

    at: float
    counters: Counters
    bytes_before_restart: int = 0
    changed_at: float | None = None


def say(message: str) -> None:
    """Writes a line to the journal of the unit."""
    sys.stderr.write(f"publish-cache-metrics: {message}\n")


def bean_of(url: str, query: str) -> dict[str, object] | None:
    """Return a bean of the RegionServer; None where it does not answer, or has none."""
    try:
        answer = send(Request("GET", f"{url}/jmx?{query}", {}), JMX_SECONDS)
        [bean] = json.loads(answer.body)["beans"]
        return dict(bean)
    except (Unanswered, ValueError, KeyError, TypeError):
        return None


def counters(bean: dict[str, object], volumes: list[tuple[int, int]]) -> Counters | None:
    """Return the RegionServer's counters; None where it is starting and has not all of them."""
    try:
        return Counters(
            started=whole(bean["regionServerStartTime"]),
            hits=whole(bean["l2CacheHitCount"]),
            misses=whole(bean["l2CacheMissCount"]),
            evictions=whole(bean["l2CacheEvictionCount"]),
            failed_insertions=whole(bean["blockCacheFailedInsertionCount"]),
            long_pauses=whole(bean.get("pauseWarnThresholdExceeded", 0)),
            used_bytes=whole(bean["l2CacheSize"]),
            free_bytes=whole(bean["l2CacheFreeSize"]),
            volume_bytes=[moved for moved, _ in volumes],
            volume_operations=[operations for _, operations in volumes],
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def whole(value: object) -> int:
    """Return a counter of HBase, which is a long. Raises ValueError or OverflowError for any other number."""
    count = int(value)  # type: ignore[call-overload]
    if abs(count) > LARGEST_LONG:
        raise ValueError(f"{count:.3g} is not a long")
    return count


def volume_counters(directory: Path, devices: Path) -> tuple[int, int]:
    """Return bytes and operations of the directory's volume since it was attached; 0 where the kernel has none."""
    with suppress(OSError, ValueError, IndexError):
        device = directory.stat().st_dev
        stat = (devices / f"{os.major(device)}:{os.minor(device)}" / "stat").read_text().split()
        return SECTOR_BYTES * (int(stat[2]) + int(stat[6])), int(stat[0]) + int(stat[4])
    return 0, 0


def cache_volumes(first: Path) -> list[Path]:
    """Return where the cache volumes are mounted: `first`, and its neighbours cache-2, cache-3 and so on."""
    return [first, *sorted(first.parent.glob(f"{first.name}-[0-9]*"))]


def busiest(before: list[int], now: list[int]) -> int:
    """Return the largest change of a counter on any volume, or 0 without volumes."""
    return max((after - earlier for earlier, after in zip(before, now)), default=0)


def window(before: Counters, now: Counters, misses_for_one: int) -> list[Figure]:
    """Return the figures of the window between two runs; without a read it has no hit ratio.

    HBase counts a miss twice where `misses_for_one` is 2: a reader that misses looks again under the block's lock.
    """
    if now.started != before.started:
        volume = {"volume_bytes": before.volume_bytes, "volume_operations": before.volume_operations}
        before = Counters(now.started, 0, 0, 0, 0, 0, 0, 0, [], [])._replace(**volume)
    hits = now.hits - before.hits
    misses = (now.misses - before.misses) / misses_for_one
    size_bytes = now.used_bytes + now.free_bytes
    figures = [
        Figure("Hits", hits, "Count"),
        Figure("Misses", misses, "Count"),
        # These divisions of whole numbers leave no rounding error that would add up over servers.
        Figure("MissesOver90", misses - (hits + misses) / 10, "Count"),
        Figure("MissesOver80", misses - (hits + misses) / 5, "Count"),
        Figure("Evictions", now.evictions - before.evictions, "Count"),
        Figure("FailedInsertions", now.failed_insertions - before.failed_insertions, "Count"),
        Figure("LongPauses", now.long_pauses - before.long_pauses, "Count"),
        Figure("Fill", now.used_bytes / size_bytes if size_bytes else 0.0, "None"),
        Figure("FreeBytes", now.free_bytes, "Bytes"),
        Figure("VolumeBytes", max(0, busiest(before.volume_bytes, now.volume_bytes)), "Bytes"),
        Figure("VolumeOperations", max(0, busiest(before.volume_operations, now.volume_operations)), "Count"),
    ]
    if hits + misses > 0:
        ratio = hits / (hits + misses)
        figures += [
            Figure("HitRatio", ratio, "None"),
            Figure("Below90", float(ratio < COOL and hits + misses >= LEAST_READS), "Count"),
            Figure("Below80", float(ratio < COLD and hits + misses >= LEAST_READS), "Count"),
        ]
    return figures


def recalled(before: Memory | None, now: Counters, at: float, index: Path) -> Memory:
    """Return the state that this run leaves for the next."""
    if before is None:
        return Memory(at, now)
    bytes_before_restart, changed_at = before.bytes_before_restart, before.changed_at
    if now.started != before.counters.started:
        # A second restart before the cache was full again must not hide what the first one lost.
        refilled = before.counters.used_bytes >= bytes_before_restart / 2
        bytes_before_restart, changed_at = before.counters.used_bytes if refilled else bytes_before_restart, None
    written_at = 0.0
    with suppress(OSError):
        written_at = index.stat().st_mtime
    if changed_at is not None and written_at >= changed_at:
        changed_at = None
    old, new = before.counters, now
    changed = (old.used_bytes, old.evictions) != (new.used_bytes, new.evictions)
    # An index written since the last run may contain the change; a later change shows in a later run.
    if changed_at is None and changed and old.started == new.started and written_at < before.at:
        changed_at = at
    return Memory(at, now, bytes_before_restart, changed_at)


def cache_lost(memory: Memory, up_seconds: float) -> bool:
    """Return whether a restart left less than half of what was cached before it and still has room in the cache."""
    now = memory.counters
    before_bytes = min(memory.bytes_before_restart, now.used_bytes + now.free_bytes)
    return up_seconds < LONG_UP_SECONDS and now.used_bytes < before_bytes / 2


def current_figures(options: argparse.Namespace, bean: dict[str, object], memory: Memory) -> list[Figure]:
    """Return the figures that need no window."""
    up_seconds = memory.at - memory.counters.started / 1000
    behind_seconds = 0.0 if memory.changed_at is None else memory.at - memory.changed_at
    meta = bean_of(options.region_server, f"get={quote(f'{META_BEAN}::{META}', safe=':=,')}")
    figures = [
        Figure("UpSeconds", max(0.0, up_seconds), "Seconds"),
        Figure("HostsMeta", float(meta is not None and META in meta), "Count"),
        Figure("CacheLost", float(cache_lost(memory, up_seconds)), "Count"),
        Figure("IndexBehindSeconds", behind_seconds, "Seconds"),
    ]
    with suppress(OSError):
        disks = [os.statvfs(volume) for volume in cache_volumes(options.cache)]
        figures.append(Figure("DiskUsed", max(1 - disk.f_bavail / disk.f_blocks for disk in disks), "None"))
    with suppress(KeyError, TypeError, ValueError):
        figures.append(Figure("GetP99", float(str(bean["Get_99th_percentile"])), "Milliseconds"))
    return figures


def remembered(state: Path, now_seconds: float) -> Memory | None:
    """Return the state that the last run left; None where it cannot be read, or lies in the future."""
    try:
        fields = json.loads(state.read_text(encoding="utf-8"))
        if fields["at"] >= now_seconds:
            return None
        before = Counters(**{name: counts(fields["counters"][name]) for name in Counters._fields})
        changed_at = None if fields["changed_at"] is None else float(fields["changed_at"])
        return Memory(float(fields["at"]), before, int(fields["bytes_before_restart"]), changed_at)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def counts(value: object) -> object:
    """Return a counter, or the counters of each volume, as whole numbers."""
    return [whole(count) for count in value] if isinstance(value, list) else whole(value)


def remember(state: Path, memory: Memory) -> None:
    """Writes the state for the next run; the file is always whole."""
    state.parent.mkdir(parents=True, exist_ok=True)
    half = state.with_name(f"{state.name}.new")
    half.write_text(json.dumps({**memory._asdict(), "counters": memory.counters._asdict()}), encoding="utf-8")
    half.replace(state)


def publish(options: argparse.Namespace, figures: list[Figure], at: datetime) -> None:
    """Sends the figures to CloudWatch. Raises Unanswered where it does not accept them."""
    for figure in figures:
        if not math.isfinite(figure.value):
            say(f"{figure.name} is {figure.value} and is left out, because CloudWatch would refuse all figures with it")
    metadata = Metadata(options.metadata)
    dimensions = node_dimensions(metadata, options.job_flow)
    finite = [figure for figure in figures if math.isfinite(figure.value)]
    put_metrics(metadata, options.cloudwatch, MetricData(finite, dimensions, at))


def arguments() -> argparse.Namespace:
    """Return the arguments of the unit; the URLs are the node's own except in tests."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--misses-for-one", type=int, choices=[1, 2], required=True)
    parser.add_argument("--region-server", default=REGION_SERVER)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--index", type=Path, default=INDEX)
    parser.add_argument("--block-devices", type=Path, default=BLOCK_DEVICES)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--cloudwatch", help="https://monitoring.REGION.amazonaws.com if not given")
    return parser.parse_args()


def main() -> int:
    """Return the exit status for systemd."""
    options = arguments()
    bean, at = bean_of(options.region_server, f"qry={quote(BEAN, safe=':=,')}"), time.time()
    volumes = [volume_counters(volume, options.block_devices) for volume in cache_volumes(options.cache)]
    now = counters(bean, volumes) if bean else None
    figures = [Figure("Answering", float(now is not None), "Count")]
    before, memory = remembered(options.state, at), None
    if bean is None or now is None:
        say(f"the RegionServer at {options.region_server} does not answer")
    else:
        memory = recalled(before, now, at, options.index)
        figures += current_figures(options, bean, memory)
        if before is not None and at - before.at <= LONGEST_WINDOW_SECONDS:
            figures += window(before.counters, now, options.misses_for_one)
    try:
        publish(options, figures, datetime.fromtimestamp(at, timezone.utc))
        if memory is not None:
            remember(options.state, memory)
    except (Unanswered, OSError, ValueError, KeyError, TypeError) as fault:
        say(f"nothing was published: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
