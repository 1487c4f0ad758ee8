"""Publishes what a RegionServer's cache did in the last minute. Run by a systemd timer. Python 3.9.

HBase counts since its start, and what it calls a hit ratio is a mean over its life: it tells nothing of now, and cannot
be averaged over servers. So the counters are differenced here, where they are, and each window's own figures go to
CloudWatch. A restart begins them anew: what they then show has all happened since. A window that could not be published
becomes part of the next one.

Exit status: 0 where something was published, or the RegionServer does not answer, which is published too; 1 else.
Source: HBase 2.6 MetricsRegionServerSource; Amazon CloudWatch API Reference, PutMetricData.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from role_requests import METADATA, Metadata, Request, Unanswered, send, signed

REGION_SERVER = "http://127.0.0.1:16030"
BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Server"
JOB_FLOW = Path("/mnt/var/lib/info/job-flow.json")
STATE = Path("/var/lib/warmbase/cache-counters.json")
NAMESPACE = "warmbase"
# The page is made from counters in memory; a RegionServer in a long pause is left alone after that.
JMX_SECONDS = 5.0
# judgement: after a quarter of an hour without a look a window's figures would be called a minute's and be none.
LONGEST_WINDOW_SECONDS = 900.0
COLD, COOL = 0.80, 0.90


class Counters(NamedTuple):
    """What the RegionServer has counted since `started`, and how full its cache is."""

    started: int
    hits: int
    misses: int
    evictions: int
    failed_insertions: int
    used_bytes: int
    free_bytes: int


class Figure(NamedTuple):
    """One metric of one window."""

    name: str
    value: float
    unit: str


def say(message: str) -> None:
    """A line in the journal of the unit."""
    sys.stderr.write(f"publish-cache-metrics: {message}\n")


def counters(url: str) -> Counters | None:
    """What the RegionServer says; None where it does not, or has only begun to."""
    try:
        answer = send(Request("GET", f"{url}/jmx?qry={quote(BEAN, safe=':=,')}", {}), JMX_SECONDS)
        [bean] = json.loads(answer.body)["beans"]
        return Counters(
            started=int(bean["regionServerStartTime"]),
            hits=int(bean["l2CacheHitCount"]),
            misses=int(bean["l2CacheMissCount"]),
            evictions=int(bean["l2CacheEvictionCount"]),
            failed_insertions=int(bean["blockCacheFailedInsertionCount"]),
            used_bytes=int(bean["l2CacheSize"]),
            free_bytes=int(bean["l2CacheFreeSize"]),
        )
    except (Unanswered, ValueError, KeyError, TypeError):
        return None


def window(before: Counters, now: Counters, misses_for_one: int) -> list[Figure]:
    """The figures of what lies between; without a read there is no ratio to publish.

    HBase counts a miss twice where `misses_for_one` is 2: a reader that misses looks again under the block's lock.
    """
    if now.started != before.started:
        before = Counters(now.started, 0, 0, 0, 0, 0, 0)
    hits = now.hits - before.hits
    misses = (now.misses - before.misses) / misses_for_one
    size_bytes = now.used_bytes + now.free_bytes
    figures = [
        Figure("Hits", hits, "Count"),
        Figure("Misses", misses, "Count"),
        Figure("Evictions", now.evictions - before.evictions, "Count"),
        Figure("FailedInsertions", now.failed_insertions - before.failed_insertions, "Count"),
        Figure("Fill", now.used_bytes / size_bytes if size_bytes else 0.0, "None"),
        Figure("FreeBytes", now.free_bytes, "Bytes"),
    ]
    if hits + misses > 0:
        ratio = hits / (hits + misses)
        figures += [
            Figure("HitRatio", ratio, "None"),
            Figure("Below90", float(ratio < COOL), "Count"),
            Figure("Below80", float(ratio < COLD), "Count"),
        ]
    return figures


def remembered(state: Path, now_seconds: float) -> Counters | None:
    """What was seen at the last look; None where that is no longer the last minute, or cannot be read."""
    try:
        said = json.loads(state.read_text(encoding="utf-8"))
        if not 0 < now_seconds - said["at"] <= LONGEST_WINDOW_SECONDS:
            return None
        return Counters(**{name: int(said["counters"][name]) for name in Counters._fields})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(state: Path, now_seconds: float, seen: Counters) -> None:
    """For the next look; the file is whole whenever it is there."""
    state.parent.mkdir(parents=True, exist_ok=True)
    half = state.with_name(f"{state.name}.new")
    half.write_text(json.dumps({"at": now_seconds, "counters": seen._asdict()}), encoding="utf-8")
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
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--cloudwatch", help="https://monitoring.REGION.amazonaws.com unless said")
    return parser.parse_args()


def main() -> int:
    """Exit status for systemd."""
    given = arguments()
    seen, at = counters(given.region_server), time.time()
    figures = [Figure("Answering", float(seen is not None), "Count")]
    before = remembered(given.state, at)
    if seen is None:
        say(f"the RegionServer at {given.region_server} does not answer")
    elif before is not None:
        figures += window(before, seen, given.misses_for_one)
    try:
        publish(given, figures, datetime.fromtimestamp(at, timezone.utc))
        if seen is not None:
            remember(given.state, at, seen)
    except (Unanswered, OSError, ValueError, KeyError, TypeError) as fault:
        say(f"nothing was published: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
