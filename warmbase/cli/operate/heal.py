"""`warmbase heal` brings regions and their blocks together: on S3 it moves regions, on HDFS replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypedDict, Unpack

import click
from click.core import ParameterSource

from warmbase.cli.operate.region_pages import heal_page, locality_page
from warmbase.cli.operate.running import RunningCluster, ignore
from warmbase.cli.options import SHARE, UnitText, cluster_option, dry_run_option, environment_argument, yes_option
from warmbase.cli.page import Page
from warmbase.cli.terminal import echo
from warmbase.configurations.launch import Launch
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import MIB, parse_duration, parse_rate
from warmbase.operations.aws.progress import Stage
from warmbase.operations.cluster.drift import refuse_moved
from warmbase.operations.hbase.cache_heal import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Heal
from warmbase.operations.hbase.heal import LocalityHeal, environment_heal, environment_locality_heal, refuse_unhealable
from warmbase.sizing.recovery.region_assignment import SLACK

# judgement: a step begins with whole blocks, which at less would take longer than a step may.
BANDWIDTH: Final = UnitText("rate", parse_rate, least=MIB)
PAUSE: Final = UnitText("time", parse_duration, most=LONGEST_PAUSE_SECONDS)


class HealOptions(TypedDict):
    """The options of the command: `slack` is a share, `pause` in seconds, and `bandwidth` in bytes per second."""

    cluster: str | None
    slack: float
    pause: float
    bandwidth: float | None
    abandon: bool
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
    help="How far the number of regions of a RegionServer may exceed the mean.  [default: 20%]",
)
@click.option(
    "--pause",
    type=PAUSE,
    metavar="TIME",
    default=PAUSE_SECONDS,
    help="How long to wait after each move before the next one, at most 10 min.  [default: 0 s]",
)
@click.option(
    "--bandwidth",
    type=BANDWIDTH,
    metavar="RATE",
    help="On HDFS: the rate at which each DataNode sends and receives replicas.  [default: the DataNodes' setting]",
)
@click.option("--abandon", is_flag=True, help="End an interrupted heal: restore the balancer, and move nothing.")
@dry_run_option
@yes_option
def heal(environment: str, **options: Unpack[HealOptions]) -> None:
    """Bring regions and their cached or local blocks together.

    When a RegionServer dies, its regions open on others and read from S3, while its own cache keeps their blocks.
    warmbase reads from each cache's index what it holds, and finds the moves that bring the most cached bytes to the
    server of their region. It switches the balancer off, moves one region after another, and reopens their tables in
    place, so that a later restart keeps the regions where they are. The same command continues a heal that was
    interrupted.

    In mode hdfs, the regions stay where they are, and the dispatcher of HDFS's own balancer moves replicas of their
    blocks to the hosts of their RegionServers.

    \b
    Example:
      warmbase heal prod --dry-run
      warmbase heal prod
      warmbase heal on-hdfs --bandwidth "50 MiB/s"

    Exit codes: 3 an index is too old, or regions are in transition.
    """
    running = RunningCluster.read(environment, options["cluster"], _refuse)
    aws, launch, cluster_id = running.aws, running.launch, running.cluster.id
    if launch.plan.mode.keeps_data_in_s3:
        _heal_caches(environment_heal(aws, launch, cluster_id), running, options)
    else:
        _heal_locality(environment_locality_heal(aws, launch, cluster_id), running, options)


def _heal_caches(healer: Heal, running: RunningCluster, options: HealOptions) -> None:
    if options["abandon"]:
        running.abandon("heal", healer.journals.heal.read(), healer.abandonment, options)
        return
    echo("asking the master through EMR steps, and each core node through Systems Manager", err=True)
    proposal = healer.propose(ignore, options["slack"], options["pause"])
    Page().show([*heal_page(running, proposal, healer), *(running.fill_warning() if proposal.moves else ())])

    def stages() -> Iterable[Stage]:
        refuse_moved(proposal.basis, proposal.basis_in(healer.hbase.state(ignore)))
        return healer.stages(proposal)

    if proposal.has_work and not options["dry_run"]:
        question = "Move them?" if proposal.moves else "Continue?" if proposal.interrupted else "Reopen them?"
        running.carry_out("heal", question, stages, yes=options["yes"])


def _heal_locality(healer: LocalityHeal, running: RunningCluster, options: HealOptions) -> None:
    bandwidth = options["bandwidth"]
    echo("asking the master and the NameNode through an EMR step", err=True)
    proposal = healer.propose(ignore, None if bandwidth is None else round(bandwidth))
    Page().show(locality_page(running, proposal, healer))

    def stages() -> Iterable[Stage]:
        refuse_moved(proposal.basis, proposal.basis_in(healer.hdfs.locality(ignore)))
        return healer.stages(proposal)

    if proposal.locality.total.moves and not options["dry_run"]:
        running.carry_out("heal", "Move them?", stages, yes=options["yes"])


def _refuse(launch: Launch) -> None:
    """Refuse a cluster that cannot be healed, and an option of the other mode, which would have no effect."""
    refuse_unhealable(launch)
    context, mode = click.get_current_context(), launch.plan.mode
    for name in ("bandwidth",) if mode.keeps_data_in_s3 else ("slack", "pause", "abandon"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InvalidInput.of(
                where=f"--{name}",
                what=f"has no effect in mode {mode}",
                why="the command moves regions in this mode, not replicas"
                if mode.keeps_data_in_s3
                else "the command moves replicas in this mode, not regions",
                fix="leave it out",
            )
