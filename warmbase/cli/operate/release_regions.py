"""`warmbase release-regions` shows when the regions of a lost node open elsewhere; it does not open them itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import click

from warmbase.cli.operate.running import RunningCluster
from warmbase.cli.options import cluster_option, environment_argument
from warmbase.cli.page import Page, Part
from warmbase.ground.errors import Refused
from warmbase.ground.units import format_duration, format_percent
from warmbase.operations.aws.clients import only_reading
from warmbase.operations.cluster.description import TerminatedNode, terminated_node
from warmbase.sizing.plan import LostNode, Plan

MINUTE: Final = "%Y-%m-%d %H:%M UTC"


@click.command(name="release-regions")
@environment_argument
@click.argument("node", required=False)
@cluster_option
def release_regions(environment: str, node: str | None, cluster: str | None) -> None:
    """Show when the rows of a lost node are online again.

    When a node is lost, HBase's master waits for its RegionServer to return before it opens the regions elsewhere.
    Every known way to end that wait can leave regions closed for good, so this command changes nothing. It shows when
    the wait ends, and when the node that EMR launches in its place has its regions and a warm cache. NODE is the EC2
    id of the lost node, or its private DNS name; by default, it is the node that EMR has lost last.

    \b
    Example:
      warmbase release-regions prod
      warmbase release-regions prod i-0123456789abcdef0

    Exit codes: 0 the wait should be over; 3 the master still waits, or no node is lost.
    """
    running = RunningCluster.read(environment, cluster, lambda launch: _lost_node(launch.plan), only_reading)
    lost = _lost_node(running.launch.plan)
    terminated = terminated_node(running.aws, running.cluster.id, node)
    Page().show(_page(running, terminated))
    if running.aws.now() < terminated.online_with_meta_at(lost):
        raise _unsafe(terminated, lost)


def _lost_node(plan: Plan) -> LostNode:
    """Return what the plan expects when a node is lost. Raises Refused where the master does not wait for it."""
    lost = plan.bad_hours.lost_node
    if lost is None or not plan.restart.retain_retries:
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="has no master that waits for a lost server",
            why=f"in mode {plan.mode}, the master opens the regions of a lost server elsewhere at once"
            if lost is not None
            else "it has a single core node, so no other server can open the regions",
            fix=f"to see the cluster, use warmbase status {plan.environment}",
        )
    return lost


def _page(running: RunningCluster, node: TerminatedNode) -> Iterator[Part]:
    bad_hours = running.launch.plan.bad_hours
    yield running.title
    reason = f"; EMR's reason: {node.reason}" if node.reason else ""
    yield "node", f"{node.instance}, {node.host}"
    yield "ended", f"{node.ended_at.astimezone(UTC):{MINUTE}}{reason}"
    if (lost := bad_hours.lost_node) is not None:
        yield "rows", _rows(node, lost, running.aws.now())
    if (new := bad_hours.replaced_node) is not None:
        regions = format_duration(new.launch_seconds + new.regions_seconds)
        warm = (
            f", and a warm cache after another {format_duration(new.warm_seconds)} and {new.gets:,.0f} GETs"
            if new.warm_seconds
            else ""
        )
        replacement = f"the new node has its regions {regions} after the loss{warm} (estimates)"
        yield "replaced", replacement


def _rows(node: TerminatedNode, lost: LostNode, now: datetime) -> str:
    online, with_meta = (
        f"{moment.astimezone(UTC):{MINUTE}}" for moment in (node.online_at(lost), node.online_with_meta_at(lost))
    )
    share = format_percent(lost.rows_fraction)
    if now >= node.online_with_meta_at(lost):
        return f"{share} of rows were offline; all should be online again since {with_meta} at the latest (estimate)"
    return f"{share} of rows are offline until about {online}, or {with_meta} if the node had hbase:meta (estimates)"


def _unsafe(node: TerminatedNode, lost: LostNode) -> Refused:
    until = node.online_with_meta_at(lost).astimezone(UTC)
    return Refused.of(
        where=node.host,
        what="keeps its regions until the master stops waiting",
        why="no way to end the wait is safe: HBCK2 bypass also ends the recovery of the server, HBCK2 assigns with"
        " override leaves a region closed for good, and a restart of the master makes the recovery fail",
        fix=f"wait until {until:{MINUTE}}, and do not restart the master; to shorten the next wait, state targets:"
        " {offline_after_crash: …} in the environment file, and see with warmbase plan what that costs",
    )
