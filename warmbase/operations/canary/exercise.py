"""Stage 3: each operation is tried on the canary's cluster.

Its parts are independent: one that fails leaves its rows open, and the next one begins. Times are measured by a clock
that stands still while this machine sleeps, or on the node itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.errors import WarmbaseError
from warmbase.ground.units import format_duration
from warmbase.operations.aws.errors import AGAIN, translated
from warmbase.operations.aws.node_command import run_on_node
from warmbase.operations.canary.run import CHANGED, Canary, StageOutcome, is_interruption
from warmbase.operations.cluster.boost import BoostEnd, BoostPatience, CacheBoost, ClusterBoost, cluster_boost
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.cluster.hbase_control import Patience
from warmbase.operations.cluster.stack import running_nodes
from warmbase.operations.deploy.tuning import reconfiguration, tuning_of
from warmbase.operations.hbase.emr_hbase import emr_hbase
from warmbase.operations.hbase.rolling_restart import refuse_unkept, rolling_restart
from warmbase.operations.verify.check import Check, CheckResult
from warmbase.operations.verify.verification import verification

TABLE: Final = "warmbase_canary"
BOOST_SECONDS: Final = 900.0
# judgement: nobody reads, so a hit ratio may never appear; the rest of the checks of a restart do not wait for it.
PATIENCE: Final = Patience(home=900.0, warm=180.0)
KILL_SECONDS: Final = 420.0
KILL: Final = """\
set -eu
unit=hbase-regionserver.service
before=$(systemctl show --property=MainPID --value "$unit")
systemctl kill --signal=SIGKILL "$unit"
start=$(date +%s)
for _ in $(seq 150); do
  sleep 2
  after=$(systemctl show --property=MainPID --value "$unit")
  if [ "$after" != 0 ] && [ "$after" != "$before" ]; then break; fi
done
printf '{"before": %s, "after": %s, "seconds": %s, "restart": "%s", "restarts": %s}\\n' "$before" "$after" \\
  $(($(date +%s) - start)) "$(systemctl show --property=Restart --value "$unit")" \\
  "$(systemctl show --property=NRestarts --value "$unit")"
"""


class KilledServer(Struct, frozen=True, kw_only=True):
    """The process ids of a RegionServer before and after it was killed, and how systemd supervises it."""

    before: int
    after: int
    seconds: int
    restart: str
    restarts: int


Part = Callable[[Canary], Iterator[CheckResult | str]]


def exercise(canary: Canary) -> StageOutcome:
    """Try each operation, and return what it showed. Raises Refused where the cluster does not run."""
    canary.running_cluster()
    lines, results, failures = list[str](), list[CheckResult](), list[str]()
    for title, part in PARTS.items():
        try:
            for outcome in part(canary):
                if isinstance(outcome, str):
                    lines.append(outcome)
                else:
                    results.append(outcome)
        except WarmbaseError as error:
            if is_interruption(error):
                raise
            failures.append(f"{title}: {error.summary}")
    headline = f"{len(PARTS) - len(failures)} of {len(PARTS)} operations succeeded"
    return StageOutcome(lines=(headline, *lines, *failures), results=tuple(results))


def _boost(canary: Canary) -> ClusterBoost:
    launch = canary.planned.launch
    return cluster_boost(canary.aws, launch, read_running_cluster(canary.aws, launch).cluster)


def _raised_volumes(canary: Canary) -> Iterator[str]:
    """Raise the throughput of the cache volumes for 15 minutes; a repeated stage finds it raised already."""
    control = _boost(canary)
    control.refuse_undeployed()
    throughput_mib_s, iops = control.launch_provision
    boost = CacheBoost(control=control, provision=(2 * throughput_mib_s, iops), seconds=BOOST_SECONDS)
    canary.carry_out(boost.stages())
    yield f"boost: {len(control.state().raised)} volumes raised to {2 * throughput_mib_s} MiB/s"


def _table(canary: Canary) -> Iterator[CheckResult]:
    """Write a table, and count the store files in the root, where the node's role alone has written."""
    aws, environment = canary.aws, canary.environment
    hbase = emr_hbase(aws, canary.planned.launch, canary.running_cluster().id)
    with canary.progress.step(f"write table {TABLE}") as say:
        hbase.primary.run("write-table", say, TABLE)
        bucket, prefix = environment.root.bucket_in(aws.account), f"{environment.root.prefix}/data/default/{TABLE}/"
        with translated("could not list the table's files", AGAIN):
            pages = aws.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            count = sum(entry["Size"] > 0 for page in pages for entry in page.get("Contents", ()))
        say(f"{count} files in the root")
    yield Check(
        "table in the root",
        "S3 passes `aws:ResourceAccount` for each request of a node",
        "a flushed table has files in the root",
        "leave the condition in_account out of stacks/roles.py",
    ).result(f"{count} files", good=True if count else None)


