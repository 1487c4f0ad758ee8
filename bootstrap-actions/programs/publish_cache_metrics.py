"""Publishes what a RegionServer's cache did in the last minute. Run by a systemd timer. Python 3.9.

HBase counts since its start, and what it calls a hit ratio is a mean over its life: it tells nothing of now, and cannot
be averaged over servers. So the counters are differenced here, where they are, and each window's own figures go to
CloudWatch. A restart begins them anew: what they then show has all happened since. A window that could not be published
becomes part of the next one. Whether a restart has kept the cache, and whether its index is written, only the node can
tell.

Exit status: 0 where something was published, or the RegionServer does not answer, which is published too; 1 else.
Source: HBase 2.6 MetricsRegionServerSource; Amazon CloudWatch API Reference, PutMetricData.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from role_requests import METADATA, Metadata, Request, Unanswered, send, signed

REGION_SERVER = "http://127.0.0.1:16030"
BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Server"
META = "Namespace_hbase_table_meta_region_1588230740_metric_storeCount"  # of HBase's one region of that name
META_BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Regions"
CACHE = Path("/warmbase/cache")
INDEX = CACHE / "index" / "bucketcache.index"
BLOCK_DEVICES = Path("/sys/dev/block")
JOB_FLOW = Path("/mnt/var/lib/info/job-flow.json")
STATE = Path("/var/lib/warmbase/cache-counters.json")
NAMESPACE = "warmbase"
# The page is made from counters in memory; a RegionServer in a long pause is left alone after that.
JMX_SECONDS = 5.0
# judgement: after a quarter of an hour without a look a window's figures would be called a minute's and be none.
LONGEST_WINDOW_SECONDS = 900.0
COLD, COOL = 0.80, 0.90
# judgement: longer than a warm-up is planned to take; what is not refilled by then is not asked for any more.
LONG_UP_SECONDS = 6 * 3600.0
# judgement: of a handful of reads a minute two misses are no cold cache.
LEAST_READS = 60
SECTOR_BYTES = 512  # of /sys/dev/block/*/stat, whatever the device's own are


class Counters(NamedTuple):
    """What the RegionServer, and its cache's volume, have counted since `started`, and how full its cache is."""

    started: int
    hits: int
    misses: int
    evictions: int
    failed_insertions: int
    long_pauses: int
    used_bytes: int
    free_bytes: int
    volume_bytes: int
    volume_operations: int


class Memory(NamedTuple):
    """What is remembered of the looks before.

    `kept_bytes` is what was cached when the RegionServer last ended; `changed_at` when its cache was first seen to
    differ from what its index has, None while it does not.
    """

    at: float
    counters: Counters
    kept_bytes: int = 0
    changed_at: float | None = None


class Figure(NamedTuple):
    """One metric of one window."""

    name: str
    value: float
    unit: str


def say(message: str) -> None:
    """Return a line in the journal of the unit."""
    sys.stderr.write(f"publish-cache-metrics: {message}\n")


def bean_of(url: str, query: str) -> dict[str, object] | None:
    """A bean of the RegionServer; None where it does not answer, or has none."""
    try:
        answer = send(Request("GET", f"{url}/jmx?{query}", {}), JMX_SECONDS)
        [bean] = json.loads(answer.body)["beans"]
        return dict(bean)
    except (Unanswered, ValueError, KeyError, TypeError):
        return None


def counters(bean: dict[str, object], volume: tuple[int, int]) -> Counters | None:
    """Return what the RegionServer says; None where it has only begun to."""
    try:
        return Counters(
            started=int(bean["regionServerStartTime"]),
            hits=int(bean["l2CacheHitCount"]),
            misses=int(bean["l2CacheMissCount"]),
            evictions=int(bean["l2CacheEvictionCount"]),
            failed_insertions=int(bean["blockCacheFailedInsertionCount"]),
            long_pauses=int(bean.get("pauseWarnThresholdExceeded", 0)),
            used_bytes=int(bean["l2CacheSize"]),
            free_bytes=int(bean["l2CacheFreeSize"]),
            volume_bytes=volume[0],
            volume_operations=volume[1],
        )
    except (ValueError, KeyError, TypeError):
        return None


