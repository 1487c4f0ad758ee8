"""The verification of a running cluster against our documentation: each check has an expected value, result and remedy.

A check names the row of docs/unconfirmed.md that it confirms by the words with which the row begins. The report lists
the rows that no check confirms, with the check that you make by hand.

The checks here are of what only a cluster of HBase has (units of the RegionServer, a claim, Kerberos, a master) and of
a boost: no cache volume stays raised, schedules restore raised ones, and EMR tolerates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_spec import flattened
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.node_command import PrimaryShell
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.boost import moment, read_boost
from warmbase.operations.cluster.claims import claim_of
from warmbase.operations.cluster.description import described_cluster
from warmbase.operations.cluster.stack import FORGOTTEN
from warmbase.operations.verify.check import (
    HARMS,
    Check,
    CheckResult,
    Facts,
    HBaseContext,
    Statement,
    read_findings,
    read_statements,
)
from warmbase.operations.verify.nodes import (
    DROP_IN,
    READ_ONLY,
    SITES,
    active_timer,
    completed_actions,
    in_unit,
    node_checks,
    region_server_checks,
)
from warmbase.operations.verify.probe import (
    NodeProgram,
    probe_caches,
    probe_nodes,
    probe_primary,
    read_effective_settings,
    settings_in_force,
)
from warmbase.operations.verify.services import (
    endpoint_checks,
    launch_checks,
    monitoring_checks,
    runs,
    subscriptions,
)

FIXED_HEAP: Final = "hbase.regionserver.fixed.heap.enabled"
REGION_SERVER: Final = "hbase-regionserver.service"
DAEMON: Final = "hbase-daemon.sh"


def hbase_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check the parts that only an HBase cluster has: a claim, Kerberos, a master, and the units of its nodes."""
    launch, cluster, nodes = context.launch, context.cluster, context.nodes
    if any(FIXED_HEAP in setting.properties for setting in launch.settings.core):
        has = any(FIXED_HEAP in setting.properties for setting in cluster.groups["core"].settings)
        yield Check(
            "heap of the core group",
            "`hbase.regionserver.fixed.heap.enabled` can be set",
            f"the cluster runs, and EMR lists {FIXED_HEAP} for its core group",
            "set the property for the whole cluster",
        ).result(f"{'listed' if has else 'not listed'}; the cluster is {cluster.state}", good=has and runs(context))
    yield from stranger_checks(context)
    environment = launch.environment
    if environment.mode.keeps_data_in_s3 and environment.clusters[launch.plan.cluster].role == "active":
        claim = claim_of(context.aws, environment.root)
        holder = claim.cluster if claim else "nobody"
        yield Check("claim of the root", "", cluster.id, "warmbase claim").result(holder, good=holder == cluster.id)
    # From this answer, warmbase concludes whether a claim is stale.
    yield Check(
        "unknown cluster id",
        "EMR answers `DescribeCluster` for an id that it has forgotten",
        " and ".join(FORGOTTEN),
        "correct FORGOTTEN in warmbase/operations/cluster/stack.py and in bootstrap-actions/programs/claim_root.py",
    ).result_of_primary(
        context.primary,
        lambda facts: (all(part in facts["forgotten"] for part in FORGOTTEN), facts["forgotten"].strip()[:200]),
    )
    if launch.plan.mode.has_bucket_cache:

        def master_cache(facts: Facts) -> tuple[bool | None, str]:
            lines = facts["master_caches"]
            if lines is None:
                return None, "the log of the master cannot be read"
            return lines == 0, f"{lines} lines mention a BucketCache"

        yield Check(
            "cache of the master",
            "The master ignores `hbase.bucketcache.persistent.path`",
            "the log of the master mentions no BucketCache",
            "read the log of the master; set the cache properties for the core group only",
        ).result_of_primary(context.primary, master_cache)
    yield from Check(
        "systemd drop-in of the RegionServer",
        "The systemd unit is named `hbase-regionserver.service`",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/guard-regionserver.sh",
    ).results_by_node(nodes, in_unit(REGION_SERVER, "DropInPaths", DROP_IN))
    yield from Check(
        "stop command of the RegionServer",
        "EMR's unit stops a RegionServer with `hbase-daemon.sh`",
        DAEMON,
        "set only TimeoutStopSec: HBASE_STOP_TIMEOUT has no effect",
    ).results_by_node(nodes, in_unit(REGION_SERVER, "ExecStop", DAEMON))
    yield from completed_actions(nodes, "Java 21 is on the node when bootstrap actions run")

    def watch(facts: Facts) -> tuple[bool, str]:
        # A node that was launched without the watch may not read the claim each minute.
        if "watch-claim" not in facts["actions"]:
            return True, "none: this cluster was launched without it"
        return active_timer("warmbase-claim.timer")(facts)

    yield from Check(
        "watch of the claim",
        "",
        "the timer is active",
        "run systemctl enable --now warmbase-claim.timer on that node",
    ).results_by_node(nodes, watch)


