"""`warmbase heal` moves regions back to the RegionServers whose caches hold their blocks."""

from __future__ import annotations

import os
from typing import Final, TypedDict, Unpack

import click

from changes.planned_cluster import deployable_cluster
from cli.heal_page import heal_page
from cli.options import chosen_cluster, cluster_option, confirm, dry_run_option, environment_argument, yes_option
from cli.progress import TerminalProgress
from cli.terminal import echo
from cli.unit_text import SHARE, UnitText
from environments.reader import read_environment
from operations.aws import examining
from operations.basis import refuse_moved
from operations.environment_heal import environment_heal, refuse_unhealable
from operations.heal_proposal import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS
from operations.identity import environment_aws
from operations.lock import environment_lock
from operations.plan_drift import read_running_cluster
from operations.progress import carry_out
from sizing.region_assignment import SLACK
from sizing.units import parse_duration

PAUSE: Final = UnitText("time", parse_duration, most=LONGEST_PAUSE_SECONDS)


class HealOptions(TypedDict):
    """The options of the command: `slack` is a share, `pause` in seconds."""

    cluster: str | None
    slack: float
    pause: float
    dry_run: bool
    yes: bool


@click.command()
@environment_argument
@cluster_option
@click.option(
    "--slack",
    type=SHARE,
    metavar="SHARE",
    default=SLACK,
    help="How far above the mean the number of regions of a RegionServer may be.  [default: 20%]",
)
@click.option(
    "--pause",
    type=PAUSE,
    metavar="TIME",
    default=PAUSE_SECONDS,
    help="How long to wait after each move before the next one, at most 10 min.  [default: 0 s]",
)
@dry_run_option
@yes_option
def heal(environment: str, **options: Unpack[HealOptions]) -> None:
    """Move regions back to the caches that hold their blocks.

    When a RegionServer dies, its regions open on others and read from S3, while its own cache keeps their blocks.
    warmbase reads from each cache's index what it holds, and finds the moves that bring the most cached bytes to the
    server of their region. It switches the balancer off, moves one region after another, and reopens their tables in
    place, so that a later restart keeps the regions where they are. The same command continues a heal that was
    interrupted.

    \b
    Example:
      warmbase heal prod --dry-run
      warmbase heal prod

    Exit codes: 3 an index is too old, or regions are in transition.
    """
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, options["cluster"]).name).launch
    aws = environment_aws(read, os.environ, examining)
    refuse_unhealable(launch)
    running = read_running_cluster(aws, launch).cluster
    healer = environment_heal(aws, launch, running.id)

    echo("asking the master by EMR steps, and each core node through Systems Manager", err=True)
    proposal = healer.propose(_ignore, options["slack"], options["pause"])
    echo("\n".join(heal_page(running, proposal, healer, launch)))
    if options["dry_run"] or not (proposal.moves or proposal.interrupted):
        return
    if not options["yes"]:
        confirm("Move them?" if proposal.moves else "Continue?")
    with environment_lock(aws, read, "heal"):
        refuse_moved(proposal.basis, proposal.basis_in(healer.hbase.state(_ignore)))
        carry_out(healer.stages(proposal), TerminalProgress())


def _ignore(_: str) -> None:
    """Take a line of progress that nobody needs."""
