"""Publishes the figures of a Trino worker's cache over the last minute. Run by a systemd timer. Python 3.9.

Trino counts since its start, so this program takes the difference of the counters on the node, and sends the figures of
each window to CloudWatch under the names that RubiX gave them: ReadFromCache, ReadFromRemote, HitRate. A restart resets
the counters: all that they then show has happened since. A window that could not be published becomes part of the next
one. CloudWatch cannot divide the sums of all workers in an alarm, so the node also publishes the bytes from S3 beyond
those that a hit rate allows: over all workers their sum is above 0 when the hit rate of the cluster is below that.

Exit status: 0 if figures were published, which include a worker that does not answer; 1 if none were.
Source: Trino 476, AlluxioCacheStats and airlift's MBeanResource, which wants a user; Alluxio 2.9.6, MetricKey; Amazon
CloudWatch API Reference, PutMetricData.
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

TRINO = "http://127.0.0.1:8889"  # EMR Release Guide, emr-trino: EMR's port of Trino
USER = "warmbase"
READS = "io.trino.filesystem.alluxio:type=AlluxioCacheStats,name={catalog},catalog={catalog}"
PAGES_EVICTED = "org.alluxio:name=Client.CachePagesEvicted,type=meters"
# The gauge CacheSpaceUsed is of one catalog only; this count has all, and the pages that a restart restored.
SPACE_USED = "org.alluxio:name=Client.CacheSpaceUsedCount,type=counters"
RUNTIME = "java.lang:type=Runtime"
NO_BEAN = b"javax.management.InstanceNotFoundException"  # Trino answers it with status 500
CACHE = Path("/warmbase/cache")
JOB_FLOW = Path("/mnt/var/lib/info/job-flow.json")
STATE = Path("/var/lib/warmbase/trino-counters.json")
# The beans come from counters in memory; a worker that takes longer is in a long pause.
JMX_SECONDS = 5.0
# judgement: the figures of a longer window would pass for those of a minute.
LONGEST_WINDOW_SECONDS = 900.0


class Counters(NamedTuple):
    """The counters of the worker since `started`, in milliseconds since 1970, and the bytes in its cache."""

    started: int
    cache_bytes: int
    cache_reads: int
    remote_bytes: int
    remote_reads: int
    pages_evicted: int
    used_bytes: int


def say(message: str) -> None:
    """Writes a line to the journal of the unit."""
    sys.stderr.write(f"publish-trino-metrics: {message}\n")


def attributes(url: str, bean: str) -> dict[str, object]:
    """Return the attributes of a bean; none where Trino has no such bean. Raises Unanswered where it does not tell."""
    answer = send(Request("GET", f"{url}/v1/jmx/mbean/{quote(bean, safe=':=,')}", {"X-Trino-User": USER}), JMX_SECONDS)
    if answer.body.startswith(NO_BEAN):
        return {}
    if answer.status != 200:
        raise Unanswered(f"{bean}: {answer.status} {answer.body[:200].decode(errors='replace')}")
    return {item["name"]: item["value"] for item in json.loads(answer.body)["attributes"] if "value" in item}


def counters(url: str, catalog: str) -> Counters:
    """Return the worker's counters. Raises Unanswered, ValueError or LookupError where it has not all of them.

    Alluxio has no count of evicted pages before it has evicted one.
    """
    reads = attributes(url, READS.format(catalog=catalog))
    return Counters(
        started=whole(attributes(url, RUNTIME)["StartTime"]),
        cache_bytes=whole(reads["CacheReads.AllTime.Total"]),
        cache_reads=whole(reads["CacheReads.AllTime.Count"]),
        remote_bytes=whole(reads["ExternalReads.AllTime.Total"]),
        remote_reads=whole(reads["ExternalReads.AllTime.Count"]),
        pages_evicted=whole(attributes(url, PAGES_EVICTED).get("Count", 0)),
        used_bytes=whole(attributes(url, SPACE_USED)["Count"]),
    )


def whole(value: object) -> int:
    """Return a counter, which Trino may give as a float. Raises ValueError for what is no number."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, OverflowError):
        raise ValueError(f"{value!r} is not a counter") from None


