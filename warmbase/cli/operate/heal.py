"""`warmbase heal` brings regions and their blocks together: on S3 it moves regions, on HDFS replicas."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, TypedDict, Unpack

import click
from click.core import ParameterSource
from msgspec import Struct

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.operate.region_pages import fill_warning, heal_page, locality_page
from warmbase.cli.options import (
    SHARE,
    UnitText,
    cluster_option,
    confirm,
    dry_run_option,
    environment_argument,
    yes_option,
)
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.configurations.launch import Launch
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import MIB, parse_duration, parse_rate
from warmbase.operations.aws.clients import environment_aws, examining
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.caches import Servers, read_progress
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import read_running_cluster, refuse_moved
from warmbase.operations.hbase.cache_heal import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Heal
from warmbase.operations.hbase.heal import LocalityHeal, environment_heal, environment_locality_heal, refuse_unhealable
from warmbase.sizing.recovery.region_assignment import SLACK
from warmbase.sizing.recovery.warmth import Gate

# judgement: a step begins with whole blocks, which at less would take longer than a step may.
BANDWIDTH: Final = UnitText("rate", parse_rate, least=MIB)
PAUSE: Final = UnitText("time", parse_duration, most=LONGEST_PAUSE_SECONDS)


class HealOptions(TypedDict):
    """The options of the command: `slack` is a share, `pause` in seconds, and `bandwidth` in bytes per second."""

    cluster: str | None
    slack: float
    pause: float
    bandwidth: float | None
    dry_run: bool
    yes: bool


class HealTarget(Struct, frozen=True, kw_only=True):
    """The running cluster, its launch, how full its caches are, and the lock of its environment."""

    launch: Launch
    running: DescribedCluster
    caches: Callable[[], Servers]
    lock: Callable[[], AbstractContextManager[object]]


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
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, options["cluster"]).name).launch
    aws = environment_aws(read, os.environ, examining)
    refuse_unhealable(launch)
    _refuse_options(launch)
    running = read_running_cluster(aws, launch).cluster
    target = HealTarget(
        launch=launch,
        running=running,
        caches=partial(read_progress, aws, launch, running.id, Gate()),
        lock=partial(environment_lock, aws, launch.environment, "heal"),
    )
    if launch.plan.mode.keeps_data_in_s3:
        _heal_caches(environment_heal(aws, launch, running.id), target, options)
    else:
        _heal_locality(environment_locality_heal(aws, launch, running.id), target, options)


def _heal_caches(healer: Heal, target: HealTarget, options: HealOptions) -> None:
    echo("asking the master through EMR steps, and each core node through Systems Manager", err=True)
    proposal = healer.propose(_ignore, options["slack"], options["pause"])
    echo("\n".join(heal_page(target.running, proposal, healer, target.launch)))
    if proposal.moves:
        for line in fill_warning(target.caches(), target.launch.environment.name):
            echo(line)
    if options["dry_run"] or not (proposal.moves or proposal.interrupted):
        return
    if not options["yes"]:
        confirm("Move them?" if proposal.moves else "Continue?")
    with target.lock():
        refuse_moved(proposal.basis, proposal.basis_in(healer.hbase.state(_ignore)))
        carry_out(healer.stages(proposal), TerminalProgress())


def _heal_locality(healer: LocalityHeal, target: HealTarget, options: HealOptions) -> None:
    bandwidth = options["bandwidth"]
    echo("asking the master and the NameNode through an EMR step", err=True)
    proposal = healer.propose(_ignore, None if bandwidth is None else round(bandwidth))
    echo("\n".join(locality_page(target.running, proposal, healer, target.launch)))
    if options["dry_run"] or not proposal.locality.total.moves:
        return
    if not options["yes"]:
        confirm("Move them?")
    with target.lock():
        refuse_moved(proposal.basis, proposal.basis_in(healer.hdfs.locality(_ignore)))
        carry_out(healer.stages(proposal), TerminalProgress())


def _refuse_options(launch: Launch) -> None:
    """Refuse an option of the other mode, which would have no effect. Raises InvalidInput."""
    context, mode = click.get_current_context(), launch.plan.mode
    for name in ("bandwidth",) if mode.keeps_data_in_s3 else ("slack", "pause"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InvalidInput.of(
                where=f"--{name}",
                what=f"has no effect in mode {mode}",
                why="the command moves regions in this mode, not replicas"
                if mode.keeps_data_in_s3
                else "the command moves replicas in this mode, not regions",
                fix="leave it out",
            )


def _ignore(_: str) -> None:
    """Discard a line of progress."""
