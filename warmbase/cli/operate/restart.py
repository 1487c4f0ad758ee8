"""`warmbase restart` restarts the RegionServers of a running cluster, one after another, with their caches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack

import click

from warmbase.cli.operate.region_pages import restart_page
from warmbase.cli.operate.running import RunningCluster, ignore
from warmbase.cli.options import cluster_option, dry_run_option, environment_argument, yes_option
from warmbase.cli.page import Page
from warmbase.cli.terminal import echo
from warmbase.ground.errors import InvalidInput
from warmbase.operations.aws.progress import Stage
from warmbase.operations.cluster.drift import refuse_moved
from warmbase.operations.hbase.rolling_restart import RestartProposal, refuse_unkept, rolling_restart


class RestartOptions(TypedDict):
    """The options of the command."""

    cluster: str | None
    rolling: bool
    available: bool
    abandon: bool
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
@click.option(
    "--abandon",
    is_flag=True,
    help="End an interrupted restart: restore the balancer, and leave the other RegionServers as they are.",
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
    running = RunningCluster.read(environment, options["cluster"], refuse_unkept)
    rolled = rolling_restart(running.aws, running.launch, running.cluster.id, available=options["available"])

    if options["abandon"]:
        journal = rolled.journals.restart.read()
        running.abandon("restart --rolling", journal, rolled.abandonment, options)
        return
    echo("asking the master through an EMR step, and each core node through Systems Manager", err=True)
    state = rolled.hbase.state(ignore)
    proposal = RestartProposal(state=state, journal=rolled.check(state, ignore))
    Page().show([*restart_page(running, proposal, rolled), *running.fill_warning()])

    def stages() -> Iterable[Stage]:
        now = RestartProposal(state=rolled.hbase.state(ignore), journal=rolled.journals.restart.read())
        refuse_moved(proposal.basis, now.basis)
        return rolled.stages(now.state)

    if not options["dry_run"]:
        running.carry_out("restart --rolling", "Restart them?", stages, yes=options["yes"])