def _restart(canary: Canary) -> Iterator[CheckResult | str]:
    """Restart the RegionServers in place; the operation itself checks that caches and regions return."""
    launch = canary.planned.launch
    refuse_unkept(launch)
    rolled = replace(
        rolling_restart(canary.aws, launch, canary.running_cluster().id, available=False), patience=PATIENCE
    )
    with canary.progress.step("ask the master for its regions") as say:
        state = rolled.hbase.state(say)
        rolled.check(state, say)
        say(f"{len(state.servers)} servers")
    yield Check("program in the shell", "EMR's HBase shell runs a Ruby program", "an answer", "").result(
        f"{len(state.servers)} servers", good=True
    )
    began = time.monotonic()
    canary.carry_out(rolled.stages(state))
    duration = format_duration((time.monotonic() - began) / max(1, len(state.servers)))
    yield Check("names of servers", "A RegionServer on EMR is known to the master by the private", "", "").result(
        ", ".join(state.servers), good=True
    )
    yield Check(
        "restart in place",
        "`systemctl restart hbase-regionserver` on a core node stops",
        "cache and regions return",
        "",
    ).result(f"{duration} a server", good=True)
    yield f"restart: {duration} a server; its cache and its regions came back"


def _reconfigure(canary: Canary) -> Iterator[str]:
    """Set one property that costs no cache."""
    text = canary.run.file.read_text(encoding="utf-8")
    if CHANGED not in text:
        canary.run.write(canary.run.file, text + CHANGED)
    tuning = tuning_of(canary.aws, canary.planned, everything=True)
    nodes = sum(group.running for group in tuning.running.cluster.groups.values())
    began = time.monotonic()
    canary.carry_out(reconfiguration(canary.aws, tuning))
    duration = format_duration((time.monotonic() - began) / nodes)
    applied = f"{duration} a node" if tuning.group_changes else "was applied before"
    yield f"reconfigure: {applied}; EMR reverted nothing"


def _kill(canary: Canary) -> Iterator[str]:
    """Kill one RegionServer, and watch on its node when and by whom it is started again."""
    cluster = canary.running_cluster().id
    with canary.progress.step("kill a RegionServer") as say, translated("could not list the core nodes", AGAIN):
        node = min(running_nodes(canary.aws, cluster, "CORE"))
        printed = run_on_node(canary.aws, node, KILL, KILL_SECONDS)
        server = msgspec.json.decode(printed, type=KilledServer)
        back = f"was back after {server.seconds} s" if server.after not in {0, server.before} else "did not come back"
        line = f"kill -9: the RegionServer {back}; Restart={server.restart}, started {server.restarts} times by systemd"
        say(line)
    yield line


def _restored_volumes(canary: Canary) -> Iterator[CheckResult | str]:
    """Find the volumes restored by their schedules, or restore them now."""
    control = _boost(canary)
    state = control.state()
    check = Check(
        "schedule of a boost", "An EventBridge schedule restores a volume", "restored", "restore with warm boost --end"
    )
    if not state.raised and not state.ways_back:
        yield check.result("nothing was raised", good=None)
        return
    if not state.raised:
        yield check.result(f"{len(state.volumes)} volumes restored", good=True)
    patience = BoostPatience(modifiable=2.5, consistency=0.0) if canary.is_rehearsal else BoostPatience()
    canary.carry_out(BoostEnd(control=control, patience=patience).stages())
    yield f"boost: taken back{' by its schedules' if not state.raised else ''}"


def _verify_again(canary: Canary) -> Iterator[CheckResult]:
    """Verify the cluster once more: by now its metrics have arrived, and it was restarted and reconfigured."""
    with canary.progress.step("verify the cluster again") as say:
        yield from verification(canary.aws, canary.planned.launch, say)


PARTS: Final[dict[str, Part]] = {
    "boost": _raised_volumes,
    "table": _table,
    "restart": _restart,
    "reconfigure": _reconfigure,
    "kill": _kill,
    "end of the boost": _restored_volumes,
    "verify": _verify_again,
}
"""Every part, in order: the boost lasts while the others run."""
