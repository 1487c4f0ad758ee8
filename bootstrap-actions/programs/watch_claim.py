"""Reads the claim of the HBase root each minute, and stops HBase here where another cluster has it. Python 3.9.

A cluster claims its root once, before HBase is installed; from then on this program watches on every node. It publishes
  ForeignClaim             1 while another cluster has the claim and this node may write
  ClaimUnconfirmedMinutes  for how long the claim has not named this cluster: it cannot be read, is missing, is
                           released, or names a cluster from before this one's launch
and neither while all is well, because a metric costs money in each hour in which it is published.

Only a claim that names another cluster stops HBase, and only where `--fencing=stop`: an outage of S3, or a claim that
somebody has deleted, must not become an outage of HBase. HBase is killed, not shut down: a RegionServer that shuts
down flushes its memstores to the root, which is the other cluster's. The edits stay in this cluster's write-ahead log.

A replica has no claim. One of its nodes may write as soon as its hbase-site.xml, or the HBase that runs on it, says
that HBase is not read-only: a command such as EMR's `readonly_switch` changes the running HBase, and may leave the file
as it was. If neither says whether it is read-only, the claim of a replica counts as unconfirmed.

Exit status: 0 if the claim was read, or if HBase may start; 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from role_requests import (
    METADATA,
    Figure,
    Metadata,
    MetricData,
    Request,
    Unanswered,
    node_dimensions,
    path_of,
    put_metrics,
    send,
    signed,
)

JOB_FLOW = Path("/mnt/var/lib/info/job-flow.json")
HBASE_SITE = Path("/etc/hbase/conf/hbase-site.xml")
STATE = Path("/var/lib/warmbase/claim.json")
# The first is HBase's own, and EMR writes it on a replica; the second is EMR's setting, from which EMR derives it.
READ_ONLY = "hbase.global.readonly.enabled"
REPLICA = "hbase.emr.readreplica.enabled"
NOBODY = "nobody"
WRITERS = ("hbase-regionserver", "hbase-master")
# A RegionServer and a master serve the configuration that they have in memory there (HBase 2.6, ConfServlet).
RUNNING = ("http://127.0.0.1:16030", "http://127.0.0.1:16010")
# judgement: S3 answers in tens of milliseconds, and the next minute asks again.
ANSWER_SECONDS = 10.0
STOP_SECONDS = 20.0
# The page comes from memory; a server that takes longer is in a long pause, and is asked again in the next minute.
PAGE_SECONDS = 5.0
DEFAULTS = "hbase-default.xml"


class Unconfirmed(Exception):
    """The claim names neither this cluster nor another one that is known to write; the message says why."""


class Released(Unconfirmed):
    """The claim names no cluster."""


class Memory(NamedTuple):
    """The state that one run leaves for the next: when the claim last named this cluster, and who has it instead."""

    confirmed_at: float
    holder: str = ""


def say(message: str) -> None:
    """Writes a line to the journal of the unit."""
    sys.stderr.write(f"watch-claim: {message}\n")


def is_read_only(options: argparse.Namespace) -> bool | None:
    """Return whether HBase on this node only reads the root; None if nothing says so. Raises Unconfirmed.

    The running HBase is asked only if, by the file alone, this node would not have to check the claim.
    """
    try:
        properties = {
            item.findtext("name", "").strip(): item.findtext("value", "").strip().lower()
            for item in ET.parse(options.hbase_site).iter("property")  # noqa: S314 - EMR wrote it, and expat reads no external entity
        }
    except (OSError, ET.ParseError) as fault:
        raise Unconfirmed(f"{options.hbase_site} cannot be read: {fault}") from None
    site = _mode(properties)
    if site is False or (site is None and options.role == "active") or options.before_start:
        return site
    running = [_mode(_running_properties(url)) for url in options.running]
    if False in running:
        say("the HBase that runs on this node is not read-only")
        return False
    return True if site or True in running else None


def _mode(properties: dict[str, str]) -> bool | None:
    """Return whether these properties make HBase read-only; HBase's own property overrides EMR's."""
    own = properties.get(READ_ONLY)
    if own in ("true", "false"):
        return own == "true"
    return True if properties.get(REPLICA) == "true" else None


def _running_properties(url: str) -> dict[str, str]:
    """Return the configuration of the daemon that listens there; empty where none answers, as before its start."""
    try:
        answer = send(Request("GET", f"{url}/conf?format=json", {}), PAGE_SECONDS)
        return {
            item["key"]: str(item["value"]).strip().lower()
            for item in json.loads(answer.body)["properties"]
            if item.get("resource") != DEFAULTS  # which a page shows before the daemon has read its own files
        }
    except (Unanswered, ValueError, KeyError, TypeError):
        return {}


def holder(options: argparse.Namespace, metadata: Metadata) -> str:
    """Return the other cluster that has the claim, or nothing where it is this one. Raises Unconfirmed otherwise."""
    region = metadata.identity().region
    store = options.s3 or f"https://s3.{region}.{metadata.domain()}"
    request = Request("GET", f"{store}/{options.bucket}/{path_of(options.key)}", {})
    answer = send(signed(request, metadata.credentials(), region, "s3", datetime.now(timezone.utc)), ANSWER_SECONDS)
    if answer.status != 200:
        raise Unconfirmed(f"GET {request.url}: {answer.status} {answer.body[:200].decode(errors='replace')}")
    claim = json.loads(answer.body)
    cluster, flow = str(claim["cluster"]), json.loads(options.job_flow.read_text(encoding="utf-8"))
    if cluster == flow["jobFlowId"]:
        return ""
    if cluster == NOBODY:
        raise Released("the claim is released while this cluster runs")
    if options.role == "active" and _claimed_at(claim) < _creation_time(flow, options.job_flow):
        raise Unconfirmed(
            f"{cluster} claimed the root before this cluster was launched; this cluster has not claimed it yet"
        )
    return cluster


def _claimed_at(claim: dict[str, str]) -> float:
    """Return when the root was claimed; a claim without a time counts as new."""
    try:
        return datetime.fromisoformat(str(claim["claimed_at"]).replace("Z", "+00:00")).timestamp()
    except (ValueError, KeyError):
        return float("inf")


def _creation_time(flow: dict[str, int], file: Path) -> float:
    """Return when EMR created the cluster; EMR writes the file when it starts the node."""
    created_ms = flow.get("jobFlowCreationInstant")
    return int(created_ms) / 1000 if created_ms else file.stat().st_mtime


def remembered(state: Path, now: float) -> Memory:
    """Return the state that the last run left; the first run on a node begins now."""
    try:
        fields = json.loads(state.read_text(encoding="utf-8"))
        return Memory(min(now, float(fields["confirmed_at"])), str(fields["holder"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Memory(now)


def observe(options: argparse.Namespace, before: Memory, now: float) -> Memory:
    """Return what the claim says now; if it cannot be read, the holder that was last known stays."""
    try:
        read_only = is_read_only(options)
        in_doubt = options.role == "replica" and read_only is None
        if read_only or (in_doubt and _is_being_installed(options, before)):
            return Memory(now)
        other = holder(options, Metadata(options.metadata))
        if other and in_doubt:
            say(f"nothing says whether this replica is read-only ({options.hbase_site}), and {other} has the claim")
            return before
    except Released as released:
        say(f"s3://{options.bucket}/{options.key}: {released}")
        return before._replace(holder="")
    except (Unconfirmed, Unanswered, OSError, ValueError, KeyError, TypeError) as fault:
        say(f"s3://{options.bucket}/{options.key}: {fault}")
        return before
    return before._replace(holder=other) if other else Memory(now)


def _is_being_installed(options: argparse.Namespace, before: Memory) -> bool:
    """Return whether a replica's node has not started HBase: EMR may still be writing hbase-site.xml."""
    is_new = not before.holder and not options.before_start
    return is_new and not any(_systemctl("is-active", "--quiet", unit) for unit in WRITERS)


