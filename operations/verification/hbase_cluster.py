"""Checks of what only a cluster of HBase has: units of the RegionServer, a claim, Kerberos, and a master."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from operations.claims import claim_of
from operations.environment_cluster import FORGOTTEN
from operations.verification.check import Check, CheckResult, Facts, HBaseContext
from operations.verification.launch import runs
from operations.verification.nodes import DROP_IN, active_timer, completed_actions, in_unit

FIXED_HEAP: Final = "hbase.regionserver.fixed.heap.enabled"
REGION_SERVER: Final = "hbase-regionserver.service"
DAEMON: Final = "hbase-daemon.sh"


def _heap_is_of_the_group(context: HBaseContext) -> Iterator[CheckResult]:
    """Check a property that is set for one group."""
    if any(FIXED_HEAP in setting.properties for setting in context.launch.settings.core):
        has = any(FIXED_HEAP in setting.properties for setting in context.cluster.groups["core"].settings)
        yield Check(
            "heap of the core group",
            "`hbase.regionserver.fixed.heap.enabled` can be set",
            f"the cluster runs, and EMR lists {FIXED_HEAP} for its core group",
            "set the property for the whole cluster",
        ).result(
            f"{'listed' if has else 'not listed'}; the cluster is {context.cluster.state}", good=has and runs(context)
        )


def _strangers_are_refused(context: HBaseContext) -> Iterator[CheckResult]:
    """Check that HBase ends the connection of a client without credentials."""
    if context.launch.security.kerberos is None:
        return
    yield from Check(
        "client without a ticket",
        "EMR sets `hbase.security.authentication` to `kerberos`",
        "the RegionServer refuses it",
        "close the ports of HBase (`access`), and read hbase.security.* in /etc/hbase/conf/hbase-site.xml of that node",
    ).results_by_node(context.nodes, lambda facts: (facts["stranger"] == "refused", facts["stranger"] or "no answer"))


def _claim_is_ours(context: HBaseContext) -> Iterator[CheckResult]:
    environment = context.launch.environment
    if not environment.mode.keeps_data_in_s3 or environment.clusters[context.launch.plan.cluster].role != "active":
        return
    claim = claim_of(context.aws, environment.root)
    holder = claim.cluster if claim else "nobody"
    yield Check("claim of the root", "", context.cluster.id, "warmbase claim").result(
        holder, good=holder == context.cluster.id
    )


def _distinguishes_unknown_clusters(context: HBaseContext) -> Iterator[CheckResult]:
    """Check how EMR answers for an unknown cluster, by which warmbase judges whether a claim is stale."""
    yield Check(
        "unknown cluster id",
        "EMR answers `DescribeCluster` for an id that it has forgotten",
        " and ".join(FORGOTTEN),
        "correct FORGOTTEN in operations/environment_cluster.py and in bootstrap-actions/programs/claim_root.py",
    ).result_of_primary(
        context.primary,
        lambda facts: (all(part in facts["forgotten"] for part in FORGOTTEN), facts["forgotten"].strip()[:200]),
    )


def _the_master_has_no_cache(context: HBaseContext) -> Iterator[CheckResult]:
    if not context.launch.plan.mode.has_bucket_cache:
        return

    def verdict(facts: Facts) -> tuple[bool | None, str]:
        lines = facts["master_caches"]
        if lines is None:
            return None, "the log of the master cannot be read"
        return lines == 0, f"{lines} lines mention a BucketCache"

    yield Check(
        "cache of the master",
        "The master ignores `hbase.bucketcache.persistent.path`",
        "the log of the master mentions no BucketCache",
        "read the log of the master; set the cache properties for the core group only",
    ).result_of_primary(context.primary, verdict)


def _unit_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check the drop-in and the command of the RegionServer's unit."""
    yield from Check(
        "systemd drop-in of the RegionServer",
        "The systemd unit is named `hbase-regionserver.service`",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/guard-regionserver.sh",
    ).results_by_node(context.nodes, in_unit(REGION_SERVER, "DropInPaths", DROP_IN))
    yield from Check(
        "stop command of the RegionServer",
        "EMR's unit stops a RegionServer with `hbase-daemon.sh`",
        DAEMON,
        "set only TimeoutStopSec: HBASE_STOP_TIMEOUT has no effect",
    ).results_by_node(context.nodes, in_unit(REGION_SERVER, "ExecStop", DAEMON))


def _action_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check that every bootstrap action is complete, and that the node watches the claim."""
    yield from completed_actions(context.nodes, "Java 21 is on the node when bootstrap actions run")
    yield from Check(
        "watch of the claim",
        "",
        "the timer is active",
        "run systemctl enable --now warmbase-claim.timer on that node",
    ).results_by_node(context.nodes, _claim_watched)


def _claim_watched(facts: Facts) -> tuple[bool, str]:
    """Return whether the node reads the claim each minute; a node that was launched without the watch may not."""
    if "watch-claim" not in facts["actions"]:
        return True, "none: this cluster was launched without it"
    return active_timer("warmbase-claim.timer")(facts)


HBASE_CHECKS = (
    _heap_is_of_the_group,
    _strangers_are_refused,
    _claim_is_ours,
    _distinguishes_unknown_clusters,
    _the_master_has_no_cache,
    _unit_checks,
    _action_checks,
)
"""Every check, in the order of the report."""