def window(before: Counters, now: Counters, least_hit_rate: float) -> list[Figure]:
    """Return the figures of the window between two runs; without a read it has no hit rate."""
    if now.started != before.started:
        before = Counters(now.started, 0, 0, 0, 0, 0, 0)
    cache_bytes, remote_bytes = now.cache_bytes - before.cache_bytes, now.remote_bytes - before.remote_bytes
    read_bytes = cache_bytes + remote_bytes
    figures = [
        Figure("ReadFromCache", cache_bytes, "Bytes"),
        Figure("ReadFromRemote", remote_bytes, "Bytes"),
        Figure("RemoteOverLimit", remote_bytes - (1 - least_hit_rate) * read_bytes, "Bytes"),
        Figure("CacheReads", now.cache_reads - before.cache_reads, "Count"),
        Figure("RemoteReads", now.remote_reads - before.remote_reads, "Count"),
        Figure("PagesEvicted", now.pages_evicted - before.pages_evicted, "Count"),
    ]
    return [*figures, Figure("HitRate", cache_bytes / read_bytes, "None")] if read_bytes else figures


def current_figures(now: Counters, cache: Path) -> list[Figure]:
    """Return the figures that need no window; `cache` is where the first cache volume is mounted."""
    figures = [Figure("SpaceUsed", now.used_bytes, "Bytes")]
    with suppress(OSError):
        disks = [os.statvfs(volume) for volume in [cache, *cache.parent.glob(f"{cache.name}-[0-9]*")]]
        figures.append(Figure("DiskUsed", max(1 - disk.f_bavail / disk.f_blocks for disk in disks), "None"))
    return figures


def remembered(state: Path, now_seconds: float) -> Counters | None:
    """Return the counters of the last run; None where they cannot be read, are old, or lie in the future."""
    try:
        fields = json.loads(state.read_text(encoding="utf-8"))
        if not 0 < now_seconds - fields["at"] <= LONGEST_WINDOW_SECONDS:
            return None
        return Counters(**{name: whole(fields[name]) for name in Counters._fields})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(state: Path, now: Counters, at: float) -> None:
    """Writes the counters for the next run; the file is always whole."""
    state.parent.mkdir(parents=True, exist_ok=True)
    half = state.with_name(f"{state.name}.new")
    half.write_text(json.dumps({"at": at, **now._asdict()}), encoding="utf-8")
    half.replace(state)


def publish(options: argparse.Namespace, figures: list[Figure], at: float) -> None:
    """Sends the figures to CloudWatch. Raises Unanswered where it does not accept them."""
    metadata = Metadata(options.metadata)
    dimensions = node_dimensions(metadata, options.job_flow)
    data = MetricData(figures, dimensions, datetime.fromtimestamp(at, timezone.utc))
    put_metrics(metadata, options.cloudwatch, data)


def arguments() -> argparse.Namespace:
    """Return the arguments of the unit; the URLs are the node's own except in tests."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--catalog", required=True)
    parser.add_argument("--least-hit-rate", type=float, required=True)
    parser.add_argument("--trino", default=TRINO)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--cloudwatch", help="https://monitoring.REGION.amazonaws.com if not given")
    return parser.parse_args()


def main() -> int:
    """Return the exit status for systemd."""
    options = arguments()
    now, at = None, time.time()
    try:
        now = counters(options.trino, options.catalog)
    except (Unanswered, ValueError, LookupError, TypeError) as fault:
        say(f"the worker at {options.trino} does not tell what its cache did: {fault!r}")
    figures = [Figure("Answering", float(now is not None), "Count")]
    if now is not None:
        before = remembered(options.state, at)
        figures += current_figures(now, options.cache)
        figures += window(before, now, options.least_hit_rate) if before else []
    try:
        publish(options, figures, at)
        if now is not None:
            remember(options.state, now, at)
    except (Unanswered, OSError, ValueError, KeyError, TypeError) as fault:
        say(f"nothing was published: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