def volume_counters(directory: Path, devices: Path) -> tuple[int, int]:
    """Bytes and operations of the volume that has the directory, since it is there; 0 where the kernel does not say."""
    with suppress(OSError, ValueError, IndexError):
        device = directory.stat().st_dev
        stat = (devices / f"{os.major(device)}:{os.minor(device)}" / "stat").read_text().split()
        return SECTOR_BYTES * (int(stat[2]) + int(stat[6])), int(stat[0]) + int(stat[4])
    return 0, 0


def window(before: Counters, now: Counters, misses_for_one: int) -> list[Figure]:
    """The figures of what lies between; without a read there is no ratio to publish.

    HBase counts a miss twice where `misses_for_one` is 2: a reader that misses looks again under the block's lock.
    """
    if now.started != before.started:
        volume = {"volume_bytes": before.volume_bytes, "volume_operations": before.volume_operations}
        before = Counters(now.started, 0, 0, 0, 0, 0, 0, 0, 0, 0)._replace(**volume)
    hits = now.hits - before.hits
    misses = (now.misses - before.misses) / misses_for_one
    size_bytes = now.used_bytes + now.free_bytes
    figures = [
        Figure("Hits", hits, "Count"),
        Figure("Misses", misses, "Count"),
        # Of whole numbers these divisions leave nothing that would add up over servers.
        Figure("MissesOver90", misses - (hits + misses) / 10, "Count"),
        Figure("MissesOver80", misses - (hits + misses) / 5, "Count"),
        Figure("Evictions", now.evictions - before.evictions, "Count"),
        Figure("FailedInsertions", now.failed_insertions - before.failed_insertions, "Count"),
        Figure("LongPauses", now.long_pauses - before.long_pauses, "Count"),
        Figure("Fill", now.used_bytes / size_bytes if size_bytes else 0.0, "None"),
        Figure("FreeBytes", now.free_bytes, "Bytes"),
        Figure("VolumeBytes", max(0, now.volume_bytes - before.volume_bytes), "Bytes"),
        Figure("VolumeOperations", max(0, now.volume_operations - before.volume_operations), "Count"),
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
    """Return what is to be remembered of this look."""
    if before is None:
        return Memory(at, now)
    kept_bytes, changed_at = before.kept_bytes, before.changed_at
    if now.started != before.counters.started:
        # One that was restarted again before it had refilled has not lost less by that.
        refilled = before.counters.used_bytes >= kept_bytes / 2
        kept_bytes, changed_at = before.counters.used_bytes if refilled else kept_bytes, None
    written_at = 0.0
    with suppress(OSError):
        written_at = index.stat().st_mtime
    if changed_at is not None and written_at >= changed_at:
        changed_at = None
    old, new = before.counters, now
    changed = (old.used_bytes, old.evictions) != (new.used_bytes, new.evictions)
    # An index that was written since the last look may have what changed since; what changes later is seen later.
    if changed_at is None and changed and old.started == new.started and written_at < before.at:
        changed_at = at
    return Memory(at, now, kept_bytes, changed_at)


def cache_lost(kept: Memory, up_seconds: float) -> bool:
    """Return whether a restart has left less than half of what was cached before it, of what the cache has room for."""
    seen = kept.counters
    before_bytes = min(kept.kept_bytes, seen.used_bytes + seen.free_bytes)
    return up_seconds < LONG_UP_SECONDS and seen.used_bytes < before_bytes / 2


def of_now(given: argparse.Namespace, bean: dict[str, object], kept: Memory) -> list[Figure]:
    """Return the figures that need no window."""
    up_seconds = kept.at - kept.counters.started / 1000
    meta = bean_of(given.region_server, f"get={quote(f'{META_BEAN}::{META}', safe=':=,')}")
    figures = [
        Figure("UpSeconds", max(0.0, up_seconds), "Seconds"),
        Figure("HostsMeta", float(meta is not None and META in meta), "Count"),
        Figure("CacheLost", float(cache_lost(kept, up_seconds)), "Count"),
        Figure("IndexBehindSeconds", kept.at - kept.changed_at if kept.changed_at is not None else 0.0, "Seconds"),
    ]
    with suppress(OSError):
        disk = os.statvfs(given.cache)
        figures.append(Figure("DiskUsed", 1 - disk.f_bavail / disk.f_blocks, "None"))
    with suppress(KeyError, TypeError, ValueError):
        figures.append(Figure("GetP99", float(str(bean["Get_99th_percentile"])), "Milliseconds"))
    return figures


def remembered(state: Path, now_seconds: float) -> Memory | None:
    """Return what was seen at the last look; None where that cannot be read, or is not over."""
    try:
        said = json.loads(state.read_text(encoding="utf-8"))
        if said["at"] >= now_seconds:
            return None
        seen = Counters(**{name: int(said["counters"][name]) for name in Counters._fields})
        changed_at = None if said["changed_at"] is None else float(said["changed_at"])
        return Memory(float(said["at"]), seen, int(said["kept_bytes"]), changed_at)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(state: Path, kept: Memory) -> None:
    """For the next look; the file is whole whenever it is there."""
    state.parent.mkdir(parents=True, exist_ok=True)
    half = state.with_name(f"{state.name}.new")
    half.write_text(json.dumps({**kept._asdict(), "counters": kept.counters._asdict()}), encoding="utf-8")
    half.replace(state)


def form(figures: list[Figure], dimensions: dict[str, str], at: datetime) -> bytes:
    """PutMetricData as CloudWatch's query protocol has it."""
    fields = {"Action": "PutMetricData", "Version": "2010-08-01", "Namespace": NAMESPACE}
    for number, figure in enumerate(figures, 1):
        member = f"MetricData.member.{number}"
        fields[f"{member}.MetricName"] = figure.name
        fields[f"{member}.Value"] = repr(float(figure.value))
        fields[f"{member}.Unit"] = figure.unit
        fields[f"{member}.Timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        for place, (name, value) in enumerate(dimensions.items(), 1):
            fields[f"{member}.Dimensions.member.{place}.Name"] = name
            fields[f"{member}.Dimensions.member.{place}.Value"] = value
    return urlencode(fields).encode()


def publish(given: argparse.Namespace, figures: list[Figure], at: datetime) -> None:
    """Raises Unanswered where CloudWatch did not take them."""
    metadata = Metadata(given.metadata)
    identity = metadata.identity()
    cluster = json.loads(given.job_flow.read_text(encoding="utf-8"))["jobFlowId"]
    url = given.cloudwatch or f"https://monitoring.{identity.region}.{metadata.domain()}"
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    body = form(figures, {"ClusterId": cluster, "InstanceId": identity.instance}, at)
    request = Request("POST", url.rstrip("/") + "/", headers, body)
    answer = send(signed(request, metadata.credentials(), identity.region, "monitoring", at))
    if answer.status != 200:
        raise Unanswered(f"PutMetricData: {answer.status} {answer.body[:400].decode(errors='replace')}")


def arguments() -> argparse.Namespace:
    """As the unit gives them; the URLs are the node's own unless a test says otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--misses-for-one", type=int, choices=[1, 2], required=True)
    parser.add_argument("--region-server", default=REGION_SERVER)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--index", type=Path, default=INDEX)
    parser.add_argument("--block-devices", type=Path, default=BLOCK_DEVICES)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--cloudwatch", help="https://monitoring.REGION.amazonaws.com unless said")
    return parser.parse_args()


def main() -> int:
    """Exit status for systemd."""
    given = arguments()
    bean, at = bean_of(given.region_server, f"qry={quote(BEAN, safe=':=,')}"), time.time()
    seen = counters(bean, volume_counters(given.cache, given.block_devices)) if bean else None
    figures = [Figure("Answering", float(seen is not None), "Count")]
    before, kept = remembered(given.state, at), None
    if bean is None or seen is None:
        say(f"the RegionServer at {given.region_server} does not answer")
    else:
        kept = recalled(before, seen, at, given.index)
        figures += of_now(given, bean, kept)
        if before is not None and at - before.at <= LONGEST_WINDOW_SECONDS:
            figures += window(before.counters, seen, given.misses_for_one)
    try:
        publish(given, figures, datetime.fromtimestamp(at, timezone.utc))
        if kept is not None:
            remember(given.state, kept)
    except (Unanswered, OSError, ValueError, KeyError, TypeError) as fault:
        say(f"nothing was published: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