def stranger_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check that HBase ends the connection of a client without credentials."""
    if context.launch.security.kerberos is not None:
        yield from Check(
            "client without a ticket",
            "EMR sets `hbase.security.authentication` to `kerberos`",
            "the RegionServer refuses it",
            "close the ports of HBase (`access`), and read hbase.security.* in /etc/hbase/conf/hbase-site.xml of that"
            " node",
        ).results_by_node(
            context.nodes, lambda facts: (facts["stranger"] == "refused", facts["stranger"] or "no answer")
        )


def boost_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check the volumes and schedules; the row about EMR is confirmed only while volumes are raised."""
    state = read_boost(context.aws, context.launch, context.cluster)
    if state is None:
        return
    environment, ways = context.launch.plan.environment, state.ways_back
    late = [f"{name} was due at {moment(ways[name].announced_end)}" for name in state.overdue]
    late += [f"{name} is raised, and no schedule restores it" for name in state.unscheduled]
    yield Check(
        "end of a boost",
        "",
        "no cache volume is raised beyond its announced end",
        f"run warmbase warm boost {environment} --end; EC2 may still apply the last modification of a volume, and"
        " refuses another one until it has ended",
    ).result("; ".join(late) or f"{len(state.raised)} of {len(state.volumes)} are raised", good=not late)
    if not state.raised:
        return
    missing = [*state.unscheduled, *(name for name, way in ways.items() if not way.is_complete)]
    yield Check(
        "schedules of a boost",
        "",
        "each raised cache volume has all schedules that are still to fire",
        f"run warmbase warm boost {environment} again to write them anew, or run it with --end",
    ).result(f"missing for {', '.join(missing)}" if missing else "all exist", good=not missing)
    group = context.cluster.groups["core"]
    yield Check(
        "raised volumes and EMR",
        "EMR tolerates that a volume which it created has more throughput",
        "the core group is RUNNING while cache volumes are raised",
        f"run warmbase warm boost {environment} --end, and read the group's reason in EMR's console",
    ).result(f"{group.state} {group.why}".strip(), good=group.state == "RUNNING")


PROGRAM: Final = "probe_hbase.py"
CHECKS: Final[tuple[Callable[[HBaseContext], Iterator[CheckResult]], ...]] = (
    launch_checks,
    hbase_checks,
    endpoint_checks,
    boost_checks,
    monitoring_checks,
    subscriptions,
    node_checks,
    region_server_checks,
    settings_in_force,
)
"""Every check, in the order of the report."""


def verification(aws: Aws, launch: Launch, say: Say) -> tuple[CheckResult, ...]:
    """Return the result of every check. Raises OperationFailed where AWS does not answer at all."""
    plan = launch.plan
    with translated(f"cluster {plan.cluster} could not be verified", "run the same command again"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
        # The properties that a RegionServer should have.
        core = flattened(launch.settings.effective("core"))
        keys = sorted({READ_ONLY, *(key for path, key, _ in core if path in SITES)})
        nodes = probe_nodes(aws, cluster.id, "CORE", NodeProgram(PROGRAM, keys), say)
        logs = launch.environment.in_account(launch.environment.log_bucket, aws.account)
        shell = PrimaryShell(aws=aws, cluster_id=cluster.id, log_bucket=logs)
        context = HBaseContext(
            aws=aws,
            launch=launch,
            core=plan.core,
            cluster=cluster,
            nodes=nodes,
            primary=probe_primary(shell, say),
            caches=probe_caches(shell, launch, nodes, say),
            effective=read_effective_settings(aws, cluster.id, say),
        )
        say("querying EMR, CloudWatch and CloudFormation")
        return tuple(finding for check in CHECKS for finding in read_findings(check, context))


def unsettled(findings: tuple[CheckResult, ...], engine: str) -> tuple[Statement, ...]:
    """Return the statements about an engine in docs/unconfirmed.md that no check settles, the most harmful first."""
    rows = [finding.row for finding in findings if finding.row and finding.good is not None]
    statements = [
        statement
        for statement in read_statements()
        if statement.engine == engine and not any(statement.what.startswith(row) for row in rows)
    ]
    return tuple(sorted(statements, key=lambda statement: HARMS.index(statement.harm)))
