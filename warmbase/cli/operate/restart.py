"""`warmbase restart` restarts the RegionServers of a running cluster, one after another, with their caches."""

from __future__ import annotations

import os
from typing import TypedDict, Unpack

import click

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.operate.region_pages import fill_warning, restart_page
from warmbase.cli.options import cluster_option, confirm, dry_run_option, environment_argument, yes_option
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.operations.aws.clients import environment_aws, examining
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.caches import read_progress
from warmbase.operations.cluster.drift import read_running_cluster, refuse_moved
from warmbase.operations.hbase.restart import RestartProposal, refuse_unkept, rolling_restart
from warmbase.sizing.recovery.warmth import Gate


class RestartOptions(TypedDict):
    """The options of the command."""

    cluster: str | None
    rolling: bool
    available: bool
    dry_run: bool
    yes: bool


@click.command()
@environment_argument
@cluster_option
@click.option("--rolling", is_flag=True, help="Restart one RegionServer after another, each in place.")
@click.option(
    "--available",
    is_flag=True,
    help="Move the regions of each RegionServer to the others while it restarts. Costs GETs and room in caches.",
)
@dry_run_option
@yes_option
def restart(environment: str, **options: Unpack[RestartOptions]) -> None:
    """Restart the RegionServers and keep their caches.

    warmbase first checks that no region is in transition and that each server would find its cache again. It switches
    the balancer off, and reopens tables whose regions would not return to their server. Then it restarts one
    RegionServer after another in place. After each it waits until all regions are back and the hit ratio is within a
    point of before; otherwise it stops there. The same command continues a restart that was interrupted.

    \b
    Example:
      warmbase restart prod --rolling --dry-run
      warmbase restart prod --rolling
      warmbase restart prod --rolling --available

    Exit codes: 3 a server would lose its cache or its regions.
    """
    if not options["rolling"]:
        raise InvalidInput.of(
            where="warmbase restart",
            what="needs --rolling",
            why="all RegionServers at once would take every row offline; warmbase restarts them one after another",
            fix=f"warmbase restart {environment} --rolling",
        )
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, options["cluster"]).name).launch
    aws = environment_aws(read, os.environ, examining)
    refuse_unkept(launch)
    running = read_running_cluster(aws, launch).cluster
    rolled = rolling_restart(aws, launch, running.id, available=options["available"])

    echo("asking the master through an EMR step, and each core node through Systems Manager", err=True)
    state = rolled.hbase.state(_ignore)
    proposal = RestartProposal(state=state, journal=rolled.check(state, _ignore))
    echo("\n".join(restart_page(running, proposal, rolled, launch)))
    for line in fill_warning(read_progress(aws, launch, running.id, Gate()), read.name):
        echo(line)
    if options["dry_run"]:
        return
    if not options["yes"]:
        confirm("Restart them?")
    with environment_lock(aws, read, "restart --rolling"):
        now = RestartProposal(state=rolled.hbase.state(_ignore), journal=rolled.journals.read())
        if proposal.journal is None:
            refuse_moved(proposal.basis, now.basis)
        carry_out(rolled.stages(now.state), TerminalProgress())


def _ignore(_: str) -> None:
    """Discard a line of progress."""