def fence() -> None:
    """Kills what writes to the root on this node, and keeps systemd from starting it again.

    It does not ask whether a unit is active: a RegionServer that is shutting down is not, but still flushes. Where
    nothing runs, systemctl fails, which does no harm.
    """
    say("killing HBase: another cluster writes to the root")
    for unit in WRITERS:
        _systemctl("kill", "--signal=SIGKILL", unit)
        _systemctl("stop", unit)


def _systemctl(*arguments: str) -> bool:
    try:
        command = ["systemctl", *arguments]
        return subprocess.run(command, check=False, timeout=STOP_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as fault:
        say(f"systemctl {' '.join(arguments)}: {fault}")
        return False


def publish(options: argparse.Namespace, memory: Memory, now: float) -> None:
    """Sends the figures of a fault to CloudWatch. Raises Unanswered where it does not accept them."""
    figures = []
    if memory.holder:
        figures.append(Figure("ForeignClaim", 1, "Count"))
    if memory.confirmed_at < now:
        figures.append(Figure("ClaimUnconfirmedMinutes", (now - memory.confirmed_at) / 60, "Count"))
    if figures:
        metadata = Metadata(options.metadata)
        dimensions = node_dimensions(metadata, options.job_flow)
        at = datetime.fromtimestamp(now, timezone.utc)
        put_metrics(metadata, options.cloudwatch, MetricData(figures, dimensions, at))


def arguments() -> argparse.Namespace:
    """Return the arguments of the units; the URLs are AWS's own except in tests."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--role", choices=["active", "replica"], required=True)
    parser.add_argument("--fencing", choices=["alarm", "stop"], required=True)
    parser.add_argument("--before-start", action="store_true", help="only say whether HBase may start")
    parser.add_argument("--hbase-site", type=Path, default=HBASE_SITE)
    parser.add_argument("--running", nargs="*", default=RUNNING, help="where HBase's daemons on this node serve /conf")
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--s3", help="https://s3.REGION.amazonaws.com if not given")
    parser.add_argument("--cloudwatch", help="https://monitoring.REGION.amazonaws.com if not given")
    return parser.parse_args()


def main() -> int:
    """Return the exit status for systemd."""
    options, now = arguments(), time.time()
    if not options.hbase_site.exists():
        say("HBase is not installed on this node yet")
        return 0
    memory = observe(options, remembered(options.state, now), now)
    if memory.holder:
        say(f"{memory.holder} has the claim s3://{options.bucket}/{options.key}; to see it: warmbase claim ENV")
    if options.fencing == "stop" and memory.holder and not options.before_start:
        fence()
    try:
        options.state.parent.mkdir(parents=True, exist_ok=True)
        half = options.state.with_name(f"{options.state.name}.new")
        half.write_text(json.dumps(memory._asdict()), encoding="utf-8")
        half.replace(options.state)
        if options.before_start:
            return int(options.fencing == "stop" and bool(memory.holder))
        publish(options, memory, now)
    except (Unanswered, OSError, ValueError, KeyError, TypeError) as fault:
        say(f"nothing was published: {fault}")
        return 0 if options.before_start and not memory.holder else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
